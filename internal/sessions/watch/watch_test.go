package watch

//tape:race: files change while it looks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched is a watch of some folders, and what it has reported.
type watched struct {
	t    *testing.T
	told chan string
}

func start(t *testing.T, o Options) *watched {
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
	go func() { ended <- Run(ctx, o) }()
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

func TestWatch(t *testing.T) {
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll %v", poll), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "old", "old.jsonl")
			long := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "old", "old.jsonl"), long, long); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "old", "before.jsonl")
			w := start(t, Options{Dirs: []Dir{{dir, long.Add(time.Minute)}, {dir + " later", time.Now()}}, Poll: poll})
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

// TestAgain: a file is reported again later, because no event says that a session is over.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	w := start(t, Options{Dirs: []Dir{{Path: dir}}, Again: 200 * time.Millisecond})
	write(t, dir, "a.jsonl")
	w.want("a.jsonl")
	w.want("a.jsonl")
}

func TestOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.jsonl")
	var got []string
	err := Run(t.Context(), Options{Dirs: []Dir{{Path: dir}}, Once: true, Rescan: time.Second, Is: func(string) bool { return true },
		Changed: func(_ context.Context, paths []string) error { got = paths; return nil }})
	if err != nil || len(got) != 1 {
		t.Errorf("reported %q, not one file: %v", got, err)
	}
}
