// Package own finds the tapes of the server itself. A tape of the same name that came with a pull
// or a clone, or that a person made, is not one: its state is somebody else's. Which tapes the
// server made is noted beside the repository, where no clone or pull brings it.
package own

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"tape/internal/git/disk"
	"tape/repo"
)

// Tapes are those of one server.
type Tapes struct {
	store *repo.Store
	disk  *disk.FS
	path  string

	mu    sync.Mutex
	known map[string]made // by what they are for
}

type made struct {
	Name  string `json:"name"`
	First string `json:"first_sha256"` // of its first entry
}

// Open reads which tapes the server has. With adopt, tapes of the usual names are taken over: an
// earlier version of the server did not note them.
func Open(ctx context.Context, store *repo.Store, d *disk.FS, path string, adopt []string) (*Tapes, error) {
	o := &Tapes{store: store, disk: d, path: path, known: map[string]made{}}
	data, err := os.ReadFile(path)
	if err == nil {
		return o, json.Unmarshal(data, &o.known)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range adopt {
		t, err := store.Tape(ctx, name)
		if err == nil {
			err = o.note(ctx, name, t)
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			return nil, err
		}
	}
	return o, o.save()
}

func (o *Tapes) save() error {
	data, err := json.Marshal(o.known)
	if err != nil {
		return err
	}
	return o.disk.WriteFile(o.path, data)
}

func (o *Tapes) note(ctx context.Context, use string, t *repo.Tape) error {
	first, err := firstOf(ctx, t)
	o.known[use] = made{t.Name(), first}
	return err
}

func firstOf(ctx context.Context, t *repo.Tape) (string, error) {
	rev, err := t.Store().Revision(ctx, t, "")
	if err != nil {
		return "", err
	}
	for e, err := range rev.Entries(ctx, 1) {
		sum := sha256.Sum256(e.Raw)
		return hex.EncodeToString(sum[:]), err
	}
	return "", nil
}

// Find is the server's tape for a use, which is its usual name. ErrNotFound if there is none yet.
func (o *Tapes) Find(ctx context.Context, use string) (*repo.Tape, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.find(ctx, use)
}

func (o *Tapes) find(ctx context.Context, use string) (*repo.Tape, error) {
	was, ok := o.known[use]
	if !ok {
		return nil, repo.ErrNotFound
	}
	t, err := o.store.Tape(ctx, was.Name)
	if err != nil {
		return nil, err
	}
	first, err := firstOf(ctx, t)
	if err == nil && first != was.First {
		err = repo.ErrNotFound // another one is in its place
	}
	return t, err
}

// Make is Find, and makes the tape if there is none, under a name that is free.
func (o *Tapes) Make(ctx context.Context, use string) (*repo.Tape, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, err := o.find(ctx, use)
	if !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	for n, name := 2, use; ; n, name = n+1, fmt.Sprint(use, "-", n) {
		t, err = o.store.CreateTape(ctx, name)
		if errors.Is(err, repo.ErrConflict) && n < 100 {
			continue
		}
		if err == nil {
			if err = o.note(ctx, use, t); err == nil {
				err = o.save()
			}
		}
		return t, err
	}
}

// Has reports whether a tape is the server's.
func (o *Tapes) Has(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.known {
		if m.Name == name {
			return true
		}
	}
	return false
}
