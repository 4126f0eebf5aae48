//go:build !race

// Thousands of steps, one after another: slow, and nothing for the race detector to find.

package purge_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// forgetful is a disk that undoes, in a power cut, every removal whose folder was not synced afterwards, whichever
// process made it.
type forgetful struct {
	mu    sync.Mutex
	t     *testing.T
	dir   string
	store string                     // a link to each file that may come back
	names map[string]map[string]bool // for each folder, relative to dir: the names in it after a cut; true if it is a folder
	each  func()                     // called before each operation of ours
}

func newForgetful(t *testing.T, dir string) *forgetful {
	d := &forgetful{t: t, dir: dir, store: t.TempDir(), names: map[string]map[string]bool{}, each: func() {}}
	storetest.Must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			d.sync(path)
		}
		return err
	}))
	return d
}

func (d *forgetful) fault(op disk.Op, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each()
	if op == disk.OpSyncDir {
		d.sync(path)
	}
	return nil
}

// sync notes what is in a folder now: a cut does not undo removals up to here.
func (d *forgetful) sync(path string) {
	rel, err := filepath.Rel(d.dir, path)
	storetest.Must(d.t, err)
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || !filepath.IsLocal(rel) {
		return
	}
	storetest.Must(d.t, err)
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = e.IsDir()
		to := filepath.Join(d.store, rel, e.Name())
		if e.IsDir() {
			storetest.Must(d.t, os.MkdirAll(to, 0o700))
			continue
		}
		storetest.Must(d.t, errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.RemoveAll(to)))
		if err := os.Link(filepath.Join(path, e.Name()), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.t.Error(err)
		}
	}
	d.names[rel] = names
	maps.DeleteFunc(d.names, func(folder string, _ map[string]bool) bool { // a later folder of that name is another one
		return filepath.Dir(folder) == rel && folder != rel && !names[filepath.Base(folder)]
	})
}

// back lists the files that a power cut would bring back.
func (d *forgetful) back() (files []string) {
	var walk func(folder string)
	walk = func(folder string) {
		for name, isDir := range d.names[folder] {
			rel := filepath.Join(folder, name)
			if isDir {
				walk(rel)
			} else if _, err := os.Lstat(filepath.Join(d.dir, rel)); errors.Is(err, fs.ErrNotExist) {
				files = append(files, rel)
			}
		}
	}
	walk(".")
	return files
}

// cut puts back the files whose removal was not synced.
func (d *forgetful) cut() {
	for _, rel := range d.back() {
		to := filepath.Join(d.dir, rel)
		raw, err := os.ReadFile(filepath.Join(d.store, rel))
		storetest.Must(d.t, errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700)))
		storetest.Must(d.t, os.WriteFile(to, raw, 0o600))
	}
}

// After a purge has reported success, a power cut brings back nothing that it or git removed. Before that, the next
// command continues from the recorded state: once the branches have moved, nothing comes back that refers to the
// old objects, and once the record is gone, nothing at all.
func TestPurgeThenPowerCut(t *testing.T) {
	dir := purgeFaultStore(t)
	s := storetest.OpenFaulty(t, dir, nil)
	storetest.Git(t, dir, "update-ref", "--create-reflog", "refs/remotes/origin/tape/main", "tape/main~1")
	storetest.WriteFile(t, s.IndexFile(), []byte("words of "+storetest.Leak(1)))
	storetest.WriteFile(t, filepath.Join(dir, ".git", "COMMIT_EDITMSG"), []byte(storetest.Leak(1)))
	torn := filepath.Join(dir, ".git", "tape", "torn")
	storetest.Must(t, os.MkdirAll(torn, 0o700))
	storetest.WriteFile(t, filepath.Join(torn, "main~0001~line"), []byte(storetest.Leak(1)))

	d, state := newForgetful(t, dir), 0 // state 1: branches move; 2: old objects are dropped; 3: the purge is finished
	d.each = func() {
		_, moving := storetest.Inner(s).Git().Ref("refs/tape/purge/moving")
		_, dropping := storetest.Inner(s).Git().Ref("refs/tape/purge/dropping")
		switch {
		case moving == nil:
			state = 1
		case state > 0 && dropping == nil:
			state = 2
		case state > 1:
			state = 3
		}
		for _, rel := range d.back() {
			rel := filepath.ToSlash(rel)
			named := !strings.HasPrefix(rel, ".git/objects/") && !strings.HasPrefix(rel, ".git/refs/") && rel != filepath.Base(s.IndexFile())
			note := strings.HasPrefix(rel, ".git/refs/tape/purge") || strings.HasSuffix(rel, ".lock")
			if state == 2 && named && !note || state == 3 && !note {
				t.Fatalf("in state %d of the purge, a cut would bring %s back", state, rel)
			}
		}
	}
	cutStore, err := repo.Open(t.Context(), dir, &repo.Options{Now: testkit.Clock, Fs: &disk.FS{Fault: d.fault}})
	storetest.Must(t, err)
	_, err = storetest.Tape(t, cutStore, "main").Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Find: storetest.LeakFinder{},
		Derived: func(context.Context) error { return os.Remove(s.IndexFile()) }})
	storetest.Must(t, err)
	if state != 3 {
		t.Errorf("the purge ended in state %d, want 3", state)
	}
	d.cut()
	storetest.WantNowhere(t, dir, storetest.Leak(1))
	if storetest.IsPurging(t, storetest.OpenFaulty(t, dir, nil)) {
		t.Error("a cut brings back the record of the unfinished purge")
	}
	storetest.Healthy(t, dir)
	storetest.WantClean(t, dir)
}
