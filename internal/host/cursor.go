package host

import (
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"tape/internal/host/api"
	"tape/repo"
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

// spot is an entry beside which a page begins; 0 is the tape's end or its beginning.
type spot struct {
	id   int64
	line string // which line it was; "" if that does not matter
}

func (s *Server) spotOf(e repo.Entry) spot {
	return spot{e.ID, fmt.Sprintf("%x", s.sign(string(e.Raw))[:8])}
}

// beside is the cursor of an entry.
func (s *Server) beside(query string, at spot) string {
	return s.cursor(query, strconv.FormatInt(at.id, 10)+":"+at.line)
}

func (s *Server) spotAt(query, cursor string) (at spot, err error) {
	text, err := s.place(query, cursor)
	if err != nil {
		return at, err
	}
	id, line, _ := strings.Cut(text, ":")
	if at.id, err = strconv.ParseInt(id, 10, 64); err != nil {
		return at, api.Invalid("the cursor is none")
	}
	at.line = line
	return at, nil
}

// moved says that a cursor's entry is not where it was. A pull gives entries that were not published
// other numbers, behind those that it brings: a page from the old number would miss some and repeat others.
func moved(at spot) error {
	return api.Conflict("the entry %d of the cursor has moved or changed, as when a pull renumbers: go on from the cursor of an earlier entry, or begin anew; metadata.origin has the former numbers", at.id)
}

// bound is a query as cursors are bound to it.
func bound(parts ...string) string { return strings.Join(parts, "\x00") }
