package secrets

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Anybody can compute a fingerprint, and so try weak passwords until one fits. Where others may
// see the mark of a secret, its fingerprint is therefore keyed with a key that they do not have.

const keyedPrefix = "k"

// KeyedFingerprint is the keyed fingerprint: the same for the same secret and key, and different for
// another key.
func KeyedFingerprint(key []byte, fingerprint string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(fingerprint))
	return keyedPrefix + hex.EncodeToString(mac.Sum(nil)[:fingerprintSize])
}

// IsKeyed reports whether text has the form of a keyed fingerprint.
func IsKeyed(text string) bool {
	rest, ok := strings.CutPrefix(text, keyedPrefix)
	return ok && IsFingerprint(rest)
}

// Keyed returns the finding with its fingerprint keyed.
func (f Finding) Keyed(key []byte) Finding {
	f.Fingerprint = KeyedFingerprint(key, f.Fingerprint)
	return f
}

// KeyMarks keys the plain fingerprints in marks and in the lists of an entry's meta.
func KeyMarks(key, text []byte) []byte { return keyMarks(key, text, 2*fingerprintSize, IsFingerprint) }

// KeyAgain keys the keyed fingerprints there once more, with another key, so that nobody can compare them with
// the first ones.
func KeyAgain(key, text []byte) []byte {
	return keyMarks(key, text, len(keyedPrefix)+2*fingerprintSize, IsKeyed)
}

func keyMarks(key, text []byte, size int, hasForm func(string) bool) []byte {
	var out []byte
	done := 0
	for i := 0; ; {
		at := bytes.IndexByte(text[i:], ':')
		if at < 0 {
			break
		}
		i += at + 1
		end := i + size
		if end >= len(text) || text[end] != ']' && text[end] != '"' || !hasForm(string(text[i:end])) {
			continue
		}
		from := i - 1
		for from > 0 && (isWord(text[from-1]) || text[from-1] == '-') {
			from--
		}
		opened := from > 0 && text[from-1] == '"' || bytes.HasSuffix(text[:from], []byte(marker))
		if opened && isRule(text[from:i-1]) {
			out = append(append(out, text[done:i]...), KeyedFingerprint(key, string(text[i:end]))...)
			done = end
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
