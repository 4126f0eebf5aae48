package front

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/serve/host/api"
	"tape/repo"
)

const cursorMAC = 16 // bytes of the signature in a cursor

// Signer signs with a key that outlives the server.
type Signer struct{ Key []byte }

// LoadSigner returns a Signer with the key in a file. A file that is missing or has no whole key gets a new key.
func LoadSigner(d *disk.FS, path string) (Signer, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == sha256.Size {
		return Signer{key}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Signer{}, err
	}
	key = make([]byte, sha256.Size)
	rand.Read(key)
	return Signer{key}, d.WriteFile(path, key)
}

// Sign returns the signature of a text.
func (s Signer) Sign(text string) []byte {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// Cursor returns a signed cursor: a position in the answers to a query.
func (s Signer) Cursor(query, position string) string {
	mac := s.Sign(query + "\x00" + position)[:cursorMAC]
	return base64.RawURLEncoding.EncodeToString(append(mac, position...))
}

// Read returns the position in a cursor. It refuses a cursor that was not made by this Signer for the same
// query.
func (s Signer) Read(query, cursor string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) >= cursorMAC {
		position := string(data[cursorMAC:])
		if hmac.Equal(data[:cursorMAC], s.Sign(query + "\x00" + position)[:cursorMAC]) {
			return position, nil
		}
	}
	return "", api.Invalid("the cursor does not belong to this query: use it with the same parameters, or begin again")
}

// Position is the entry next to which a page begins. With ID 0, a page begins at the tape's end, or, going
// forward, at its beginning.
type Position struct {
	ID   int64
	Hash string // of the entry, to notice that it has moved; "" if that does not matter
}

// PositionOf returns the position of an entry.
func (s Signer) PositionOf(e repo.Entry) Position {
	return Position{e.ID, fmt.Sprintf("%x", s.Sign(string(e.Raw))[:8])}
}

// At returns the cursor of a query for a position.
func (s Signer) At(query string, p Position) string {
	return s.Cursor(query, strconv.FormatInt(p.ID, 10)+":"+p.Hash)
}

// ReadPosition reads a cursor that At made for the same query.
func (s Signer) ReadPosition(query, cursor string) (p Position, err error) {
	text, err := s.Read(query, cursor)
	if err != nil {
		return p, err
	}
	id, hash, _ := strings.Cut(text, ":")
	if p.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
		return p, api.Invalid("the cursor does not name an entry")
	}
	p.Hash = hash
	return p, nil
}

// CursorMoved returns the error for a cursor whose entry has another number now. A pull gives the entries that were not
// published new numbers, after the entries that it brings: a page from the old number would miss some
// entries and repeat others.
func CursorMoved(p Position) error {
	return api.Conflict("the entry of this cursor (%d) has another number now, or was changed: continue with an earlier entry's cursor, or begin again (see metadata.origin)", p.ID)
}

// CursorQuery returns the text of a query, to which its cursors are bound.
func CursorQuery(parts ...string) string { return strings.Join(parts, "\x00") }
