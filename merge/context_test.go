package merge_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/merge"
	"tape/repo"
	"tape/repo/view"
)

// In random histories of forks, forks of forks, merges, merges by git and pulls, a context has
// exactly the entries that no anchor's writer had seen. It is equal in every clone.
func TestSoakContexts(t *testing.T) {
	x := &contextSim{cloneSim: newCloneSim(t, testkit.Random(t)), seen: map[string][]string{}}
	for n := range testkit.Size(40, 500) {
		if what, err := x.step(); err != nil {
			t.Fatalf("step %d: %s: %v", n, what, err)
		}
	}
	x.converge()
	x.sameEverywhere()
}

// contextSim records what the writer of each anchor had seen.
type contextSim struct {
	*cloneSim
	seen  map[string][]string // by anchor: the names of the entries before it on the tape where it was written
	steps []string
	// loose: a fork began between two entries of one merge. For anchors among such entries, the
	// fork does not record what their writers had seen. So a context may have too much.
	loose bool
}

func nameOf(e repo.Entry) string {
	if e.Kind == repo.KindAnchor {
		return "[" + e.Anchor + "]"
	}
	return messageText(e)
}

func (x *contextSim) names(t *repo.Tape) (all []string) {
	for e, err := range t.Entries(x.Context(), repo.Query{}) {
		x.ok(err)
		all = append(all, nameOf(e))
	}
	return all
}

// wants returns the names of the entries that the context of a tape must have.
func (x *contextSim) wants(t *repo.Tape) []string {
	all, last := x.names(t), 0
	covered := map[string]bool{}
	for i, name := range all {
		if name[0] == '[' {
			last = i
			for _, seen := range x.seen[name] {
				covered[seen] = true
			}
		}
	}
	before := slices.DeleteFunc(slices.Clone(all[:last]), func(name string) bool { return covered[name] })
	return slices.Concat(all[last:last+1], before, all[last+1:])
}

func (x *contextSim) check(t *repo.Tape) error {
	var got []string
	for e, err := range t.Context(x.Context()) {
		if err != nil {
			return err
		}
		got = append(got, nameOf(e))
	}
	want := x.wants(t)
	missing := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(got, name) })
	if len(missing) > 0 || !x.loose && !slices.Equal(got, want) {
		return fmt.Errorf("the context of %s has\n%q, not\n%q: it lacks %q\n%s\n%s", t.Name(), got, want, missing, x.names(t), strings.Join(x.steps, "\n"))
	}
	return nil
}

// step lets one clone make a change, and checks the contexts of its tapes.
func (x *contextSim) step() (string, error) {
	ctx, i := x.Context(), x.rng.IntN(len(x.clones))
	s := x.clones[i]
	main, err := s.Tape(ctx, "main")
	x.ok(err)
	forks, err := s.Forks(ctx)
	x.ok(err)
	t := append(forks, main, main)[x.rng.IntN(len(forks)+2)]
	x.count++
	what := fmt.Sprintf("clone %d, %s: ", i, t.Name())
	switch n := x.rng.IntN(24); {
	case n < 8:
		what += fmt.Sprint("says ", x.count)
		_, err = t.Append(ctx, nil, repo.Message("user", fmt.Sprint(x.count)))
	case n < 12:
		name := fmt.Sprint("a", x.count)
		what += "anchor " + name
		x.seen["["+name+"]"] = x.names(t)
		_, err = t.Handoff(ctx, repo.Anchor{Name: name})
	case n < 15 && len(forks) < 6:
		what += x.fork(t, fmt.Sprint("f", x.count))
	case n < 19 && t.IsFork():
		var more string
		more, err = x.merge(s, t)
		what += more
	case n < 21:
		what += "push"
		err = x.push(s)
	case n < 23:
		what += "pull"
		err = x.pull(s)
	default:
		_, _, err = t.Checkpoint(ctx)
	}
	x.steps = append(x.steps, what)
	if err != nil {
		return what, err
	}
	forks, err = s.Forks(ctx)
	x.ok(err)
	for _, t := range append(forks, main) {
		if err := x.check(t); err != nil {
			return what, err
		}
	}
	return what, nil
}

// fork begins a fork at the end of a tape, or at an earlier entry.
func (x *contextSim) fork(t *repo.Tape, name string) string {
	at := ""
	if all := x.names(t); x.rng.IntN(3) == 0 {
		id := 1 + x.rng.IntN(len(all))
		at = fmt.Sprint("@", id)
		merged := 0 // of the entries beside the fork's beginning, those from other tapes
		for e, err := range t.Entries(x.Context(), repo.Query{}) {
			x.ok(err)
			if (int(e.ID) == id || int(e.ID) == id+1) && jsonl.Get(e.Meta, "origin") != nil {
				merged++
			}
		}
		x.loose = x.loose || merged == 2
	}
	_, err := t.ForkAt(x.Context(), name, at)
	x.ok(err)
	return "fork " + name + " " + at
}

func (x *contextSim) merge(s *repo.Store, f *repo.Tape) (string, error) {
	ctx := x.Context()
	switch x.rng.IntN(6) {
	case 0:
		_, err := merge.BackWith(ctx, f, merge.Options{Summary: fmt.Sprint("summary ", x.count), Keep: x.rng.IntN(2) == 0})
		return "merge a summary", err
	case 1:
		return "merge and keep", x.back(f, merge.Options{Keep: true})
	case 2, 3:
		into, err := s.Tape(ctx, f.Parent())
		if err != nil {
			return "no parent", nil
		}
		return "git merge " + f.Name() + " into " + into.Name(), byGit(ctx, into, f)
	}
	if children, err := f.Forks(ctx); err != nil || len(children) > 0 {
		return "has forks", err
	}
	return "merge", x.back(f, merge.Options{})
}

func (x *contextSim) back(f *repo.Tape, o merge.Options) error {
	_, err := merge.BackWith(x.Context(), f, o)
	return err
}

// byGit merges with plain git. The next command completes the merge.
func byGit(ctx context.Context, into, f *repo.Tape) error {
	for _, t := range []*repo.Tape{into, f} {
		if _, _, err := t.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if into.WorkTree() == "" {
		return nil
	}
	out, err := exec.Command("git", "-C", into.WorkTree(), "-c", "user.name=x", "-c", "user.email=x@example.org", "merge", "--no-ff", "-q", "--no-edit", f.Branch()).CombinedOutput()
	if err != nil && strings.Contains(string(out), "CONFLICT") {
		_, err = merge.Continue(ctx, into)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// sameEverywhere compares the contexts of the clones and of a fresh clone.
func (x *contextSim) sameEverywhere() {
	x.Helper()
	fresh, _, err := repo.Clone(x.Context(), x.remote, x.TempDir(), nil)
	x.ok(err)
	var first string
	for i, s := range append(x.clones, fresh) {
		t, err := s.Tape(x.Context(), "main")
		x.ok(err)
		x.ok(x.check(t))
		c, err := view.Build(x.Context(), t, view.Options{})
		x.ok(err)
		if i == 0 {
			first = string(c.JSON())
		}
		if string(c.JSON()) != first {
			x.Errorf("clone %d has the context\n%s, clone 0 has\n%s", i, c.JSON(), first)
		}
	}
}
