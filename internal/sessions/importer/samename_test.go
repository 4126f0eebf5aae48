package importer

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSameName: files of one name in two folders are two tapes, and each is imported into its own again.
func TestSameName(t *testing.T) {
	s := testStore(t)
	dir := t.TempDir()
	write := func(name, more string) string {
		path := filepath.Join(dir, name, "chat.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"messages":[{"role":"user","content":"hi"}`+more+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const one, two = `,{"role":"assistant","content":"one"}`, `,{"role":"assistant","content":"two"}`
	for _, x := range []struct {
		dir, more, tape string
		imported        int
	}{
		{"a", one, "chat", 2}, {"b", two, "b-chat", 2}, {"c", "", "c-chat", 1}, {"x/b", two + two, "b-chat.2", 3},
		{"a", one + two, "chat", 1}, {"b", two, "b-chat", 0}, {"x/b", two + two, "b-chat.2", 0}, // a has grown
		{"copy", one + two, "chat", 0}, // of a
	} {
		if got := mustImport(t, s, write(x.dir, x.more), Options{}); got.Tape != x.tape || got.Imported != x.imported {
			t.Errorf("%s: %d entries into %s, want %d into %s", x.dir, got.Imported, got.Tape, x.imported, x.tape)
		}
	}
	// A file that was moved is the same chat.
	if err := os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if got := mustImport(t, s, filepath.Join(dir, "moved", "chat.json"), Options{}); got.Imported > 0 || got.Tape != "b-chat" {
		t.Errorf("%d entries into %s", got.Imported, got.Tape)
	}
}
