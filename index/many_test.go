package index

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/repo"
)

// TestManyTapes: a search in all tapes notices changes that git or an editor made to one of them.
func TestManyTapes(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	const n = 12
	for i := range n {
		tp := newTape(t, s, fmt.Sprintf("t%d", i))
		mustAppend(t, tp, repo.Message("user", fmt.Sprintf("needle%d", i)))
		if _, _, err := tp.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.GC(t.Context(), &repo.GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
		t.Fatal(err)
	}
	// want searches with a new Store, as a new process does.
	want := func(what, word string, tapes ...string) {
		t.Helper()
		fresh, warned := reopen(t, s.Dir())
		var got []string
		for _, h := range mustSearch(t, testIndex(t, fresh), Search{Text: word}).Hits {
			got = append(got, h.Tape)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != fmt.Sprint(tapes) {
			t.Errorf("%s: %s is found in %q, want %q", what, word, got, tapes)
		}
		if list := warned.take(); len(list) > 0 {
			t.Errorf("%s: got the warnings %q, want none", what, list)
		}
	}
	git := func(args ...string) string { return strings.TrimSpace(runGit(t, s.Dir(), args...)) }
	isFresh := func(what string) {
		t.Helper()
		if st, err := testIndex(t, s).Status(t.Context()); err != nil || !st.Fresh() {
			t.Errorf("%s: the index is %s (%v), want fresh", what, st.State, err)
		}
	}
	add := func(dir, line string) {
		t.Helper()
		path := filepath.Join(dir, "anchors", "001_session-start", "messages.jsonl")
		writeFile(t, path, append(readFile(t, path), line+"\n"...))
	}
	line := func(id int, word string) string {
		return fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":%q},"meta":{},"date":"2026-01-01T00:00:00.000000+00:00"}`, id, word)
	}
	want("at first", "needle3", "t3")

	// commit commits by hand: in a working tree that git adds and removes again.
	commit := func(tape string, id int, word string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "by-hand")
		git("worktree", "add", "-q", dir, "tape/"+tape)
		add(dir, line(id, word))
		runGit(t, dir, "commit", "-q", "-a", "-m", "by hand")
		git("worktree", "remove", dir)
	}
	commit("t3", 3, "moved")
	want("a ref moved by git", "moved", "t3")
	git("pack-refs", "--all")
	isFresh("packed")
	want("packed", "moved", "t3")
	commit("t4", 3, "again")
	git("pack-refs", "--all")
	want("moved and packed", "again", "t4")
	git("update-ref", "refs/heads/tape/t4", "refs/heads/tape/t4~1")
	want("rewound", "again")
	want("rewound", "needle4", "t4")
	git("pack-refs", "--all")
	git("branch", "-q", "-D", "tape/t5")
	git("tag", "-d", "anchor/t5/001_session-start")
	want("deleted", "needle5")
	want("deleted", "needle6", "t6")
	git("update-ref", "refs/heads/tape/other", "refs/heads/tape/t7")
	want("a new branch", "needle7", "other", "t7")
	git("update-ref", "-d", "refs/heads/tape/other")
	want("gone again", "needle7", "t7")

	dir := filepath.Join(t.TempDir(), "t8")
	git("worktree", "add", "-q", dir, "tape/t8")
	want("checked out", "needle8", "t8")
	add(dir, line(3, "edited"))
	want("a working tree edited by hand", "edited", "t8")
	runGit(t, dir, "checkout", "-q", ".")
	want("put back", "edited")
	want("put back", "needle8", "t8")
	mustAppend(t, openTape(t, s, "t9"), repo.Message("user", "appended"))
	want("appended", "appended", "t9")
}
