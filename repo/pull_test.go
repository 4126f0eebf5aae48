package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"testing"
)

// published makes a remote with a tape that somebody else has gone on with, and fetches
// it. With both, the tape has gone on here, too: with a phase, and what is not committed.
func published(t *testing.T, s *Store, both bool) (remote string) {
	t.Helper()
	ctx, m := t.Context(), openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustHandoff(t, m, "second")
	remote = filepath.Join(t.TempDir(), "remote.git")
	runGit(t, s.Dir(), "init", "-q", "--bare", remote)
	mustDo(t, s.AddRemote(ctx, "origin", remote))
	mustPush(t, s, nil)
	other := mustClone(t, remote)
	theirs := openTape(t, other, "main")
	mustAppend(t, theirs, Message("user", "theirs"))
	mustHandoff(t, theirs, "third")
	mustAppend(t, theirs, Message("user", "theirs again"))
	mustPush(t, other, nil)
	if both {
		mustAppend(t, m, Message("user", "ours"))
		mustHandoff(t, m, "ours")
		mustAppend(t, m, Message("user", "ours again"))
	}
	_, err := s.Fetch(ctx, "origin", nil)
	mustDo(t, err)
	return remote
}

func joined(ctx context.Context, s *Store) error {
	status, err := join.Join(ctx, s.in(), "origin", "main")
	return errors.Join(err, status.Err)
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustPush(t testing.TB, s *Store, o *PushOptions) []RefStatus {
	t.Helper()
	done, err := s.Push(t.Context(), "origin", o)
	mustDo(t, err)
	for _, d := range done {
		mustDo(t, d.Err)
	}
	return done
}

func mustClone(t testing.TB, remote string) *Store {
	t.Helper()
	s, _, err := Clone(t.Context(), remote, filepath.Join(t.TempDir(), "clone"), &CloneOptions{Options: Options{Now: testkit.Clock}})
	mustDo(t, err)
	healthyAtEnd(t, s.Dir())
	return s
}

func saidIn(t *testing.T, tp *Tape) (out []string) {
	t.Helper()
	for _, e := range entriesOf(t, tp, Query{}) {
		switch e.Kind {
		case KindMessage:
			out = append(out, jsonl.GetString(e.Payload, "content"))
		case KindAnchor:
			out = append(out, "["+jsonl.GetString(e.Payload, "name")+"]")
		}
	}
	return out
}

// What is published keeps its place and its ids, what is only here follows.
func TestPullApart(t *testing.T) {
	s := testStore(t, nil)
	published(t, s, true)
	m := openTape(t, s, "main")
	before := entriesOf(t, m, Query{})
	status, err := join.Join(t.Context(), s.in(), "origin", "main")
	mustDo(t, err)
	if status.Status != RefMerged || status.Entries != 3 {
		t.Errorf("it says %+v", status)
	}
	want := []string{"[session/start]", "one", "[second]", "theirs", "[third]", "theirs again", "ours", "[ours]", "ours again"}
	if got := saidIn(t, m); !slices.Equal(got, want) {
		t.Errorf("the tape has %q, want %q", got, want)
	}
	after := entriesOf(t, m, Query{})
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
	tags := runGit(t, s.Dir(), "tag", "-l", "anchor/main/*")
	if want := "anchor/main/001_session-start\nanchor/main/002_second\nanchor/main/003_third\nanchor/main/004_ours"; tags != want {
		t.Errorf("tags are\n%swant\n%s", tags, want)
	}
	if out := runGit(t, s.Dir(), "status", "--porcelain"); out != "" {
		t.Errorf("git status says\n%s", out)
	}
	if done := mustPush(t, s, nil); len(done) != 1 || done[0].Status != RefFastForward {
		t.Errorf("the push after it: %+v", done)
	}
}

// A pull writes the files that have changed, and leaves the others as they are.
func TestPullKeepsFiles(t *testing.T) {
	for _, both := range []bool{false, true} {
		s := testStore(t, nil)
		published(t, s, both)
		first := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
		was, err := os.Stat(first)
		mustDo(t, err)
		mustDo(t, joined(t.Context(), s))
		is, err := os.Stat(first)
		mustDo(t, err)
		if !os.SameFile(was, is) || was.ModTime() != is.ModTime() {
			t.Errorf("both %v: a file that has not changed was written", both)
		}
		if again, err := join.Join(t.Context(), s.in(), "origin", "main"); err != nil || again.Status != RefUpToDate {
			t.Errorf("both %v: the second time it says %+v, %v", both, again, err)
		}
	}
}

// A tape that was begun on its own is taken over only where nothing would be lost.
func TestPullStrange(t *testing.T) {
	one := testStore(t, nil)
	published(t, one, false)
	remotes, err := one.Remotes(t.Context())
	mustDo(t, err)
	two := testStore(t, nil)
	mustDo(t, two.AddRemote(t.Context(), "origin", remotes[0].URL))
	_, err = two.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)
	m := openTape(t, two, "main")
	mustAppend(t, m, Message("user", "mine"))
	status, err := join.Join(t.Context(), two.in(), "origin", "main")
	mustDo(t, err)
	if status.Status != RefRejected || !errors.Is(status.Err, ErrConflict) || !strings.Contains(fmt.Sprint(Hints(status.Err)), "{put-behind-theirs [main main.jsonl]") {
		t.Fatalf("it says %+v", status)
	}
	if got := saidIn(t, m); !slices.Equal(got, []string{"[session/start]", "mine"}) {
		t.Errorf("the tape has %q", got)
	}
	_, err = m.Reset(t.Context(), true) // as the hint says
	mustDo(t, err)
	mustDo(t, joined(t.Context(), two))
	if got, want := saidIn(t, m), saidIn(t, openTape(t, one, "main")); len(got) <= len(want) || !slices.Contains(got, "theirs") {
		t.Errorf("the tape has %q", got)
	}
}

// A fork of entries that got other ids when the tape was pulled can still be merged, by
// whoever has it.
func TestPullThenMergeFork(t *testing.T) {
	s := testStore(t, nil)
	remote := published(t, s, true)
	m := openTape(t, s, "main")
	f := mustFork(t, m, "x", "")
	mustAppend(t, f, Message("user", "in the fork"))
	mustDo(t, joined(t.Context(), s))
	mustPush(t, s, &PushOptions{Forks: true})
	other := mustClone(t, remote)
	for _, at := range []*Store{other, s} {
		merged, err := join.Merge(t.Context(), openTape(t, at, "main/x").in(), join.Options{})
		mustDo(t, err)
		if merged.Merged != 1 || !merged.Closed {
			t.Errorf("the merge says %+v", merged)
		}
		if got := saidIn(t, openTape(t, at, "main")); got[len(got)-1] != "in the fork" || len(got) != 10 {
			t.Errorf("the tape has %q", got)
		}
	}
	// Both have merged it: that is once.
	mustPush(t, other, &PushOptions{Forks: true})
	_, err := s.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)
	mustDo(t, joined(t.Context(), s))
	if got := saidIn(t, m); len(got) != 10 {
		t.Errorf("the tape has %q", got)
	}
}

// A push that would take the place of what somebody else has pushed is rejected.
func TestPushRejected(t *testing.T) {
	s := testStore(t, nil)
	remote := published(t, s, true)
	has := runGit(t, remote, "for-each-ref")
	done, err := s.Push(t.Context(), "origin", nil)
	mustDo(t, err)
	if len(done) != 1 || done[0].Status != RefRejected || !strings.Contains(fmt.Sprint(Hints(done[0].Err)), "pull-then-push") {
		t.Errorf("it says %+v", done)
	}
	if now := runGit(t, remote, "for-each-ref"); now != has {
		t.Errorf("the remote has\n%s, had\n%s", now, has)
	}
}

// A clone is there whole, also in a folder that was there; one that fails leaves nothing.
func TestCloneInto(t *testing.T) {
	s := testStore(t, nil)
	remote := published(t, s, false)
	dir := t.TempDir()
	for _, into := range []string{"new", "deep/er/new", "empty"} {
		if into == "empty" {
			mustDo(t, os.Mkdir(filepath.Join(dir, into), 0o700))
		}
		c, out, err := Clone(t.Context(), remote, filepath.Join(dir, into), nil)
		mustDo(t, err)
		if got := saidIn(t, openTape(t, c, "main")); out.Tapes != 1 || !slices.Contains(got, "theirs") || c.Dir() != filepath.Join(dir, into) {
			t.Errorf("%s: %+v in %s, and the tape has %q", into, out, c.Dir(), got)
		}
		if out := runGit(t, c.Dir(), "status", "--porcelain"); out != "" {
			t.Errorf("%s: git status says\n%s", into, out)
		}
		healthy(t, c.Dir())
	}
	mustDo(t, os.Mkdir(filepath.Join(dir, "kept"), 0o700))
	for _, into := range []string{"bad/one", "kept"} {
		if _, _, err := Clone(t.Context(), filepath.Join(dir, "nowhere"), filepath.Join(dir, into), nil); err == nil {
			t.Errorf("%s: a clone of nothing works", into)
		}
	}
	if _, _, err := Clone(t.Context(), remote, filepath.Join(dir, "new"), nil); !errors.Is(err, ErrConflict) {
		t.Errorf("over another one: %v", err)
	}
	var names []string
	mustDo(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d.Name() == layout.GitDirName || d.Name() == layout.AnchorsDir {
			return filepath.SkipDir
		}
		if d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	if want := []string{"", "/deep", "/deep/er", "/deep/er/new", "/empty", "/kept", "/new"}; !slices.Equal(names, want) {
		t.Errorf("there is %q, want %q", names, want)
	}
}
