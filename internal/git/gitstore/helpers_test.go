package gitstore

import (
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

func open(j *gitjudge.Judge, fsys *disk.FS) *Repo {
	j.Helper()
	r, err := Open(j.GitDir, &Options{FS: fsys, LockWait: 20 * time.Second})
	if err != nil {
		j.Fatal(err)
	}
	return r
}
