package repo

import (
	"os"
	"path/filepath"
	"runtime"
	"tape/internal/store/layout"
	"testing"
)

// TestUnreadableHead takes away what says that a tape is checked out: nobody goes on as if it
// had no files, and pushes, shows or continues it without what is not committed.
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
			s := testStore(t, nil)
			remote := shared(t, s)
			mustPush(t, s, nil)
			had := runGit(t, remote, "rev-parse", "refs/heads/tape/main")
			m := openTape(t, s, "main")
			mustAppend(t, m, Message("user", "one"))
			head := filepath.Join(s.in().Git().GitDir(), "HEAD")
			mustDo(t, os.Rename(head, head+".was"))
			mustDo(t, spoil(head))
			if done, err := s.Push(t.Context(), "origin", nil); err == nil {
				t.Errorf("the push says %+v", done)
			}
			if entries, err := collect(t.Context(), m, Query{}); err == nil {
				t.Errorf("%d entries are read", len(entries))
			}
			if _, err := m.Append(t.Context(), nil, Message("user", "two")); err == nil {
				t.Error("it was appended to something")
			}
			if _, err := os.Lstat(filepath.Join(s.Dir(), layout.TapesDir)); err == nil {
				t.Error("there is a second working tree")
			}
			mustDo(t, os.WriteFile(s.PrivatePath(layout.ConfigFile), []byte("{}\n"), 0o600))
			if cur, err := reopen(t, s.Dir()).Tape(t.Context(), ""); err == nil {
				t.Errorf("the current tape is %q", cur.Name())
			}
			mustDo(t, os.RemoveAll(head))
			mustDo(t, os.Rename(head+".was", head))
			if got := runGit(t, remote, "rev-parse", "refs/heads/tape/main"); got != had {
				t.Errorf("the remote has %s, not %s", got, had)
			}
			mustAppend(t, m, Message("user", "two"))
			if n := len(entriesOf(t, m, Query{})); n != 3 {
				t.Errorf("%d entries are left", n)
			}
		})
	}
}
