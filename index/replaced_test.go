package index

import (
	"math/rand/v2"
	"testing"

	"tape/repo"
)

// TestReplacedWithItsFork: adding a fork to the index may bring its parent up to date before the parent's turn.
func TestReplacedWithItsFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 0)))
	main, err := w.s.Tape(t.Context(), repo.DefaultTape)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, main, repo.Message("user", "one"))
	mustHandoff(t, main, "base")
	fork, err := main.Fork(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, fork, repo.Message("user", "in the fork"))
	mustSync(t, w.x)
	// cut undoes a commit that the index has read, and appends a text instead.
	cut := func(text string) {
		mustAppend(t, main, repo.Message("user", "taken back"))
		dir := w.tree(main)
		mustSearch(t, w.x, Search{Text: "back", Tapes: named(main)})
		runGit(t, dir, "reset", "-q", "--hard", "HEAD~1")
		runGit(t, dir, "clean", "-q", "-f", "-d", "anchors")
		mustAppend(t, main, repo.Message("user", text))
	}
	cut("two")
	mustSearch(t, w.x, Search{Text: "two", Tapes: named(main)}) // the row of main now has a higher number than the fork's row
	cut("three")
	mustAppend(t, fork, repo.Message("user", "more in the fork"))
	w.compare(5)
	if warnings := w.warn.take(); len(warnings) > 0 {
		t.Errorf("got the warnings %q, want none", warnings)
	}
}
