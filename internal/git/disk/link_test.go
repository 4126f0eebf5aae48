package disk

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Writing does not follow a link to a file of the user.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	users, link := filepath.Join(dir, "users"), filepath.Join(dir, "link")
	if err := os.WriteFile(users, []byte("mine"), FilePerm); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(users, link); err != nil {
		t.Fatal(err)
	}
	var d *FS
	for _, flag := range []int{os.O_WRONLY | os.O_TRUNC, os.O_RDWR, os.O_WRONLY | os.O_APPEND | os.O_CREATE} {
		if f, err := d.OpenFile(link, flag, FilePerm); err == nil {
			t.Errorf("flag %o opens a link", flag)
			f.Close()
		}
	}
	if l, err := d.Lock(context.Background(), link, 0); err == nil {
		t.Error("Lock follows a link")
		_ = l.Unlock()
	}
	if raw, _ := os.ReadFile(users); string(raw) != "mine" {
		t.Errorf("the user's file holds %q, not %q", raw, "mine")
	}
}
