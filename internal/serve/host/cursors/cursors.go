// Package cursors makes and reads the places in answers from which a client goes on: signed, and bound to
// what was asked.
package cursors

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"tape/internal/serve/host/api"
	"tape/repo"
)

const cursorMAC = 16

// Signer signs with a key that outlives the server.
type Signer struct{ Key []byte }

// Sign is the signature of a text.
func (s Signer) Sign(text string) []byte {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// Cursor is a place in the answers to one query, signed.
func (s Signer) Cursor(query, at string) string {
	mac := s.Sign(query + "\x00" + at)[:cursorMAC]
	return base64.RawURLEncoding.EncodeToString(append(mac, at...))
}

// Place reads a cursor, which has to be one of the same query.
func (s Signer) Place(query, cursor string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) >= cursorMAC {
		at := string(data[cursorMAC:])
		if hmac.Equal(data[:cursorMAC], s.Sign(query + "\x00" + at)[:cursorMAC]) {
			return at, nil
		}
	}
	return "", api.Invalid("the cursor is none of this query: give it with the same parameters, or begin anew")
}

// Spot is an entry Beside which a page begins; 0 is the tape's end or its beginning.
type Spot struct {
	ID   int64
	Line string // which line it was; "" if that does not matter
}

// SpotOf is the place of an entry.
func (s Signer) SpotOf(e repo.Entry) Spot {
	return Spot{e.ID, fmt.Sprintf("%x", s.Sign(string(e.Raw))[:8])}
}

// Beside is the cursor of an entry.
func (s Signer) Beside(query string, at Spot) string {
	return s.Cursor(query, strconv.FormatInt(at.ID, 10)+":"+at.Line)
}

// SpotAt reads the cursor of an entry.
func (s Signer) SpotAt(query, cursor string) (at Spot, err error) {
	text, err := s.Place(query, cursor)
	if err != nil {
		return at, err
	}
	id, line, _ := strings.Cut(text, ":")
	if at.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
		return at, api.Invalid("the cursor is none")
	}
	at.Line = line
	return at, nil
}

// Moved says that a cursor's entry is not where it was. A pull gives entries that were not published
// other numbers, behind those that it brings: a page from the old number would miss some and repeat others.
func Moved(at Spot) error {
	return api.Conflict("the entry %d of the cursor has Moved or changed, as when a pull renumbers: go on from the cursor of an earlier entry, or begin anew; metadata.origin has the former numbers", at.ID)
}

// Bound is a query as cursors are bound to it.
func Bound(parts ...string) string { return strings.Join(parts, "\x00") }
