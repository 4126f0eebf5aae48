package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"tape/internal/git/disk"
	"tape/repo"
)

// Which tapes are the server's own. A tape of the same name that came with a pull or a clone,
// or that a person made, is not one: its state is not the server's. Which tapes the server made is
// recorded beside the repository, where no clone or pull brings it.

// ownTapes are the own tapes of one server.
type ownTapes struct {
	store *repo.Store
	disk  *disk.FS
	path  string

	mu    sync.Mutex
	byUse map[string]record // by Host or Audit
}

type record struct {
	Name  string `json:"name"`
	First string `json:"first_sha256"` // the hash of its first entry
}

// openOwn reads the record of the server's tapes. If there is none, the tapes named in adopt are taken
// over: an earlier version of the server did not record them.
func openOwn(ctx context.Context, store *repo.Store, d *disk.FS, path string, adopt []string) (*ownTapes, error) {
	o := &ownTapes{store: store, disk: d, path: path, byUse: map[string]record{}}
	data, err := os.ReadFile(path)
	if err == nil {
		return o, json.Unmarshal(data, &o.byUse)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range adopt {
		t, err := store.Tape(ctx, name)
		if err == nil {
			err = o.add(ctx, name, t)
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			return nil, err
		}
	}
	return o, o.save()
}

func (o *ownTapes) save() error {
	data, err := json.Marshal(o.byUse)
	if err != nil {
		return err
	}
	return o.disk.WriteFile(o.path, data)
}

// add notes that a tape is the server's for a use.
func (o *ownTapes) add(ctx context.Context, use string, t *repo.Tape) error {
	first, err := firstHash(ctx, t)
	o.byUse[use] = record{t.Name(), first}
	return err
}

// firstHash returns the hash of a tape's first entry, "" if it has none.
func firstHash(ctx context.Context, t *repo.Tape) (string, error) {
	rev, err := t.Store().Revision(ctx, t, "")
	if err != nil {
		return "", err
	}
	for e, err := range rev.Entries(ctx, 1) {
		return fmt.Sprintf("%x", sha256.Sum256(e.Raw)), err
	}
	return "", nil
}

// Find returns the server's tape for a use, Host or Audit. Errors: ErrNotFound if there is none yet, or if it
// was deleted or replaced by another tape.
func (o *ownTapes) Find(ctx context.Context, use string) (*repo.Tape, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.find(ctx, use)
}

func (o *ownTapes) find(ctx context.Context, use string) (*repo.Tape, error) {
	r, ok := o.byUse[use]
	if !ok {
		return nil, repo.ErrNotFound
	}
	t, err := o.store.Tape(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	first, err := firstHash(ctx, t)
	if err == nil && first != r.First {
		err = repo.ErrNotFound // another tape has its name
	}
	return t, err
}

// Make returns the server's tape for a use. If there is none, it makes one under a free name.
func (o *ownTapes) Make(ctx context.Context, use string) (*repo.Tape, error) {
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
			if err = o.add(ctx, use, t); err == nil {
				err = o.save()
			}
		}
		return t, err
	}
}
