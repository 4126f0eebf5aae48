package hostcli

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"tape/internal/git/disk"
)

// watchOptions say what is watched.
type watchOptions struct {
	Dirs []watchedFolder
	// Later returns folders to watch from now on, too. It is called at each Rescan; nil: there are none.
	Later func() []watchedFolder
	Is    func(path string) bool // whether a file counts
	// Changed gets the files that were written to. Its error ends the watch.
	Changed func(ctx context.Context, paths []string) error
	// Again is how long after its last change a file is reported again.
	Again time.Duration
	// Warn is called once with the reason if the system cannot watch all folders.
	Warn func(error)
	// Rescan is the time between scans: of all folders if the system cannot watch them all, otherwise of those that
	// do not exist yet.
	Rescan time.Duration
	// Poll scans all folders at each Rescan: the system does not report what other machines write.
	Poll bool
	// Once ends the watch when the files that were written before it are reported.
	Once bool
}

// Files are reported when none was written to for the time quiet, at the latest maxWait after the first.
const (
	quiet   = 50 * time.Millisecond
	maxWait = 400 * time.Millisecond
)

// share bounds the time for scans to 1/share of the whole.
const share = 50

// watchedFolder is a folder with everything below it. It need not exist yet.
type watchedFolder struct {
	Path  string
	Since time.Time // files whose last write was before it are not reported
}

type watch struct {
	watchOptions
	events  *fsnotify.Watcher
	blind   bool                 // the system does not watch all folders
	absent  []watchedFolder      // the Dirs that do not exist
	scanned time.Time            // when the last scan of all folders began
	took    time.Duration        // how long it took
	dirty   map[string]bool      // files to report
	first   time.Time            // when the first of them was written to
	again   map[string]time.Time // last changes of files to report again
}

// watchFolders reports files until ctx ends. It reports the files that were written before it at once.
func watchFolders(ctx context.Context, o watchOptions) (err error) {
	w := &watch{watchOptions: o, blind: o.Poll, dirty: map[string]bool{}, again: map[string]time.Time{}}
	if w.events, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.events.Close()) }()
	w.scan(o.Dirs)
	if err := w.report(ctx); err != nil || o.Once {
		return err
	}
	tick := time.NewTicker(o.Rescan)
	defer tick.Stop()
	quietTimer := time.NewTimer(quiet)
	defer quietTimer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-w.events.Events:
			w.handle(e)
		case err := <-w.events.Errors: // events were lost
			if err != nil {
				w.scan(w.dirsSince(w.scanned))
			}
		case <-tick.C:
			w.tick()
		case <-quietTimer.C:
			if err := w.report(ctx); err != nil {
				return err
			}
		}
		if len(w.dirty) > 0 {
			quietTimer.Reset(min(quiet, max(0, time.Until(w.first.Add(maxWait)))))
		}
	}
}

func (w *watch) handle(e fsnotify.Event) {
	switch {
	case e.Op == fsnotify.Chmod || e.Has(fsnotify.Remove):
	case w.Is(e.Name):
		w.mark(e.Name)
	case e.Has(fsnotify.Create): // perhaps a folder that has files already
		w.walk(e.Name, time.Time{})
	}
}

// tick does what no event triggers.
func (w *watch) tick() {
	now := time.Now()
	if w.Later != nil {
		if more := w.Later(); len(more) > 0 {
			w.Dirs = append(w.Dirs, more...)
			w.absent = append(w.absent, w.walkAll(more)...)
		}
	}
	for path, at := range w.again {
		if now.Sub(at) >= w.Again && !w.dirty[path] {
			w.mark(path)
			delete(w.again, path)
		}
	}
	switch {
	case w.blind && now.Sub(w.scanned) > share*w.took:
		w.scan(w.dirsSince(w.scanned))
	case len(w.absent) > 0:
		w.absent = w.walkAll(w.absent) // this is no scan: what was written elsewhere since the last one is still to be found
	}
}

func (w *watch) mark(path string) {
	if len(w.dirty) == 0 {
		w.first = time.Now()
	}
	w.dirty[path] = true
	w.again[path] = time.Now()
}

// coarse is how far a file's modification time may lie before its last write.
const coarse = 2 * time.Second

// scan walks all folders.
func (w *watch) scan(dirs []watchedFolder) {
	began := time.Now()
	w.absent = w.walkAll(dirs)
	w.scanned, w.took = began, time.Since(began)
}

// walkAll marks the files in folders that were written to since the folders' Since. It returns the folders that do
// not exist.
func (w *watch) walkAll(dirs []watchedFolder) (absent []watchedFolder) {
	for _, dir := range dirs {
		if !w.walk(dir.Path, dir.Since.Add(-coarse)) {
			absent = append(absent, dir)
		}
	}
	return absent
}

// dirsSince returns all folders, with another Since, except that folders that did not exist keep theirs.
func (w *watch) dirsSince(since time.Time) []watchedFolder {
	dirs := slices.Clone(w.Dirs)
	for i := range dirs {
		if !slices.Contains(w.absent, dirs[i]) {
			dirs[i].Since = since
		}
	}
	return dirs
}

// walk has the system watch a folder and those below it, and marks their files that were written to since a
// time. It reports whether the folder exists. It skips what it cannot read, such as folders of other users.
func (w *watch) walk(root string, since time.Time) (there bool) {
	_ = disk.Walk(root, func(path string, st fs.FileInfo, err error) error {
		switch {
		case err != nil:
			return nil
		case st.IsDir():
			there = there || path == root
			if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !w.blind {
				w.blind = true
				w.Warn(err)
			}
		case st.Mode().IsRegular() && w.Is(path) && !st.ModTime().Before(since):
			w.mark(path)
		}
		return nil
	})
	return there
}

func (w *watch) report(ctx context.Context) error {
	if len(w.dirty) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(w.dirty))
	clear(w.dirty)
	return w.Changed(ctx, paths)
}
