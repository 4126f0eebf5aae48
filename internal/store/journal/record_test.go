package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/store/journal"
	"testing"
)

type unreadable struct{}

var errDisk = errors.New("input/output error")

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

// An unreadable record is not taken for a missing one.
func TestUnreadable(t *testing.T) {
	if _, ok, err := journal.Read(unreadable{}); ok || !errors.Is(err, errDisk) {
		t.Errorf("read: %v, %v", ok, err)
	}
	dir := t.TempDir()
	if _, ok, err := journal.Peek(dir); ok || err == nil {
		t.Errorf("a folder: %v, %v", ok, err)
	}
	if _, ok, err := journal.Peek(filepath.Join(dir, "none")); ok || err != nil {
		t.Errorf("no file: %v, %v", ok, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, ok, err := journal.Peek(empty); !ok || st.Count != 0 || err != nil {
		t.Errorf("an empty file: %v, %v, %v", st, ok, err)
	}
}

// Whatever a crash does to the record that is being written, the last synced one is read.
func TestTornRecord(t *testing.T) {
	f, err := (&disk.FS{}).OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last := uint64(0)
	for id := int64(1); id <= 8; id++ {
		sync := id%3 == 0
		if err := journal.Save(f, journal.Record{LastID: id, Owner: strings.Repeat("secret ", 60)}, sync); err != nil {
			t.Fatal(err)
		}
		st, ok, err := journal.Read(f)
		if !ok || err != nil || st.LastID != id || st.Count <= last || st.Synced != sync {
			t.Fatalf("record %d is read as %+v, %v, %v", id, st, ok, err)
		}
		last = st.Count
		if sync || id < 3 {
			continue
		}
		slot := int64(st.Count%2) * 8192
		torn := make([]byte, 20)
		if _, err := f.ReadAt(torn, slot); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("\x00\x00garbage"), slot); err != nil {
			t.Fatal(err)
		}
		if st, ok, err := journal.Read(f); !ok || err != nil || st.LastID != id/3*3 {
			t.Errorf("with record %d torn, %+v is read: %v, %v", id, st, ok, err)
		}
		if _, err := f.WriteAt(torn, slot); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Scrub(f, journal.Record{LastID: 9}); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(f.Name()); err != nil || bytes.Contains(raw, []byte("secret")) {
		t.Errorf("after Scrub, older records are still in the file: %q, %v", raw, err)
	}
	if st, ok, err := journal.Read(f); !ok || err != nil || st.LastID != 9 {
		t.Errorf("after Scrub, the record is read as %+v, %v, %v", st, ok, err)
	}
}

// A record that names a folder outside of anchors/ does not count: whoever handed over the workspace may have
// written it.
func TestRecordNamesOtherFolder(t *testing.T) {
	for folder, want := range map[string]bool{
		"": true, "001_start": true, "..": false, "../../else/anchors/001_start": false, "001_../../else": false, `001_..\else`: false, "/tmp": false,
	} {
		for name, st := range map[string]journal.Record{"folder": {Folder: folder}, "undo": {Undo: &journal.Undo{Folder: folder}}} {
			f, err := (&disk.FS{}).OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if err := journal.Save(f, st, true); err != nil {
				t.Fatal(err)
			}
			if _, got, err := journal.Read(f); got != want || err != nil {
				t.Errorf("a record with the %s %q counts: %v, %v, want %v", name, folder, got, err, want)
			}
			_ = f.Close()
		}
	}
}
