package host

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
	"sync"

	"tape/repo"
)

// maxMasked is the longest artifact that a masked run may read, in bytes.
const maxMasked = 16 << 20

// openArtifact opens an artifact by its hash.
type openArtifact func(hash string) (io.ReadCloser, error)

// seenSecrets is an artifact as a masked run sees it. If it has a secret, id and size are those of the masked
// content: the hash of the original would confirm a guess.
type seenSecrets struct {
	ID       string
	Size     int64
	Withheld bool // its content is too long to be masked, or missing; the id says nothing about it
}

// artifacts caches what masked runs see of artifacts, by their hashes, which never change.
type artifacts struct {
	mu     sync.Mutex
	cache  map[string]seenSecrets
	hashes map[string]string // by the ids that masked runs see, if these are not the hashes

	reading sync.Mutex // so that only one content is in memory at a time
}

// maxCached limits the cache; when it is full, it is emptied.
const maxCached = 100_000

// seen returns an artifact as a masked run sees it, from the cache if possible.
func (a *artifacts) seen(m *Masker, hash string, open openArtifact) seenSecrets {
	a.mu.Lock()
	seen, ok := a.cache[hash]
	a.mu.Unlock()
	if ok {
		return seen
	}
	seen, final := m.inspect(hash, open)
	if final {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.cache == nil || len(a.cache) >= maxCached {
			a.cache, a.hashes = map[string]seenSecrets{}, map[string]string{}
		}
		a.cache[hash] = seen
		if seen.ID != hash {
			a.hashes[seen.ID] = hash
		}
	}
	return seen
}

// inspect reads and masks an artifact. An artifact that cannot be read is withheld for now: final is false.
func (m *Masker) inspect(hash string, open openArtifact) (seen seenSecrets, final bool) {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte("artifact\x00" + hash))
	withheld := seenSecrets{ID: fmt.Sprintf("%x", mac.Sum(nil)), Withheld: true}
	r, err := open(hash)
	if err != nil {
		return withheld, false
	}
	defer r.Close()
	m.artifacts.reading.Lock()
	defer m.artifacts.reading.Unlock()
	data, err := io.ReadAll(io.LimitReader(r, maxMasked+1))
	switch {
	case err != nil:
		return withheld, false
	case len(data) > maxMasked:
		return withheld, true
	}
	masked := m.File(hash, data)
	if bytes.Equal(masked, data) {
		return seenSecrets{ID: hash, Size: int64(len(data))}, true
	}
	return seenSecrets{ID: fmt.Sprintf("%x", sha256.Sum256(masked)), Size: int64(len(masked))}, true
}

// file returns a Masker with marks of its own for one artifact.
func (m *Masker) file(hash string) *Masker { return m.Derive("artifact", hash) }

// File masks the content of an artifact.
func (m *Masker) File(hash string, data []byte) []byte { return m.file(hash).Content(data) }

// Artifact returns an artifact as a masked run sees it.
func (m *Masker) Artifact(hash string, open openArtifact) seenSecrets {
	return m.artifacts.seen(m, hash, open)
}

// Real returns the hash of an artifact by the id that a masked run sees instead of it. It knows only artifacts that
// this server has shown since the cache was emptied last.
func (m *Masker) Real(id string) (hash string, ok bool) {
	m.artifacts.mu.Lock()
	defer m.artifacts.mu.Unlock()
	hash, ok = m.artifacts.hashes[id]
	return hash, ok
}

// rename replaces an artifact's id and size in a line that refers to it.
func rename(line []byte, a repo.Artifact, seen seenSecrets) []byte {
	size := func(n int64) []byte {
		return append(strconv.AppendInt([]byte(`"size_bytes":`), n, 10), `,"sha256":"`+a.SHA256...) // as repo.Artifact.Reference writes it
	}
	line = bytes.ReplaceAll(line, size(a.Size), size(seen.Size))
	return bytes.ReplaceAll(line, []byte(a.SHA256), []byte(seen.ID))
}
