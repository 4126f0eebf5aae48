package web

// Admits browsers by links, sessions, and the tokens of forms.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// derivedToken makes a token for one purpose from another token. The original cannot be computed from the result.
func derivedToken(token, purpose string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(purpose))
	return hex.EncodeToString(m.Sum(nil))
}

// sameToken compares tokens in constant time. An empty token is never the same.
func sameToken(a, b string) bool { return a != "" && hmac.Equal([]byte(a), []byte(b)) }
