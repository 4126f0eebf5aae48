package query_test

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// A working tree is removed file by file. Whoever reads a phase meanwhile gets all of it, from the commit.
func TestPhasesAreReadWholeWhileTheirTreeIsRemoved(t *testing.T) {
	t.Run("forward", func(t *testing.T) { readRemoved(t, repo.Query{}, "002_plan") })
	t.Run("backward", func(t *testing.T) { readRemoved(t, repo.Query{Reverse: true}, "001_session-start") })
	t.Run("the newest", func(t *testing.T) { readRemoved(t, repo.Query{Reverse: true, Tail: repo.N(4)}, "001_session-start") })
}

func readRemoved(t *testing.T, q repo.Query, phase string) {
	t.Helper()
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, tp, repo.Message("user", "one"))
	storetest.Handoff(t, tp, "plan")
	storetest.Append(t, tp, repo.Message("user", "two"), repo.Event("three", nil))
	storetest.Handoff(t, tp, "review")
	q.From, q.To = "session/start", "review"
	want := storetest.Lines(storetest.Entries(t, tp, q))

	next, stop := iter.Pull2(tp.Entries(t.Context(), q))
	defer stop()
	first, err, _ := next()
	storetest.Must(t, err)
	tree, stopped := tp.WorkTree(), errors.New("stopped")
	other, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Fs: &disk.FS{Fault: func(op disk.Op, path string) error {
		if op != disk.OpRemove || path != tree {
			return nil
		}
		return errors.Join(stopped, os.Remove(filepath.Join(tree, "anchors", phase, "messages.jsonl")))
	}}})
	storetest.Must(t, err)
	sameTape, err := other.Tape(t.Context(), "other")
	storetest.Must(t, err)
	err = writer.Locked(t.Context(), storetest.InnerTape(sameTape), func(w *writer.Writer) error { return w.DropTree(t.Context()) })
	storetest.WantIs(t, err, stopped)

	got := []repo.Entry{first}
	for e, err, ok := next(); ok; e, err, ok = next() {
		storetest.Must(t, err)
		got = append(got, e)
	}
	if lines := storetest.Lines(got); !slices.Equal(lines, want) {
		t.Errorf("the reader got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	storetest.Must(t, writer.Locked(t.Context(), storetest.InnerTape(tp), func(*writer.Writer) error { return nil }))
}
