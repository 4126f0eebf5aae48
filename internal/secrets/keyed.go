package secrets

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
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

// told matches RULE:FINGERPRINT, as marks have it, and the lists in meta.
var told = sync.OnceValue(func() *regexp.Regexp {
	var rules []string
	for _, r := range Rules() {
		rules = append(rules, regexp.QuoteMeta(r.ID))
	}
	return regexp.MustCompile(`([\["]|\[redacted:)(` + strings.Join(rules, "|") + `):([0-9a-f]{16})([\]"])`)
})

// KeyMarks replaces the fingerprints of marks, and of the lists that an entry's meta has, by keyed
// ones, where they are not keyed yet.
func KeyMarks(key, text []byte) []byte {
	if !bytes.Contains(text, []byte("redacted")) && !bytes.Contains(text, []byte(`"secrets"`)) {
		return text
	}
	return told().ReplaceAllFunc(text, func(found []byte) []byte {
		at := bytes.LastIndexByte(found, ':') + 1
		end := len(found) - 1
		return append(append(bytes.Clone(found[:at]), Keyed(key, string(found[at:end]))...), found[end])
	})
}
