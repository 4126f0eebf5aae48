package join_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A merge only adds to the tape: files grow at their ends, unknown members keep their bytes, and phases get
// their tags.
func TestMergeKeepsBytes(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	x := storetest.Fork(t, m, "x", "build")
	odd := repo.Draft{Kind: "odd/kind", Payload: []byte(`{"n":1.50,  "z":"\u00e9", "a":[ ]}`), Meta: []byte(`{"k":1E3,"origin2":{}}`)}
	storetest.Append(t, x, odd, repo.Draft{Kind: repo.KindEvent, Payload: []byte(`{"name":"e"}`), Meta: []byte(`{ "x" : 0.0 }`)})
	storetest.Handoff(t, x, "found it")
	storetest.Append(t, x, storetest.Big(layout.SealSize, "long"), repo.Message("user", "next file"))
	storetest.Append(t, m, repo.Message("user", "five"))
	was := filesOf(t, s.Dir())
	stored := storetest.Entries(t, x, repo.Query{})[4:]
	got := storetest.Merge(t, x, join.Options{})
	if got.Merged != 5 || got.FirstID != 10 || got.LastID != 14 || !got.Closed || got.Into != "main" || got.Anchors != 1 {
		t.Errorf("the merge says %+v", got)
	}
	now := filesOf(t, s.Dir())
	for name, data := range was {
		if !bytes.HasPrefix(now[name], data) {
			t.Errorf("%s was changed", name)
		}
	}
	for i, e := range storetest.Entries(t, m, repo.Query{})[9:] {
		origin := fmt.Sprintf(`"origin":{"tape":"main","fork":"x","id":%d}`, i+5)
		want := bytes.Replace(stored[i].Raw, fmt.Appendf(nil, `{"id":%d,`, i+5), fmt.Appendf(nil, `{"id":%d,`, i+10), 1)
		if !bytes.Contains(e.Meta, []byte(origin)) {
			t.Errorf("entry %d has the meta %s", e.ID, e.Meta)
		}
		if !bytes.Equal(e.Payload, stored[i].Payload) || e.Date != stored[i].Date || e.Kind != stored[i].Kind {
			t.Errorf("entry %d is %.200s, was %.200s", e.ID, e.Raw, stored[i].Raw)
		}
		without := bytes.Replace(bytes.Replace(e.Raw, []byte(","+origin), nil, 1), []byte(origin), nil, 1)
		if !bytes.Equal(without, want) {
			t.Errorf("entry %d without its origin is\n%.200s, want\n%.200s", e.ID, without, want)
		}
	}
	storetest.WantTags(t, m)
	if parents := strings.Fields(storetest.Git(t, s.Dir(), "log", "-1", "--format=%P %s", "tape/main")); len(parents) != 6 || strings.Join(parents[2:], " ") != "merge: x (5 entries)" {
		t.Errorf("the newest commit is %q", parents)
	}
	storetest.WantClean(t, s.Dir())
}

func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(dir, layout.AnchorsDir), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path] = storetest.ReadFile(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Merging again adds nothing, and a fork may continue after a merge.
func TestMergeAgain(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	x := storetest.Fork(t, m, "x", "")
	if got := storetest.Merge(t, x, join.Options{Keep: true}); got.Merged != 0 || got.Commit != "" || got.Closed {
		t.Errorf("the merge of nothing says %+v", got)
	}
	base := "session/start one ran build two three test four"
	storetest.Append(t, x, repo.Message("user", "a"))
	head := storetest.Merge(t, x, join.Options{Keep: true}).Commit
	if got := storetest.Merge(t, x, join.Options{Keep: true}); got.Merged != 0 {
		t.Errorf("the second merge says %+v", got)
	}
	if got := storetest.Git(t, s.Dir(), "rev-parse", "tape/main"); got != head {
		t.Error("the second merge made a commit")
	}
	storetest.Append(t, m, repo.Message("user", "m"))
	storetest.Append(t, x, repo.Message("user", "b"))
	storetest.WantTexts(t, x, base+" a b")
	if got := storetest.Merge(t, x, join.Options{Keep: true, Summary: "b was tried"}); got.Merged != 1 {
		t.Errorf("the summary says %+v", got)
	}
	storetest.Append(t, x, repo.Message("user", "c"))
	storetest.Merge(t, x, join.Options{})
	storetest.WantTexts(t, m, base+" a m b was tried c")
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Status != repo.ForkMerged || closed[0].Entries != 3 {
		t.Errorf("closed forks are %+v, %v", closed, err)
	}
}

// Rewritten history is not merged, and the refusal changes nothing.
func TestMergeRewritten(t *testing.T) {
	for name, rewrite := range map[string]func(t *testing.T, s *repo.Store, m, x *repo.Tape){
		"the parent was reset": func(t *testing.T, _ *repo.Store, m, _ *repo.Tape) {
			if _, err := m.Reset(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		},
		"the parent was set back": func(t *testing.T, s *repo.Store, _, _ *repo.Tape) {
			storetest.Git(t, s.Dir(), "reset", "-q", "--hard", "HEAD~1")
		},
		"an entry of the parent was edited": func(t *testing.T, s *repo.Store, _, _ *repo.Tape) { editCommitted(t, s.Dir(), "two", "TWO") },
		"an entry of the base was edited in the fork": func(t *testing.T, _ *repo.Store, _, x *repo.Tape) {
			editCommitted(t, x.WorkTree(), "four", "FOUR")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := storetest.Tape(t, s, "main")
			storetest.Append(t, m, repo.Message("user", "one"))
			storetest.Handoff(t, m, "build")
			storetest.Append(t, m, repo.Message("user", "two"), repo.Message("user", "four"))
			storetest.Checkpoint(t, m)
			x := storetest.Fork(t, m, "x", "")
			storetest.Append(t, x, repo.Message("user", "own"))
			storetest.Checkpoint(t, x)
			rewrite(t, s, m, x)
			before := storetest.History(t, s.Dir())
			_, err = join.Merge(t.Context(), storetest.InnerTape(x), join.Options{})
			var rewritten *repo.RewrittenError
			if !errors.As(err, &rewritten) || !errors.Is(err, repo.ErrConflict) || len(repo.Hints(err)) == 0 {
				t.Fatalf("the merge says %v", err)
			}
			if rewritten.Base[0] == nil && rewritten.Base[1] == nil {
				t.Error("the error does not name an entry")
			}
			if after := storetest.History(t, s.Dir()); after != before {
				t.Errorf("refs have changed from\n%s\nto\n%s", before, after)
			}
			if err := x.Discard(t.Context()); err != nil {
				t.Errorf("discard after the refused merge: %v", err)
			}
		})
	}
}

// editCommitted changes a committed entry, and commits the change.
func editCommitted(t *testing.T, dir, old, with string) {
	t.Helper()
	path := filepath.Join(dir, layout.AnchorsDir, "002_build", "messages.jsonl")
	data := storetest.ReadFile(t, path)
	if !bytes.Contains(data, []byte(`"`+old+`"`)) {
		t.Fatalf("%s has no %s", path, old)
	}
	storetest.WriteFile(t, path, bytes.Replace(data, []byte(`"`+old+`"`), []byte(`"`+with+`"`), 1))
	if out, err := storetest.PlainGit(t, dir, "commit", "-q", "--no-verify", "-am", "edited"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
