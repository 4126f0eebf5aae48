package gitstore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/testkit/gitjudge"
)

func TestSweepTempRemovesOldFilesAndFolders(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, &disk.FS{})
	tmp := filepath.Join(j.GitDir, gitlock.OwnDir, "tmp")
	age := func(name string, days int) {
		t.Helper()
		at := time.Now().Add(-time.Duration(days)*24*time.Hour - time.Minute)
		if err := os.Chtimes(filepath.Join(tmp, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"push-1", "clone-2"} {
		if err := os.MkdirAll(filepath.Join(tmp, dir, "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"object-1", "object-2"} {
		if err := os.WriteFile(filepath.Join(tmp, file), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	age("push-1", 7)
	age("clone-2", 2)
	age("object-1", 1)
	r.SweepTemp(time.Now())
	for name, stays := range map[string]bool{"push-1": false, "clone-2": true, "object-1": false, "object-2": true} {
		if _, err := os.Stat(filepath.Join(tmp, name)); (err == nil) != stays {
			t.Errorf("%s: Stat gives %v, and it should stay: %v", name, err, stays)
		}
	}
}
