package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// An unsynced FS syncs nothing; SyncTree syncs each file and folder once.
func TestUnsynced(t *testing.T) {
	if !canSyncLater {
		t.Skip("this system syncs at once")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	var mu sync.Mutex
	var synced []string
	var fault error
	plain := &FS{Fault: func(op Op, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if op != OpSync && op != OpSyncDir {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		synced = append(synced, filepath.ToSlash(rel))
		return fault
	}}
	d := plain.Unsynced()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(d.MkdirAll(at("a/b")))
	ok(d.WriteFile(at("a/one"), []byte("1")))
	ok(d.WriteFile(at("a/b/two"), []byte("2")))
	ok(d.Rename(at("a"), at("c")))
	if len(synced) > 0 {
		t.Fatalf("synced too early: %q", synced)
	}
	ok(plain.SyncTree(dir))
	slices.Sort(synced)
	if want := []string{".", "c", "c/b", "c/b/two", "c/one"}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, not %q", synced, want)
	}
	fault = errors.New("no")
	if err := plain.SyncTree(dir); !errors.Is(err, fault) {
		t.Errorf("a sync that fails gives %v", err)
	}
	if raw, err := os.ReadFile(at("c/one")); err != nil || string(raw) != "1" {
		t.Errorf("the file holds %q, %v", raw, err)
	}
	ok(os.Mkdir(at("shared"), 0o700))
	ok(os.Chmod(at("shared"), 0o770))
	d = WithPermissionsOf(at("shared")).Unsynced()
	ok(d.MkdirAll(at("shared/a")))
	ok(d.WriteFile(at("shared/a/one"), nil))
	for name, want := range map[string]os.FileMode{"shared/a": 0o770, "shared/a/one": 0o660} {
		if info, err := os.Stat(at(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("the mode of %s is %v, %v; want %v, for the group too", name, info.Mode(), err, want)
		}
	}
}
