package forks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

// A fork has its tape's entries up to the point where it begins, however that is named.
func TestForkPoints(t *testing.T) {
	all := strings.Fields("session/start one ran build two three test four")
	for at, entries := range map[string]int{
		"": 8, "latest": 7, "test": 7, "build": 4, "002": 4, "003_test": 7, "anchor/main/002_build": 4,
		"refs/tags/anchor/main/001_session-start": 1, "@1": 1, "@2": 2, "@3": 3, "@4": 4, "@5": 5, "@6": 6, "@7": 7, "@8": 8,
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s, m := storetest.ForkedTape(t)
			head := storetest.Git(t, s.Dir(), "rev-parse", "tape/main")
			f := storetest.Fork(t, m, "x", at)
			storetest.WantTexts(t, f, strings.Join(all[:entries], " "))
			storetest.WantTexts(t, m, strings.Join(all, " "))
			b, err := f.Base(t.Context())
			if err != nil || b.Entry != int64(entries) || b.Parent != "main" || b.Start != storetest.Git(t, s.Dir(), "rev-parse", f.Branch()) {
				t.Errorf("the base is %+v, %v; want entry %d of main", b, err, entries)
			}
			if got := storetest.Git(t, s.Dir(), "rev-parse", "tape/main"); (got != head) != (entries == 8) {
				t.Errorf("main is at %s, was at %s: it must move only if the fork begins at its end", got, head)
			}
			if got := storetest.Git(t, s.Dir(), "merge-base", f.Branch(), "tape/main"); got != b.Commit {
				t.Errorf("git sees the fork begin at %s, not at %s", got, b.Commit)
			}
			storetest.WantClean(t, f.WorkTree())
			storetest.Append(t, f, repo.Message("user", "own"))
			storetest.Handoff(t, f, "done")
			storetest.WantClean(t, f.WorkTree())
			storetest.WantTexts(t, f, strings.Join(all[:entries], " ")+" own done")
			storetest.Merge(t, f, join.Options{})
			storetest.WantTexts(t, m, strings.Join(all, " ")+" own done")
		})
	}
}

// What is impossible is refused with its class of error and a way out, and changes nothing.
func TestForkErrors(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	storetest.Checkpoint(t, m)
	x := storetest.Fork(t, m, "x", "")
	storetest.Fork(t, x, "y", "")
	if _, err := s.CreateTape(t.Context(), "main/taken"); err != nil {
		t.Fatal(err)
	}
	before := storetest.History(t, s.Dir())
	fork := func(tp *repo.Tape, name, at string) error { _, err := tp.ForkAt(t.Context(), name, at); return err }
	merge := func(tp *repo.Tape) error {
		_, err := join.Merge(t.Context(), storetest.InnerTape(tp), join.Options{})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want error
		hint bool
	}{
		"the name is taken":         {fork(m, "x", ""), repo.ErrConflict, true},
		"a tape has the name":       {fork(m, "taken", ""), repo.ErrConflict, true},
		"a slash":                   {fork(m, "a/b", ""), repo.ErrInvalid, true},
		"no name":                   {fork(m, "", ""), repo.ErrInvalid, false},
		"not UTF-8":                 {fork(m, "\xff", ""), repo.ErrInvalid, false},
		"no such anchor":            {fork(m, "z", "nothing"), repo.ErrNotFound, true},
		"no such entry":             {fork(m, "z", "@99"), repo.ErrNotFound, true},
		"entry 0":                   {fork(m, "z", "@0"), repo.ErrInvalid, true},
		"not an entry":              {fork(m, "z", "@x"), repo.ErrInvalid, true},
		"merge of a tape":           {merge(m), repo.ErrInvalid, true},
		"discard of a tape":         {m.Discard(t.Context()), repo.ErrInvalid, true},
		"discard, and it has forks": {x.Discard(t.Context()), repo.ErrConflict, true},
		"base of a tape":            {func() error { _, err := m.Base(t.Context()); return err }(), repo.ErrInvalid, true},
		"no such fork":              {func() error { _, err := s.Tape(t.Context(), "main/none"); return err }(), repo.ErrNotFound, true},
		"a tape of a fork's name":   {func() error { _, err := s.CreateTape(t.Context(), "main/x"); return err }(), repo.ErrConflict, true},
		"nothing to continue":       {func() error { _, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m)); return err }(), repo.ErrNotFound, true},
		"nothing to abort":          {join.AbortMerge(t.Context(), storetest.InnerTape(m)), repo.ErrNotFound, true},
	} {
		storetest.WantIs(t, c.err, c.want)
		if c.err != nil && c.hint && len(repo.Hints(c.err)) == 0 {
			t.Errorf("%s: no hint: %v", name, c.err)
		}
	}
	if after := storetest.History(t, s.Dir()); after != before {
		t.Errorf("refs have changed from\n%s\nto\n%s", before, after)
	}
}

// Forks with awkward names are found by these names, and leave nothing behind.
func TestForkNames(t *testing.T) {
	t.Parallel()
	s, m := storetest.ForkedTape(t)
	storetest.Checkpoint(t, m)
	before := storetest.History(t, s.Dir())
	for _, name := range storetest.AwkwardNames() {
		if strings.Contains(name, "/") || len("main/"+name) > 4096 {
			continue
		}
		f, err := m.Fork(t.Context(), name)
		if err != nil {
			t.Errorf("%.60q: %v", name, err)
			continue
		}
		again := storetest.Tape(t, s, "main/"+name)
		if !again.IsFork() || again.ForkName() != name || again.Parent() != "main" || again.Branch() != f.Branch() {
			t.Errorf("%.60q is found as %.60q, a fork of %q", name, again.ForkName(), again.Parent())
		}
		storetest.Append(t, again, repo.Message("user", "own"))
		if err := again.Discard(t.Context()); err != nil {
			t.Errorf("%.60q: %v", name, err)
		}
	}
	if after := storetest.History(t, s.Dir()); after != before {
		t.Errorf("refs have changed from\n%s\nto\n%s", before, after)
	}
}

// leftOf lists what might be left of a fork.
func leftOf(t *testing.T, s *repo.Store) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, storetest.Git(t, s.Dir(), "for-each-ref", "--format=%(refname)"), "\n", storetest.Git(t, s.Dir(), "worktree", "list"))
	for _, dir := range []string{filepath.Join(s.Dir(), ".git", "tape"), filepath.Join(s.Dir(), ".git", "worktrees"), filepath.Join(s.Dir(), ".git", "logs", "refs"), filepath.Join(s.Dir(), layout.ForksDir)} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil && path != dir && filepath.Base(path) != "seals" && filepath.Base(path) != "worktrees.lock" && path != filepath.Join(s.Dir(), layout.ForksDir, "main") {
				fmt.Fprintln(&b, path)
			}
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Only git's reflog keeps anything of a discarded fork.
func TestDiscardLeavesNothing(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	storetest.Checkpoint(t, m)
	before := leftOf(t, s)
	x := storetest.Fork(t, m, "x", "build")
	storetest.Append(t, x, repo.Message("user", "own"), storetest.Big(layout.SealSize, "a"), repo.Message("user", "own"))
	storetest.Handoff(t, x, "third")
	storetest.Append(t, x, repo.Message("user", "not committed"))
	if _, err := s.Switch(t.Context(), "main/x"); err != nil {
		t.Fatal(err)
	}
	if err := x.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := leftOf(t, s); strings.Join(withoutEmpty(after), "\n") != strings.Join(withoutEmpty(before), "\n") {
		t.Errorf("there is\n%s\nbefore there was\n%s", after, before)
	}
	if got := s.CurrentTape(); got != "main" {
		t.Errorf("the current tape is %q, want main", got)
	}
	log := storetest.Git(t, s.Dir(), "reflog", "show", "--format=%gs", "tape/main")
	if lines := strings.Split(log, "\n"); lines[1] != "tape: discard x (5 entries)" || lines[0] != "tape: back to main" {
		t.Errorf("the reflog says\n%s", log)
	}
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Status != repo.ForkDiscarded || closed[0].Entries != 5 || closed[0].Name != "main/x" {
		t.Fatalf("closed forks are %+v, %v", closed, err)
	}
	if got := storetest.Git(t, s.Dir(), "show", closed[0].Commit+":anchors/003_third/messages.jsonl"); !strings.Contains(got, "not committed") {
		t.Errorf("its last entry is lost: %s", got)
	}
	storetest.Append(t, storetest.Fork(t, m, "x", ""), repo.Message("user", "the name is free"))
}

func withoutEmpty(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// Several forks of one tape, and forks of these, can be merged in any order.
func TestForksOfForks(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	x, y := storetest.Fork(t, m, "x", ""), storetest.Fork(t, m, "y", "test")
	storetest.Append(t, x, repo.Message("user", "x1"))
	z := storetest.Fork(t, x, "z", "")
	if z.Name() != "main/x/z" || z.Parent() != "main/x" {
		t.Errorf("the fork of a fork is %q of %q", z.Name(), z.Parent())
	}
	storetest.Append(t, y, repo.Message("user", "y1"))
	storetest.Append(t, z, repo.Message("user", "z1"))
	storetest.Append(t, x, repo.Message("user", "x2"))
	storetest.Merge(t, y, join.Options{})
	storetest.Merge(t, x, join.Options{})
	if _, err := s.Switch(t.Context(), "main/x/z"); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Merge(t, z, join.Options{}); got.Into != "main" {
		t.Errorf("merged into %q, want main, because the parent is gone", got.Into)
	}
	if got := s.CurrentTape(); got != "main" {
		t.Errorf("the current tape is %q, want main", got)
	}
	storetest.WantTexts(t, m, "session/start one ran build two three test four y1 x1 x2 z1")
	last := storetest.Entries(t, m, repo.Query{Tail: repo.N(1)})[0]
	if got := string(jsonl.Get(last.Meta, "origin")); got != `{"tape":"main","fork":"x/z","id":10}` {
		t.Errorf("its origin is %s", got)
	}
}

// A tape with a slash in its name keeps that name in entries merged from its forks.
func TestForkOfSlashedTape(t *testing.T) {
	s := storetest.New(t, nil)
	m, err := s.CreateTape(t.Context(), "team/shop")
	if err != nil {
		t.Fatal(err)
	}
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "own"))
	if x.Parent() != "team/shop" || x.ForkName() != "x" {
		t.Errorf("%q is the fork %q of %q", x.Name(), x.ForkName(), x.Parent())
	}
	storetest.Merge(t, x, join.Options{})
	if got := string(storetest.Entries(t, m, repo.Query{Tail: repo.N(1)})[0].Meta); got != `{"origin":{"tape":"team/shop","fork":"x","id":2}}` {
		t.Errorf("its meta is %s", got)
	}
}
