package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/internal/git/disk"
)

// runList has all runs that are not forgotten. Load has to be called first.
type runList struct {
	Starting sync.Mutex // held while a run is started

	mu     sync.Mutex
	all    map[string]*run // by id
	tokens map[string]*run // by the hash of their tokens
	folder string
	disk   *disk.FS
}

// Load reads the runs of an earlier server, and forgets those that ended long ago.
func (l *runList) Load(d *disk.FS, folder string, now time.Time, log *slog.Logger) error {
	l.all, l.tokens, l.folder, l.disk = map[string]*run{}, map[string]*run{}, folder, d
	for _, file := range disk.Glob(folder, "*.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r := newRun(runRecord{}, now)
		r.Seen = nil
		if err := json.Unmarshal(data, &r.runRecord); err != nil {
			log.Warn("a run's file cannot be read and is left alone", "file", file, "error", err)
			continue
		}
		ended := r.Ended
		if ended.IsZero() {
			ended = r.Deadline
		}
		if now.Sub(ended) > keepEnded && r.Status != running { // the end of a running run has to be recorded first
			if err := d.Remove(file); err != nil {
				return err
			}
			continue
		}
		l.Put(r)
	}
	return nil
}

// Save stores a run. The caller holds r.Mu, or nobody else knows r.
func (l *runList) Save(r *run) error {
	data, err := json.Marshal(r.runRecord)
	if err != nil {
		return err
	}
	return l.disk.WriteFile(filepath.Join(l.folder, r.ID+".json"), data)
}

// CountUpload counts an upload with secrets in a run's record, so that the limit holds after a restart, too.
func (l *runList) CountUpload(r *run) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Uploads++
	return l.Save(r)
}

// Get returns a run by its id; nil if there is none.
func (l *runList) Get(id string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[id]
}

// ByToken returns the run whose token has a hash; nil if there is none.
func (l *runList) ByToken(hash [sha256.Size]byte) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[hex.EncodeToString(hash[:])]
}

// ByKey returns the run that was started by a request with a key; nil if there is none.
func (l *runList) ByKey(key string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.all {
		if key != "" && r.Key == key {
			return r
		}
	}
	return nil
}

// Put adds a run, or, if it is known, replaces its token.
func (l *runList) Put(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for hash, other := range l.tokens {
		if other == r {
			delete(l.tokens, hash)
		}
	}
	l.all[r.ID], l.tokens[r.TokenHash] = r, r
}

// All returns all runs.
func (l *runList) All() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.all))
}

// Forget removes the runs that ended long ago.
func (l *runList) Forget(now time.Time) error {
	for _, r := range l.All() {
		r.Mu.Lock()
		old, hash := r.Status != running && now.Sub(r.Ended) > keepEnded, r.TokenHash
		r.Mu.Unlock()
		if !old {
			continue
		}
		if err := l.disk.Remove(filepath.Join(l.folder, r.ID+".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.mu.Lock()
		delete(l.all, r.ID)
		delete(l.tokens, hash)
		l.mu.Unlock()
	}
	return nil
}

// Due returns the runs whose deadline has passed and whose end is not recorded yet.
func (l *runList) Due(now time.Time) []*run {
	return slices.DeleteFunc(l.All(), func(r *run) bool { return !r.Due(now) })
}
