// Package guard admits browsers: by links, sessions, and the tokens of forms.
package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Derive makes a token for one purpose from another token. The original cannot be computed from the result.
func Derive(token, purpose string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(purpose))
	return hex.EncodeToString(m.Sum(nil))
}

// Same compares tokens in constant time. An empty token is never the same.
func Same(a, b string) bool { return a != "" && hmac.Equal([]byte(a), []byte(b)) }
