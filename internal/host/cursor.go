package host

import (
	"crypto/hmac"
	"encoding/base64"
	"strings"
	"tape/internal/host/api"
)

const cursorMAC = 16

// cursor is a place in the answers to one query, signed.
func (s *Server) cursor(query, at string) string {
	mac := s.sign(query + "\x00" + at)[:cursorMAC]
	return base64.RawURLEncoding.EncodeToString(append(mac, at...))
}

// place reads a cursor, which has to be one of the same query.
func (s *Server) place(query, cursor string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) >= cursorMAC {
		at := string(data[cursorMAC:])
		if hmac.Equal(data[:cursorMAC], s.sign(query + "\x00" + at)[:cursorMAC]) {
			return at, nil
		}
	}
	return "", api.Invalid("the cursor is none of this query: give it with the same parameters, or begin anew")
}

// bound is a query as cursors are bound to it.
func bound(parts ...string) string { return strings.Join(parts, "\x00") }
