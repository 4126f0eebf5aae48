package spool_test

//tape:race: hooks write side by side

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/sessions/spool"
)

func places(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	return spool.Places(filepath.Join(dir, "home"), func(string) string { return filepath.Join(dir, "run") })
}

func note(i int) spool.Note {
	return spool.Note{Agent: "claude-code", At: time.Unix(int64(i), int64(i)), Payload: fmt.Appendf(nil, `{"n":%d}`, i)}
}

func all(t *testing.T, places []string) []spool.Kept {
	t.Helper()
	list, err := spool.Notes(places)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestManyAtOnce: notes are added at the same time without waiting, and none is lost.
func TestManyAtOnce(t *testing.T) {
	dirs := places(t)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			if err := spool.Add(nil, dirs, note(i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list := all(t, dirs)
	if len(list) != 50 {
		t.Fatalf("there are %d notes, not 50", len(list))
	}
	for i, k := range list {
		if want := string(note(i).Payload); string(k.Payload) != want || k.Torn {
			t.Errorf("note %d says %s, not %s", i, k.Payload, want)
		}
	}
	if err := spool.Drop(nil, list[:49]); err != nil || len(all(t, dirs)) != 1 {
		t.Errorf("after 49 of 50 notes were dropped, not one is left: %v", err)
	}
}

// TestSameMoment: two notes may have the same time.
func TestSameMoment(t *testing.T) {
	dirs := places(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := spool.Add(nil, dirs, note(7)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if list := all(t, dirs); len(list) != 20 {
		t.Errorf("there are %d notes, not 20", len(list))
	}
}

// TestFaults: whichever disk operation fails, once or in the first place for good, a note is kept completely:
// if the first place cannot be used, in the other one.
func TestFaults(t *testing.T) {
	for _, good := range []bool{true, false} {
		for n := 0; ; n++ {
			dirs := places(t)
			if err := spool.Add(nil, dirs, note(1)); err != nil {
				t.Fatal(err)
			}
			count := 0
			d := &disk.FS{Fault: func(_ disk.Op, path string) error {
				count++
				if count == n+1 || count > n && !good && strings.HasPrefix(path, dirs[0]) {
					return syscall.ENOSPC
				}
				return nil
			}}
			err := spool.Add(d, dirs, note(2))
			list := all(t, dirs)
			// If the failed note cannot be removed either, the note is there twice, which does no harm.
			last := list[len(list)-1]
			if err != nil || len(list) < 2 || len(list) > 3 || string(list[1].Payload) != string(last.Payload) || string(last.Payload) != string(note(2).Payload) {
				t.Errorf("fault %d: %v, %d notes", n, err, len(list))
			}
			if count <= n {
				break
			}
			if !strings.HasPrefix(last.File, dirs[1]) || !strings.Contains(last.Trouble, "no space") {
				t.Errorf("fault %d: the note is in %s, not in %s, or does not say why: %q", n, last.File, dirs[1], last.Trouble)
			}
		}
	}
}

// TestNowhere: where nothing can be written, the error says so.
func TestNowhere(t *testing.T) {
	d := &disk.FS{Fault: func(disk.Op, string) error { return syscall.EROFS }}
	dirs := places(t)
	if err := spool.Add(d, dirs, note(1)); !errors.Is(err, syscall.EROFS) {
		t.Errorf("the error is %v, not EROFS", err)
	}
	if list := all(t, dirs); len(list) > 0 {
		t.Errorf("there are %d notes, not none", len(list))
	}
}

// TestTorn: an incomplete note counts as being written at first, and later as cut off by a kill.
func TestTorn(t *testing.T) {
	dirs := places(t)
	if err := spool.Add(nil, dirs, note(1)); err != nil {
		t.Fatal(err)
	}
	path := all(t, dirs)[0].File
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(raw) {
		if err := os.WriteFile(path, raw[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if list := all(t, dirs); len(list) > 0 {
			t.Fatalf("a note of which %d bytes were written just now is returned", size)
		}
		old := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if list := all(t, dirs); len(list) != 1 || !list[0].Torn {
			t.Fatalf("a note of which %d bytes were written long ago is not reported as torn", size)
		}
	}
}

// TestPrivate: a place that others can write to, in a shared folder, is not used.
func TestPrivate(t *testing.T) {
	dirs := places(t)
	if err := os.MkdirAll(dirs[0], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dirs[0], 0o777); err != nil {
		t.Fatal(err)
	}
	if err := spool.Add(nil, dirs, note(1)); err != nil {
		t.Fatal(err)
	}
	if list := all(t, dirs); !strings.HasPrefix(list[0].File, dirs[1]) {
		t.Errorf("the note is in %s, not in %s", list[0].File, dirs[1])
	}
}
