package hostcli

//tape:race: files change while it looks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched is a watch of some folders, and what it has reported.
type watched struct {
	t    *testing.T
	told chan string
}

func start(t *testing.T, o watchOptions) *watched {
	t.Helper()
	w := &watched{t, make(chan string, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	o.Is = func(path string) bool { return strings.HasSuffix(path, ".jsonl") }
	o.Warn = func(err error) { t.Error(err) }
	if o.Again == 0 {
		o.Again = time.Hour
	}
	o.Rescan = 20 * time.Millisecond
	o.Changed = func(_ context.Context, paths []string) error {
		for _, p := range paths {
			w.told <- filepath.Base(p)
		}
		return nil
	}
	ended := make(chan error)
	go func() { ended <- watchFolders(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// want waits until a file is reported; earlier reports do not count.
func (w *watched) want(name string) {
	w.t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		select {
		case got := <-w.told:
			if got == name {
				return
			}
		case <-deadline:
			w.t.Fatal("not reported:", name)
		}
	}
}

func write(t *testing.T, elem ...string) {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, "{}")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

func TestWatchFolders(t *testing.T) {
	t.Parallel()
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll %v", poll), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "old", "old.jsonl")
			long := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "old", "old.jsonl"), long, long); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "old", "before.jsonl")
			w := start(t, watchOptions{Dirs: []watchedFolder{{dir, long.Add(time.Minute)}, {dir + " later", time.Now()}}, Poll: poll})
			if got := <-w.told; got != "before.jsonl" {
				t.Errorf("the first report is %s, not before.jsonl", got)
			}
			write(t, dir, "old", "note.txt")
			write(t, dir, "new", "deep", "first.jsonl")
			w.want("first.jsonl")
			write(t, dir, "new", "deep", "second.jsonl")
			w.want("second.jsonl")
			write(t, dir, "old", "old.jsonl")
			w.want("old.jsonl")
			other := dir + " later"
			defer os.RemoveAll(other)
			write(t, other, "x", "late.jsonl")
			w.want("late.jsonl")
			for len(w.told) > 0 {
				if got := <-w.told; got == "note.txt" {
					t.Error("note.txt is reported, which is no transcript")
				}
			}
		})
	}
}

// TestWatchAgain: a file is reported again later, because no event says that a session is over.
func TestWatchAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := start(t, watchOptions{Dirs: []watchedFolder{{Path: dir}}, Again: 200 * time.Millisecond})
	write(t, dir, "a.jsonl")
	w.want("a.jsonl")
	w.want("a.jsonl")
}

// TestMissingFolder: looking for a folder that does not exist yet is no scan of the others. What was written to those
// since the last scan is found at the next one, even if other work kept the watch from it for long.
func TestMissingFolder(t *testing.T) {
	dir := t.TempDir()
	file, now := filepath.Join(dir, "a.jsonl"), time.Now()
	dirs := []watchedFolder{{dir, now}, {dir + " missing", now}}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	w := &watch{watchOptions: watchOptions{Dirs: dirs, Is: func(path string) bool { return path == file }}, events: events, blind: true, dirty: map[string]bool{}, again: map[string]time.Time{}}
	w.scan(dirs)
	w.scanned, w.took = now.Add(-time.Hour), time.Hour
	write(t, file)
	if err := os.Chtimes(file, now, now.Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if w.tick(); len(w.dirty) > 0 {
		t.Error("all folders are scanned although the last scan took an hour")
	}
	w.took = 0
	if w.tick(); !w.dirty[file] {
		t.Error("a file that was written after the last scan is not reported")
	}
}

func TestOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.jsonl")
	var got []string
	err := watchFolders(t.Context(), watchOptions{Dirs: []watchedFolder{{Path: dir}}, Once: true, Rescan: time.Second, Is: func(string) bool { return true },
		Changed: func(_ context.Context, paths []string) error { got = paths; return nil }})
	if err != nil || len(got) != 1 {
		t.Errorf("reported %q, not one file: %v", got, err)
	}
}
