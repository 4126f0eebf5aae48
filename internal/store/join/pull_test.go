package join_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// Published entries keep their place and ids; local ones follow.
func TestPullDiverged(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Published(t, s, true)
	m := storetest.Tape(t, s, "main")
	before := storetest.Entries(t, m, repo.Query{})
	status, err := join.Join(t.Context(), storetest.Inner(s), "origin", "main")
	storetest.Must(t, err)
	if status.Status != repo.RefMerged || status.Entries != 3 {
		t.Errorf("the pull says %+v", status)
	}
	want := []string{"[session/start]", "one", "[second]", "theirs", "[third]", "theirs again", "ours", "[ours]", "ours again"}
	if got := storetest.Said(t, m); !slices.Equal(got, want) {
		t.Errorf("the tape has %q, want %q", got, want)
	}
	after := storetest.Entries(t, m, repo.Query{})
	for i, e := range after {
		if e.ID != int64(i+1) {
			t.Errorf("entry %d has the id %d", i+1, e.ID)
		}
	}
	for i := range 3 { // ours
		was, is := before[len(before)-3+i], after[len(after)-3+i]
		if !bytes.Equal(was.Payload, is.Payload) || was.Date != is.Date || !bytes.Contains(is.Meta, []byte(`"origin"`)) {
			t.Errorf("%s became %s", was.Raw, is.Raw)
		}
	}
	tags := storetest.Git(t, s.Dir(), "tag", "-l", "anchor/main/*")
	if want := "anchor/main/001_session-start\nanchor/main/002_second\nanchor/main/003_third\nanchor/main/004_ours"; tags != want {
		t.Errorf("tags are\n%swant\n%s", tags, want)
	}
	if out := storetest.Git(t, s.Dir(), "status", "--porcelain"); out != "" {
		t.Errorf("git status says\n%s", out)
	}
	if done := storetest.Push(t, s, nil); len(done) != 1 || done[0].Status != repo.RefFastForward {
		t.Errorf("the push after the pull says %+v", done)
	}
}

// A pull writes the files that have changed, and no others.
func TestPullKeepsFiles(t *testing.T) {
	for _, both := range []bool{false, true} {
		s := storetest.New(t, nil)
		storetest.Published(t, s, both)
		first := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
		was, err := os.Stat(first)
		storetest.Must(t, err)
		storetest.Must(t, storetest.Join(t.Context(), s))
		is, err := os.Stat(first)
		storetest.Must(t, err)
		if !os.SameFile(was, is) || was.ModTime() != is.ModTime() {
			t.Errorf("diverged %v: a file that has not changed was written", both)
		}
		if again, err := join.Join(t.Context(), storetest.Inner(s), "origin", "main"); err != nil || again.Status != repo.RefUpToDate {
			t.Errorf("diverged %v: the second pull says %+v, %v", both, again, err)
		}
	}
}

// An unrelated tape is accepted only if nothing would be lost.
func TestPullUnrelated(t *testing.T) {
	one := storetest.New(t, nil)
	storetest.Published(t, one, false)
	remotes, err := one.Remotes(t.Context())
	storetest.Must(t, err)
	two := storetest.New(t, nil)
	storetest.Must(t, two.AddRemote(t.Context(), "origin", remotes[0].URL))
	_, err = two.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	m := storetest.Tape(t, two, "main")
	storetest.Append(t, m, repo.Message("user", "mine"))
	status, err := join.Join(t.Context(), storetest.Inner(two), "origin", "main")
	storetest.Must(t, err)
	if status.Status != repo.RefRejected || !errors.Is(status.Err, repo.ErrConflict) || !strings.Contains(fmt.Sprint(repo.Hints(status.Err)), "{put-after-theirs [main main.jsonl]") {
		t.Fatalf("the pull says %+v", status)
	}
	if got := storetest.Said(t, m); !slices.Equal(got, []string{"[session/start]", "mine"}) {
		t.Errorf("after the refused pull, the tape has %q", got)
	}
	_, err = m.Reset(t.Context(), true) // as the hint says
	storetest.Must(t, err)
	storetest.Must(t, storetest.Join(t.Context(), two))
	if got, want := storetest.Said(t, m), storetest.Said(t, storetest.Tape(t, one, "main")); len(got) <= len(want) || !slices.Contains(got, "theirs") {
		t.Errorf("the tape has %q, want %q and ours after them", got, want)
	}
}

// A branch there that is of another tape is refused with one message; damage is not called that.
func TestPullNamedWrongly(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Published(t, s, false)
	ref := layout.AcceptedRefs("origin") + layout.InnerRef("refs/heads/tape/other")
	storetest.Git(t, s.Dir(), "update-ref", ref, "HEAD")
	status, err := join.Join(t.Context(), storetest.Inner(s), "origin", "other")
	storetest.Must(t, err)
	if status.Status != repo.RefRejected || !errors.Is(status.Err, repo.ErrConflict) || strings.Contains(status.Err.Error(), "\n") || len(repo.Hints(status.Err)) != 1 {
		t.Errorf("the pull says %+v, with the hints %v", status, repo.Hints(status.Err))
	}
	commit := storetest.Git(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "no tape", storetest.Git(t, s.Dir(), "mktree"))
	storetest.Git(t, s.Dir(), "update-ref", ref, commit)
	_, err = join.Join(t.Context(), storetest.Inner(s), "origin", "other")
	storetest.WantIs(t, err, repo.ErrCorrupt)
}

// A fork of entries that were renumbered by a pull can still be merged, by anybody who has it.
func TestPullThenMergeFork(t *testing.T) {
	s := storetest.New(t, nil)
	remote := storetest.Published(t, s, true)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "in the fork"))
	storetest.Must(t, storetest.Join(t.Context(), s))
	storetest.Push(t, s, &repo.PushOptions{Forks: true})
	other := storetest.Clone(t, remote)
	for _, at := range []*repo.Store{other, s} {
		merged, err := join.Merge(t.Context(), storetest.InnerTape(storetest.Tape(t, at, "main/x")), join.Options{})
		storetest.Must(t, err)
		if merged.Merged != 1 || !merged.Closed {
			t.Errorf("the merge says %+v", merged)
		}
		if got := storetest.Said(t, storetest.Tape(t, at, "main")); got[len(got)-1] != "in the fork" || len(got) != 10 {
			t.Errorf("the tape has %q, want 10 entries, and the fork's last", got)
		}
	}
	// Both have merged the fork: its entries are there once.
	storetest.Push(t, other, &repo.PushOptions{Forks: true})
	_, err := s.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	storetest.Must(t, storetest.Join(t.Context(), s))
	if got := storetest.Said(t, m); len(got) != 10 {
		t.Errorf("the tape has %q, want 10 entries", got)
	}
}
