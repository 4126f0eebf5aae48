// Package watch looks at folders, and tells of the files in them that were written to: by what the
// system tells of them, or, where it tells of no more folders, by looking again.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say what is looked at.
type Options struct {
	Dirs []Dir
	Is   func(path string) bool // whether a file counts
	// Changed is told of files that were written to. An error ends the watch.
	Changed func(ctx context.Context, paths []string) error
	// Again is how long after its last change a file is told of once more.
	Again time.Duration
	// Warn is told once that the system does not tell of all folders, and why.
	Warn func(error)
	// Look is how often those are looked at, and folders that are not there are looked for.
	Look time.Duration
	// Poll looks at all folders that often: the system does not tell what other machines write.
	Poll bool
	// Once ends the watch when what was written before is told of.
	Once bool
}

// A file is told of when it rests, or, if it never does, after a while.
const (
	rests  = 50 * time.Millisecond
	atLast = 400 * time.Millisecond
)

// share is the part of the time that looking may take.
const share = 50

// Dir is a folder with all that is below it. It may be made later.
type Dir struct {
	Path  string
	Since time.Time // what was written before is known
}

type watch struct {
	Options
	events *fsnotify.Watcher
	blind  bool                 // the system does not tell of all folders
	absent []Dir                // those of Dirs that are not there
	seen   time.Time            // when the last look began
	took   time.Duration        // by that
	dirty  map[string]bool      // files to tell of
	first  time.Time            // since when there are some
	told   map[string]time.Time // files to tell of again
}

// Run tells of files until ctx ends; of those that were written before it at once.
func Run(ctx context.Context, o Options) (err error) {
	w := &watch{Options: o, blind: o.Poll, dirty: map[string]bool{}, told: map[string]time.Time{}}
	if w.events, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.events.Close()) }()
	w.look(o.Dirs)
	if err := w.tell(ctx); err != nil || o.Once {
		return err
	}
	tick := time.NewTicker(o.Look)
	defer tick.Stop()
	resting := time.NewTimer(rests)
	defer resting.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.events.Events:
			w.take(e)
		case err := <-w.events.Errors: // some were lost
			if err != nil {
				w.look(w.since(w.seen))
			}
		case <-tick.C:
			w.tick()
		case <-resting.C:
			if err := w.tell(ctx); err != nil {
				return err
			}
		}
		if len(w.dirty) > 0 {
			resting.Reset(min(rests, max(0, time.Until(w.first.Add(atLast)))))
		}
	}
}

// take looks at what the system tells.
func (w *watch) take(e fsnotify.Event) {
	switch {
	case e.Op == fsnotify.Chmod || e.Has(fsnotify.Remove):
	case w.Is(e.Name):
		w.mark(e.Name)
	case e.Has(fsnotify.Create): // perhaps a folder, which may have files already
		w.walk(e.Name, time.Time{})
	}
}

// tick does what no event leads to.
func (w *watch) tick() {
	now := time.Now()
	for path, at := range w.told {
		if now.Sub(at) >= w.Again && !w.dirty[path] {
			w.mark(path)
			delete(w.told, path)
		}
	}
	switch {
	case w.blind && now.Sub(w.seen) > share*w.took:
		w.look(w.since(w.seen))
	case len(w.absent) > 0:
		w.look(w.absent)
	}
}

func (w *watch) mark(path string) {
	if len(w.dirty) == 0 {
		w.first = time.Now()
	}
	w.dirty[path] = true
	w.told[path] = time.Now()
}

// coarse is how much older than its writing a file's time may be.
const coarse = 2 * time.Second

// look goes through folders, and marks the files that were written since they were seen.
func (w *watch) look(dirs []Dir) {
	began := time.Now()
	var absent []Dir
	for _, dir := range dirs {
		if !w.walk(dir.Path, dir.Since.Add(-coarse)) {
			absent = append(absent, dir)
		}
	}
	w.absent, w.seen, w.took = absent, began, time.Since(began)
}

// since are the folders, whose files were seen at some time.
func (w *watch) since(seen time.Time) []Dir {
	dirs := slices.Clone(w.Dirs)
	for i := range dirs {
		if !slices.Contains(w.absent, dirs[i]) {
			dirs[i].Since = seen
		}
	}
	return dirs
}

// walk has the system tell of a folder and those below it. It reports whether the folder is there;
// what cannot be read is passed over, for it is of others.
func (w *watch) walk(root string, since time.Time) (there bool) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			there = there || path == root
			if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !w.blind {
				w.blind = true
				w.Warn(err)
			}
		case d.Type().IsRegular() && w.Is(path):
			if st, err := d.Info(); err == nil && !st.ModTime().Before(since) {
				w.mark(path)
			}
		}
		return nil
	})
	return there
}

func (w *watch) tell(ctx context.Context) error {
	if len(w.dirty) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(w.dirty))
	clear(w.dirty)
	return w.Changed(ctx, paths)
}
