package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"sync"

	"tape/repo"
)

// MaxContent is how long an artifact may be that a masked run reads, in bytes.
const MaxContent = 16 << 20

// Open opens an artifact by its hash.
type Open func(hash string) (io.ReadCloser, error)

// Seen is an artifact as a masked run sees it: where it has a secret, with the id and the size of
// what is seen, as a hash of the content would tell who tries whether a guess is right.
type Seen struct {
	ID       string
	Size     int64
	Withheld bool // it is too long to be masked, or not here: its id says nothing of it
}

// artifacts keeps what is known of artifacts, by their hashes, which never change.
type artifacts struct {
	mu    sync.Mutex
	known map[string]Seen
	real  map[string]string // by the ids that are seen

	reading sync.Mutex // one content is in memory at a time
}

// mostKnown bounds what is kept; beyond it all is found out anew.
const mostKnown = 100_000

func (a *artifacts) seen(m *Masker, hash string, open Open) Seen {
	a.mu.Lock()
	seen, ok := a.known[hash]
	a.mu.Unlock()
	if ok {
		return seen
	}
	seen, lasts := m.look(hash, open)
	if lasts {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.known == nil || len(a.known) >= mostKnown {
			a.known, a.real = map[string]Seen{}, map[string]string{}
		}
		a.known[hash] = seen
		if seen.ID != hash {
			a.real[seen.ID] = hash
		}
	}
	return seen
}

// look reads an artifact. What cannot be read is withheld, which does not last.
func (m *Masker) look(hash string, open Open) (seen Seen, lasts bool) {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte("artifact\x00" + hash))
	withheld := Seen{ID: hex.EncodeToString(mac.Sum(nil)), Withheld: true}
	r, err := open(hash)
	if err != nil {
		return withheld, false
	}
	defer r.Close()
	m.artifacts.reading.Lock()
	defer m.artifacts.reading.Unlock()
	data, err := io.ReadAll(io.LimitReader(r, MaxContent+1))
	switch {
	case err != nil:
		return withheld, false
	case len(data) > MaxContent:
		return withheld, true
	}
	masked := m.File(hash, data)
	if bytes.Equal(masked, data) {
		return Seen{ID: hash, Size: int64(len(data))}, true
	}
	sum := sha256.Sum256(masked)
	return Seen{ID: hex.EncodeToString(sum[:]), Size: int64(len(masked))}, true
}

// file masks an artifact: each has marks of its own.
func (m *Masker) file(hash string) *Masker { return m.With("artifact", hash) }

// File is the content of an artifact without its secrets.
func (m *Masker) File(hash string, data []byte) []byte { return m.file(hash).Content(data) }

// Artifact is an artifact as a masked run sees it.
func (m *Masker) Artifact(hash string, open Open) Seen { return m.artifacts.seen(m, hash, open) }

// Real is the hash of an artifact whose masked form has an id, if that was seen before.
func (m *Masker) Real(id string) (hash string, ok bool) {
	m.artifacts.mu.Lock()
	defer m.artifacts.mu.Unlock()
	hash, ok = m.artifacts.real[id]
	return hash, ok
}

// rename puts the id and size of what is seen into a line that refers to an artifact.
func rename(line []byte, a repo.Artifact, seen Seen) []byte {
	size := func(n int64) []byte {
		return append(strconv.AppendInt([]byte(`"size_bytes":`), n, 10), `,"sha256":"`+a.SHA256...) // as this program writes it
	}
	line = bytes.ReplaceAll(line, size(a.Size), size(seen.Size))
	return bytes.ReplaceAll(line, []byte(a.SHA256), []byte(seen.ID))
}
