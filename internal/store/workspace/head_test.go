package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// If HEAD cannot be read, pushing, reading and appending fail: nothing is done without the uncommitted entries of the
// checked-out tape.
func TestUnreadableHead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"cannot be read": func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"is garbage":     func(path string) error { return os.WriteFile(path, []byte("x\n"), 0o600) },
	} {
		if runtime.GOOS == "windows" && name == "cannot be read" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t, nil)
			remote := storetest.Remote(t, s)
			storetest.Push(t, s, nil)
			had := storetest.Git(t, remote, "rev-parse", "refs/heads/tape/main")
			m := storetest.Tape(t, s, "main")
			storetest.Append(t, m, repo.Message("user", "one"))
			head := filepath.Join(storetest.Inner(s).Git().GitDir(), "HEAD")
			storetest.Must(t, os.Rename(head, head+".was"))
			storetest.Must(t, spoil(head))
			if done, err := s.Push(t.Context(), "origin", nil); err == nil {
				t.Errorf("the push succeeded: %+v", done)
			}
			if entries, err := storetest.Collect(t.Context(), m, repo.Query{}); err == nil {
				t.Errorf("reading succeeded, with %d entries", len(entries))
			}
			if _, err := m.Append(t.Context(), nil, repo.Message("user", "two")); err == nil {
				t.Error("the append succeeded")
			}
			if _, err := os.Lstat(filepath.Join(s.Dir(), layout.TapesDir)); err == nil {
				t.Error("a second working tree was made")
			}
			storetest.Must(t, os.WriteFile(s.PrivatePath(layout.ConfigFile), []byte("{}\n"), 0o600))
			if cur, err := storetest.Reopen(t, s.Dir()).Tape(t.Context(), ""); err == nil {
				t.Errorf("the current tape is %q, want an error", cur.Name())
			}
			storetest.Must(t, os.RemoveAll(head))
			storetest.Must(t, os.Rename(head+".was", head))
			if got := storetest.Git(t, remote, "rev-parse", "refs/heads/tape/main"); got != had {
				t.Errorf("the remote has %s, want %s as before", got, had)
			}
			storetest.Append(t, m, repo.Message("user", "two"))
			if n := len(storetest.Entries(t, m, repo.Query{})); n != 3 {
				t.Errorf("with HEAD restored there are %d entries, want 3", n)
			}
		})
	}
}
