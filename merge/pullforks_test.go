package merge_test

import (
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
	"tape/merge"
	"tape/repo"
)

// As long as the merge of a fork cannot be pushed, forks of that fork are not pushed either.
// Otherwise somebody would get a fork without its base.
func TestPushForkOfMerged(t *testing.T) {
	url, forks := gitjudge.Bare(t), repo.PushOptions{Forks: true}
	ann := begins(t, url)
	ann.forks("main", "x")
	ann.pushes("main new, main/x new", forks)
	bob := clones(t, url)
	bob.says("main", "bob")
	bob.pushes("main fast_forward", repo.PushOptions{})

	ann.says("main/x", "x")
	ann.forks("main/x", "y")
	ann.forks("main/x/y", "z")
	ann.says("main/x/y", "y")
	ann.merges("main/x", "main")
	for _, d := range ann.pushes("main rejected, main/x/y rejected, main/x/y/z rejected", forks) {
		if d.Tape == "main/x/y" && !strings.Contains(d.Err.Error(), `"main", from which it was forked, was not pushed`) {
			t.Errorf("main/x/y is rejected with %v, want that main, from which it was forked, was not pushed", d.Err)
		}
	}

	// Once ann has pulled, her merge and the forks can be pushed. Bob has continued main/x, and can
	// merge all of them.
	bob.says("main/x", "bob's x")
	ann.pulls("main merged", false)
	ann.pushes("main fast_forward, main/x deleted, main/x/y new, main/x/y/z new", forks)
	bob.pulls("main fast_forward, main/x/y new, main/x/y/z new", false)
	bob.heard("main", "bob", "x")
	bob.merges("main/x/y/z", "main/x/y")
	bob.merges("main/x/y", "main")
	bob.merges("main/x", "main")
	bob.pushes("main fast_forward, main/x/y deleted, main/x/y/z deleted", forks)
	ann.pulls("main fast_forward, main/x/y deleted, main/x/y/z deleted", false)
	for _, u := range []*user{ann, bob} {
		u.heard("main", "bob", "x", "y", "bob's x")
		sound(t, u.s.Dir())
	}
}

// A fork of a fork that was closed with nothing to merge stays closed when its parent is closed as
// well.
func TestPullForkOfClosed(t *testing.T) {
	url, forks := gitjudge.Bare(t), repo.PushOptions{Forks: true}
	ann := begins(t, url)
	ann.forks("main", "x")
	ann.forks("main/x", "nothing")
	ann.forks("main/x", "bad")
	ann.says("main/x/bad", "not good")
	ann.says("main/x", "x")
	ann.pushes("main new, main/x new, main/x/bad new, main/x/nothing new", forks)
	ann.merges("main/x/nothing", "main/x")
	ann.ok(ann.tape("main/x/bad").Discard(t.Context()))
	ann.merges("main/x", "main")
	ann.pulls("", false)
	ann.pushes("main fast_forward, main/x deleted, main/x/nothing deleted", forks)
	ann.pulls("", false)
	if open, err := ann.s.Forks(t.Context()); err != nil || len(open) > 0 {
		t.Errorf("%d forks are open (%v), want none", len(open), err)
	}
	ann.heard("main", "x")
	sound(t, ann.s.Dir())
}

func (u *user) forks(of, name string) {
	u.Helper()
	_, err := u.tape(of).Fork(u.Context(), name)
	u.ok(err)
}

// merges fails unless a fork is merged into something, and closed.
func (u *user) merges(fork, into string) {
	u.Helper()
	r, err := merge.Back(u.Context(), u.tape(fork))
	u.ok(err)
	if r.Into != into || !r.Closed {
		u.Errorf("the merge of %s returns %+v, want it closed into %s", fork, r, into)
	}
}
