package transport

import (
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

func open(j *gitjudge.Judge, fsys *disk.FS) *gitstore.Repo {
	j.Helper()
	r, err := gitstore.Open(j.GitDir, &gitstore.Options{FS: fsys, LockWait: 20 * time.Second, Own: func(string) bool { return true }})
	j.OK(err)
	return r
}
