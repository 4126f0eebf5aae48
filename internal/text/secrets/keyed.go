package secrets

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A fingerprint is a hash that anybody can compute: who sees one can try weak passwords until one
// fits. Where others may see what stands for a secret, its fingerprint is keyed with something that
// they do not have.

const keyedPrefix = "k"

// Keyed is what stands for a fingerprint in the marks of a workspace: the same for the same secret,
// and different in workspaces that have another key.
func Keyed(key []byte, fingerprint string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(fingerprint))
	return keyedPrefix + hex.EncodeToString(mac.Sum(nil)[:fingerprintSize])
}

// IsKeyed reports whether text has the form of a keyed fingerprint.
func IsKeyed(text string) bool {
	rest, ok := strings.CutPrefix(text, keyedPrefix)
	return ok && IsFingerprint(rest)
}

// Keyed is the finding as a workspace with a key names it.
func (f Finding) Keyed(key []byte) Finding {
	f.Fingerprint = Keyed(key, f.Fingerprint)
	return f
}

// KeyMarks replaces the fingerprints of marks, and of the lists that an entry's meta has, by keyed
// ones, where they are not keyed yet.
func KeyMarks(key, text []byte) []byte { return keyMarks(key, text, 2*fingerprintSize, IsFingerprint) }

// KeyAgain keys marks that are keyed already with another key, so that nobody can compare them with
// those that are not.
func KeyAgain(key, text []byte) []byte {
	return keyMarks(key, text, len(keyedPrefix)+2*fingerprintSize, IsKeyed)
}

func keyMarks(key, text []byte, size int, is func(string) bool) []byte {
	var out []byte
	done := 0
	for i := 0; ; {
		at := bytes.IndexByte(text[i:], ':')
		if at < 0 {
			break
		}
		i += at + 1
		end := i + size
		if end >= len(text) || text[end] != ']' && text[end] != '"' || !is(string(text[i:end])) {
			continue
		}
		from := i - 1
		for from > 0 && (isWord(text[from-1]) || text[from-1] == '-') {
			from--
		}
		opened := from > 0 && text[from-1] == '"' || bytes.HasSuffix(text[:from], []byte(marker))
		if opened && isRule(text[from:i-1]) {
			out = append(append(out, text[done:i]...), Keyed(key, string(text[i:end]))...)
			done = end
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
