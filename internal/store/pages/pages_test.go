package pages

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// begin begins to change the branch pages, and writes a file.
func begin(t *testing.T, s *repo.Store, remote, file string) *Branch {
	t.Helper()
	b, err := Open(t.Context(), storetest.Inner(s), "pages", remote, nil)
	storetest.Must(t, err)
	t.Cleanup(b.Discard)
	storetest.Must(t, b.Write(file, []byte("text of "+file)))
	return b
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := strings.Fields(storetest.Git(t, dir, "ls-tree", "-r", "--name-only", "pages")); !slices.Equal(got, want) {
		t.Errorf("the branch has %v, want %v", got, want)
	}
}

func wantCommits(t *testing.T, dir string, want int) {
	t.Helper()
	if got := strings.Fields(storetest.Git(t, dir, "rev-list", "pages")); len(got) != want {
		t.Errorf("the branch has %d commits, want %d", len(got), want)
	}
}

// If two change the branch at once, the first change stays, and the second is refused and succeeds when it is tried
// again.
func TestSideBySide(t *testing.T) {
	s := storetest.New(t, nil)
	one, two := begin(t, s, "", "one"), begin(t, s, "", "two")
	storetest.Must(t, one.Commit(t.Context(), "one", false))
	storetest.WantIs(t, two.Commit(t.Context(), "two", false), repo.ErrConflict)
	wantFiles(t, s.Dir(), "one")
	storetest.Must(t, begin(t, s, "", "two").Commit(t.Context(), "two", false))
	wantFiles(t, s.Dir(), "one", "two")
	wantCommits(t, s.Dir(), 2)
	storetest.Healthy(t, s.Dir())
}

// The same from two workspaces with one remote. The page that the second could not push is in Local.
func TestSideBySideAtRemote(t *testing.T) {
	here := storetest.New(t, nil)
	remote := storetest.Remote(t, here)
	there := storetest.New(t, nil)
	storetest.Must(t, there.AddRemote(t.Context(), "origin", remote))
	one, two := begin(t, here, "origin", "one"), begin(t, there, "origin", "two")
	storetest.Must(t, one.Commit(t.Context(), "one", false))
	storetest.WantIs(t, two.Commit(t.Context(), "two", false), repo.ErrConflict)
	wantFiles(t, remote, "one")
	again := begin(t, there, "origin", "three")
	if again.Local == nil {
		t.Fatal("Local is nil, but the branch here has a page that the remote lacks")
	}
	if data, err := again.Local.Read("two"); err != nil || string(data) != "text of two" {
		t.Errorf("the page in Local is %q, %v", data, err)
	}
	storetest.Must(t, again.Commit(t.Context(), "three", false))
	wantFiles(t, remote, "one", "three")
	wantFiles(t, there.Dir(), "one", "three")
	if next := begin(t, there, "origin", "four"); next.Local != nil {
		t.Error("Local is set, but the branch here and at the remote are the same")
	}
}

// A replaced branch has one commit, here and at the remote, and no reflog that leads to the former ones.
func TestReplace(t *testing.T) {
	s := storetest.New(t, nil)
	remote := storetest.Remote(t, s)
	storetest.Must(t, begin(t, s, "origin", "one").Commit(t.Context(), "one", false))
	b := begin(t, s, "origin", "two")
	storetest.Must(t, b.Remove("one"))
	storetest.Must(t, b.Commit(t.Context(), "replace", true))
	for _, dir := range []string{s.Dir(), remote} {
		wantFiles(t, dir, "two")
		wantCommits(t, dir, 1)
	}
	if log := strings.TrimSpace(storetest.Git(t, s.Dir(), "reflog", "pages")); strings.Count(log, "\n") > 0 {
		t.Errorf("the reflog still has former commits:\n%s", log)
	}
	// Without a change there is no commit.
	same, err := Open(t.Context(), storetest.Inner(s), "pages", "origin", nil)
	storetest.Must(t, err)
	storetest.Must(t, same.Commit(t.Context(), "nothing", false))
	wantCommits(t, remote, 1)
}

// Branches of sessions, and one that is checked out, are refused.
func TestRefused(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Git(t, s.Dir(), "worktree", "add", "-q", "-b", "code", t.TempDir())
	for name, class := range map[string]error{"tape/x": layout.ErrInvalid, "fork/x": layout.ErrInvalid, "a..b": layout.ErrInvalid, "code": layout.ErrConflict} {
		if _, err := Open(t.Context(), storetest.Inner(s), name, "", nil); !errors.Is(err, class) {
			t.Errorf("opening the branch %s says %v, want %v", name, err, class)
		}
	}
}

// A purge rewrites a tape; new entries do not. A text that is not a commit's id does not count as rewritten.
func TestWasRewritten(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	was := storetest.Checkpoint(t, m)
	want := func(commit string, rewritten bool) {
		t.Helper()
		if got, _, err := WasRewritten(storetest.InnerTape(m), commit); err != nil || got != rewritten {
			t.Errorf("%s was rewritten: %v, want %v, %v", commit, got, rewritten, err)
		}
	}
	storetest.Append(t, m, repo.Message("user", "more"))
	storetest.Checkpoint(t, m)
	want(was, false)
	want("of another version", false)
	storetest.Purge(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	want(was, true)
}
