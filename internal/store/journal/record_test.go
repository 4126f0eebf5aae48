package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

type unreadable struct{}

var errDisk = errors.New("input/output error")

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

// TestUnreadable: that a record cannot be read does not say that there is none.
func TestUnreadable(t *testing.T) {
	if _, ok, err := Read(unreadable{}); ok || !errors.Is(err, errDisk) {
		t.Errorf("read: %v, %v", ok, err)
	}
	dir := t.TempDir()
	if _, ok, err := Peek(dir); ok || err == nil {
		t.Errorf("a folder: %v, %v", ok, err)
	}
	if _, ok, err := Peek(filepath.Join(dir, "none")); ok || err != nil {
		t.Errorf("no file: %v, %v", ok, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, ok, err := Peek(empty); !ok || st.Count != 0 || err != nil {
		t.Errorf("an empty file: %v, %v, %v", st, ok, err)
	}
}
