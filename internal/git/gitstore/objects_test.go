package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// An object can be read at any time, however often git gc renames its pack.
func TestReadWhilePacksAreReplaced(t *testing.T) {
	j := gitjudge.New(t)
	head := j.Commits(1)[0]
	j.Git("update-ref", "refs/heads/kept", head.String())
	j.Git("repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(j.GitDir, "objects", "pack", "pack-*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	stop, replaced := make(chan bool), make(chan error)
	go func() {
		is := strings.TrimSuffix(packs[0], ".pack")
		for n := 0; ; n++ {
			select {
			case <-stop:
				replaced <- nil
				return
			case <-time.After(500 * time.Microsecond):
			}
			next := filepath.Join(filepath.Dir(is), fmt.Sprintf("pack-%040x", n))
			for _, do := range []func(end string) error{
				func(end string) error { return os.Link(is+end, next+end) },
				func(end string) error { return os.Remove(is + end) },
			} {
				for _, end := range []string{".pack", ".idx"} {
					if err := do(end); err != nil {
						replaced <- err
						return
					}
				}
			}
			is = next
		}
	}()
	for range testkit.Size(2_000, 50_000) {
		r := open(j, nil)
		if _, err := r.Commit(head); err != nil {
			t.Errorf("read a commit while packs are replaced: %v", err)
			break
		}
		if h, err := r.ResolvePrefix(head.String()[:8]); err != nil || h != head {
			t.Errorf("the prefix of %s resolves to %s, %v", head, h, err)
			break
		}
	}
	close(stop)
	j.OK(<-replaced)
}
