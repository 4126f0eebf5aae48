package disk

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Nothing is synced before SyncAll, and then each file and folder once, under its present name.
func TestDeferred(t *testing.T) {
	if !canSyncLater {
		t.Skip("this system syncs at once")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	var mu sync.Mutex
	var synced []string
	var fault error
	d := (&FS{Fault: func(op Op, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if op != OpSync && op != OpSyncDir {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		synced = append(synced, filepath.ToSlash(rel))
		return fault
	}}).Deferred()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(d.MkdirAll(at("a/b")))
	ok(d.WriteFile(at("a/one"), []byte("1")))
	ok(d.WriteFile(at("a/one"), []byte("2")))
	ok(d.WriteFile(at("a/b/two"), []byte("2")))
	ok(d.WriteFile(at("gone"), []byte("3")))
	ok(d.Remove(at("gone")))
	ok(d.Rename(at("a"), at("c")))
	if len(synced) > 0 {
		t.Fatalf("synced too early: %q", synced)
	}
	ok(d.SyncAll())
	slices.Sort(synced)
	if want := []string{".", "c", "c/b", "c/b/two", "c/one"}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, not %q", synced, want)
	}
	synced = nil
	ok(d.SyncAll())
	if len(synced) > 0 {
		t.Errorf("synced once more: %q", synced)
	}
	ok(d.WriteFile(at("more"), []byte("4")))
	fault = errors.New("no")
	if err := d.SyncAll(); !errors.Is(err, fault) {
		t.Errorf("a sync that fails gives %v", err)
	}
	if raw, err := os.ReadFile(at("c/one")); err != nil || string(raw) != "2" {
		t.Errorf("the file holds %q, %v", raw, err)
	}
}

// TestDeferredMany syncs more than fits into one batch.
func TestDeferredMany(t *testing.T) {
	paths := map[string]bool{}
	for i := range 100 {
		paths[string(rune('A'+i))] = true
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	err := eachOf(paths, func(path string) error {
		mu.Lock()
		defer mu.Unlock()
		seen[path] = true
		return nil
	})
	if err != nil || !maps.Equal(seen, paths) {
		t.Errorf("%d of %d were done: %v", len(seen), len(paths), err)
	}
}
