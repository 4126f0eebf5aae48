package merge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/merge"
	"tape/repo"
)

// Several clones of one remote work on the same tapes and on each other's forks, and pull and push in
// any order. In the end all have the same history, byte for byte. It has everything that was recorded,
// once and in order.
func TestSoakClones(t *testing.T) {
	for range testkit.Size(1, 1) {
		x := newCloneSim(t, testkit.Random(t))
		for n := range testkit.Size(30, 1000) {
			if what, err := x.step(); err != nil {
				t.Fatalf("step %d: %s: %v", n, what, err)
			}
		}
		x.converge()
		x.check()
	}
}

type cloneSim struct {
	*testing.T
	rng    *rand.Rand
	remote string
	clones []*repo.Store
	count  int
	said   map[string][]string // the messages of each clone to each tape or fork, by "CLONE in TAPE"
}

func newCloneSim(t *testing.T, rng *rand.Rand) *cloneSim {
	x := &cloneSim{T: t, rng: rng, remote: filepath.Join(t.TempDir(), "remote.git"), said: map[string][]string{}}
	if out, err := exec.Command("git", "init", "-q", "--bare", x.remote).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "c0"), nil)
	x.ok(err)
	x.ok(first.AddRemote(t.Context(), "origin", x.remote))
	_, err = first.Push(t.Context(), "origin", nil)
	x.ok(err)
	x.clones = []*repo.Store{first}
	for i := range 2 {
		s, _, err := repo.Clone(t.Context(), x.remote, filepath.Join(t.TempDir(), fmt.Sprint("c", i+1)), nil)
		x.ok(err)
		x.clones = append(x.clones, s)
	}
	return x
}

func (x *cloneSim) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// step lets one clone make a change.
func (x *cloneSim) step() (string, error) {
	ctx, i := x.Context(), x.rng.IntN(len(x.clones))
	s := x.clones[i]
	tapes, err1 := s.Tapes(ctx)
	forks, err2 := s.Forks(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return "list", err
	}
	t := slices.Concat(tapes, tapes, forks)[x.rng.IntN(2*len(tapes)+len(forks))]
	what := fmt.Sprintf("clone %d, %s", i, t.Name())
	x.count++
	switch n := x.rng.IntN(20); {
	case n < 7:
		text := fmt.Sprintf("%d says %d", i, x.count)
		_, err := t.Append(ctx, nil, repo.Message("user", text))
		key := fmt.Sprintf("%d in %s", i, t.Name())
		x.said[key] = append(x.said[key], text)
		return what + ": append", err
	case n < 9:
		_, err := t.Handoff(ctx, repo.Anchor{Name: fmt.Sprint("phase-", x.rng.IntN(3))})
		return what + ": handoff", err
	case n == 9 && len(tapes) < 3:
		name := fmt.Sprintf("tape-%d", x.count)
		_, err := s.CreateTape(ctx, name)
		return what + ": new " + name, err
	case n < 12 && len(forks) < 6:
		_, err := t.Fork(ctx, fmt.Sprintf("f%d", x.count))
		return what + ": fork", err
	case n == 12 && t.IsFork():
		_, err := merge.BackWith(ctx, t, merge.Options{Keep: x.rng.IntN(3) == 0})
		return what + ": merge", err
	case n < 16:
		return what + ": push", x.push(s)
	case n == 16:
		_, err := s.GC(ctx, nil)
		return what + ": gc", err
	default:
		return what + ": pull", x.pull(s)
	}
}

func (x *cloneSim) push(s *repo.Store) error {
	done, err := s.Push(x.Context(), "origin", &repo.PushOptions{Forks: x.rng.IntN(2) == 0})
	for _, d := range done {
		if d.Status == repo.RefRejected && !strings.Contains(fmt.Sprint(repo.Hints(d.Err)), "pull-then-push") && !strings.Contains(d.Err.Error(), "was not pushed") {
			return d.Err
		}
	}
	return err
}

func (x *cloneSim) pull(s *repo.Store) error {
	done, err := merge.Pull(x.Context(), s, "origin", nil)
	for _, d := range done {
		if d.Status == repo.RefRejected {
			return fmt.Errorf("%s: %w", d.Tape, d.Err)
		}
	}
	return err
}

// converge merges all forks, and lets everybody pull and push until nothing changes.
func (x *cloneSim) converge() {
	x.Helper()
	for range 4 {
		for i, s := range x.clones {
			if err := x.pull(s); err != nil {
				x.Fatalf("clone %d: pull: %v", i, err)
			}
			forks, err := s.Forks(x.Context())
			x.ok(err)
			slices.Reverse(forks) // forks of forks first
			for _, f := range forks {
				if children, err := f.Forks(x.Context()); err != nil || len(children) > 0 {
					x.ok(err)
					continue
				}
				if _, err := merge.Back(x.Context(), f); err != nil {
					x.Fatalf("clone %d: merge %s: %v", i, f.Name(), err)
				}
			}
			done, err := s.Push(x.Context(), "origin", &repo.PushOptions{All: true})
			x.ok(err)
			for _, d := range done {
				if d.Status == repo.RefRejected {
					x.Fatalf("clone %d: push: %v", i, d.Err)
				}
			}
		}
	}
	for _, s := range x.clones {
		x.ok(x.pull(s))
	}
}

// check compares the clones, and looks for everything that was recorded.
func (x *cloneSim) check() {
	x.Helper()
	ctx := x.Context()
	refs := make([]string, len(x.clones))
	for i, s := range x.clones {
		out, err := exec.Command("git", "-C", s.Dir(), "for-each-ref", "refs/heads", "refs/tags").CombinedOutput()
		x.ok(err)
		refs[i] = string(out)
		if refs[i] != refs[0] {
			x.Errorf("clone %d has other refs than clone 0:\n%s\n%s", i, refs[i], refs[0])
		}
		report, err := s.Verify(ctx)
		x.ok(err)
		for _, p := range report.Problems {
			x.Errorf("clone %d: %v", i, p)
		}
	}
	for i, s := range x.clones {
		forks, err := s.Forks(ctx)
		x.ok(err)
		for _, f := range forks {
			x.Errorf("clone %d still has the fork %s", i, f.Name())
		}
	}
	where := map[string][]int{} // text -> positions, in all tapes
	tapes, err := x.clones[0].Tapes(ctx)
	x.ok(err)
	at := 0
	for _, t := range tapes {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			x.ok(err)
			at++
			var p struct{ Content string }
			if e.Kind == repo.KindMessage {
				x.ok(json.Unmarshal(e.Payload, &p))
				where[p.Content] = append(where[p.Content], at)
			}
		}
	}
	for who, texts := range x.said {
		last := 0
		for _, text := range texts {
			if n := len(where[text]); n != 1 {
				x.Errorf("%q of clone %s is there %d times, want once", text, who, n)
				continue
			}
			if where[text][0] < last {
				x.Errorf("%q of clone %s is out of order", text, who)
			}
			last = where[text][0]
		}
	}
}
