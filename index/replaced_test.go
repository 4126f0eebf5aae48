package index

import (
	"math/rand/v2"
	"testing"

	"tape/repo"
)

// TestReplacedWithItsFork: adding a fork may bring its parent up to date before the parent's turn.
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
	// cut has the index know a commit, which then is taken back.
	cut := func(text string) {
		mustAppend(t, main, repo.Message("user", "taken back"))
		dir := w.tree(main)
		mustSearch(t, w.x, Search{Text: "back", Tapes: named(main)})
		runGit(t, dir, "reset", "-q", "--hard", "HEAD~1")
		runGit(t, dir, "clean", "-q", "-f", "-d", "anchors")
		mustAppend(t, main, repo.Message("user", text))
	}
	cut("two")
	mustSearch(t, w.x, Search{Text: "two", Tapes: named(main)}) // its number is now after the fork's
	cut("three")
	mustAppend(t, fork, repo.Message("user", "more in the fork"))
	w.compare(5)
	if told := w.warn.take(); len(told) > 0 {
		t.Error(told)
	}
}
