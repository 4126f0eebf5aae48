package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// SensitiveName reports whether a variable or a setting holds a secret, by the words of its
// name: GITHUB_TOKEN, db.password and apiKey do; max_tokens, tokenizer, KEYBOARD and PWD do
// not. Nor do names of places of secrets: PASSWORD_FILE, SSH_AUTH_SOCK.
func SensitiveName(name string) bool {
	words := nameWords(name)
	if len(words) == 0 || slices.Contains([]string{"file", "path", "dir", "sock", "socket", "name", "type", "mode"}, words[len(words)-1]) {
		return false
	}
	for i, word := range words {
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		switch word {
		case "tokens": // max_tokens, prompt_tokens
			if !isCount(words, "input", "output", "prompt", "completion", "context", "reasoning", "cached", "total", "used") {
				return true
			}
		case "token":
			if !isCount(words) && !slices.Contains([]string{"next", "page", "continuation", "cancel", "cancellation"}, before) {
				return true
			}
		case "key", "keys":
			if !slices.Contains([]string{"public", "pub", "primary", "foreign", "sort", "partition", "idempotency"}, before) {
				return true
			}
		case "pwd": // alone it is the working directory
			if i > 0 && before != "old" {
				return true
			}
		case "pass", "sshpass", "cred", "creds", "auth", "authorization", "pat":
			return true
		default:
			if slices.ContainsFunc(secretSuffixes(), func(end string) bool { return strings.HasSuffix(word, end) }) {
				return true
			}
		}
	}
	return false
}

// secretSuffixes are ends of words that are often written together: PGPASSWORD, authtoken.
func secretSuffixes() []string {
	return []string{"password", "passwords", "passwd", "passphrase", "secret", "secrets", "credential", "credentials", "token",
		"apikey", "apikeys", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "masterkey", "authkey"}
}

// isCount reports whether a word of the name says that it is a number of tokens.
func isCount(words []string, more ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"max", "min", "num", "count", "limit", "budget"}, word) || slices.Contains(more, word)
	})
}

// nameWords splits a name at punctuation and where upper case begins. The words are in lower
// case and without digits at their end.
func nameWords(name string) []string {
	var out []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		from, letters := 0, []rune(part)
		for i := 1; i <= len(letters); i++ {
			if i < len(letters) && !(unicode.IsUpper(letters[i]) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))) {
				continue
			}
			if word := strings.TrimRight(strings.ToLower(string(letters[from:i])), "0123456789"); word != "" {
				out = append(out, word)
			}
			from = i
		}
	}
	return out
}

// SensitiveValue reports whether a value has a secret in it: one that a rule finds, or any
// password in a URL, even a weak one.
func (s *Scanner) SensitiveValue(value string) bool {
	return urlPassword(value) || len(s.Text([]byte(value))) > 0
}

// urlPassword reports whether a text contains scheme://user:password@host.
func urlPassword(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, "://")
		if !ok {
			return false
		}
		authority := rest
		if end := strings.IndexAny(rest, "/?# \t\r\n\"'"); end >= 0 {
			authority = rest[:end]
		}
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			if _, password, _ := strings.Cut(authority[:at], ":"); password != "" {
				return true
			}
		}
		text = rest
	}
}
