package join_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"time"
)

// byHand appends a line with an editor and commits it with git.
func (x *forkSim) byHand(ctx context.Context) (string, error) {
	t := x.pick(anything)
	tp := x.tape(t)
	dir := tp.WorkTree()
	if dir == "" {
		return x.append(ctx)
	}
	// First clean up what a killed process left: this step does not test that.
	if err := join.WithMergesCompleted(ctx, func() error {
		return writer.Write(ctx, storetest.InnerTape(tp), func(*writer.Writer) error { return nil })
	}); err != nil {
		return "write nothing to " + t.name, err
	}
	what := "commit by hand in " + t.name
	text := fmt.Sprint("by hand ", x.next())
	storetest.HandLine(x.t, dir, len(t.entries)+1, text)
	t.entries = append(t.entries, &simEntry{kind: repo.KindMessage, text: text})
	if out, err := storetest.PlainGit(x.t, dir, "add", layout.AnchorsDir); err != nil {
		return what, fmt.Errorf("git add: %w\n%s", err, out)
	}
	out, err := storetest.PlainGit(x.t, dir, "commit", "-q", "-m", "by hand")
	if err != nil {
		return what, fmt.Errorf("git commit: %w\n%s", err, out)
	}
	t.committed = len(t.entries)
	storetest.WantClean(x.t, dir)
	return what, nil
}

// mergePair chooses a fork and one of its ancestors to merge it into with git.
func (x *forkSim) mergePair() (into, f *simTape) {
	f = x.pick(isFork)
	if f == nil {
		return nil, nil
	}
	into = x.w.target(f)
	if isFork(into) && x.rng.IntN(3) == 0 {
		into = x.w.target(into)
	}
	if !x.w.mergeable(into, f) {
		return nil, nil
	}
	return into, f
}

// brings reports whether a merge would add entries. It does not change the model.
func (w forkWorld) brings(into, f *simTape) bool {
	return w.merge(into.clone(), f, f.committed, "") > 0
}

// gitMerge merges a fork's branch with git, which may stop at a conflict. Uncommitted entries of the tape come
// after the merged ones, or before them after a conflict.
func (x *forkSim) gitMerge(ctx context.Context) (string, error) {
	into, f := x.mergePair()
	if into == nil {
		return x.append(ctx)
	}
	tp, ft := x.tape(into), x.tape(f)
	dir := tp.WorkTree()
	if dir == "" {
		return x.append(ctx)
	}
	what := fmt.Sprintf("git merge %s into %s, %d uncommitted", f.name, into.name, into.uncommitted())
	if err := join.WithMergesCompleted(ctx, func() error {
		return writer.Write(ctx, storetest.InnerTape(tp), func(*writer.Writer) error { return nil })
	}); err != nil {
		return what, err
	}
	before := storetest.Git(x.t, x.s.Dir(), "rev-parse", tp.Branch())
	out, err := storetest.PlainGit(x.t, dir, "merge", "--no-ff", "-q", "-m", "by hand", ft.Branch())
	if _, statErr := os.Stat(x.mergeHead(dir)); statErr == nil {
		what += ", conflict"
		if _, err := storetest.Collect(ctx, tp, repo.Query{}); err != nil {
			return what, fmt.Errorf("read while git merges: %w", err)
		}
		if x.rng.IntN(4) == 0 {
			into.committed = len(into.entries)
			return what + ", abort", join.AbortMerge(ctx, storetest.InnerTape(tp))
		}
		if _, err := join.ContinueMerge(ctx, storetest.InnerTape(tp)); err != nil {
			return what, err
		}
		x.w.merge(into, f, f.committed, "")
		into.committed = len(into.entries)
		storetest.WantClean(x.t, dir)
		return what, nil
	}
	if err != nil && strings.Contains(out, "would be overwritten") {
		return what + ", refused by git", nil
	}
	if err != nil {
		return what, fmt.Errorf("%w: %s", err, out)
	}
	if after := storetest.Git(x.t, x.s.Dir(), "rev-parse", tp.Branch()); after == before {
		return what + ", up to date", nil
	}
	x.w.mergedByGit(into, f)
	return what, nil
}

func (x *forkSim) mergeHead(dir string) string {
	path := storetest.Git(x.t, dir, "rev-parse", "--git-path", "MERGE_HEAD")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// mergedByGit applies a merge commit by git to the model: uncommitted entries come last.
func (w forkWorld) mergedByGit(into, f *simTape) {
	uncommitted := slices.Clone(into.entries[into.committed:])
	at := into.committed
	into.entries = into.entries[:at:at]
	if w.merge(into, f, f.committed, "") == 0 {
		into.recordMerge(f, f.committed, repo.ForkMerged)
		into.entries = append(into.entries, uncommitted...)
		into.committed = -1 // they are committed if the files that git made had to be completed
		return
	}
	for i, e := range uncommitted {
		into.entries = append(into.entries, e.renumbered(into.name, at+i+1))
	}
	into.committed = len(into.entries)
}

// hostMerge moves the branch to a merge commit, as a host's merge button does.
func (x *forkSim) hostMerge(ctx context.Context) (string, error) {
	into, f := x.mergePair()
	if into == nil {
		return x.append(ctx)
	}
	tp, ft := x.tape(into), x.tape(f)
	what, err := x.pressButton(tp, ft, into, f)
	if err != nil {
		return what, err
	}
	if x.coin() {
		err = join.Complete(ctx, storetest.InnerTape(tp))
	}
	return what, err
}

func (x *forkSim) pressButton(tp, ft *repo.Tape, into, f *simTape) (string, error) {
	what := fmt.Sprintf("host merges %s into %s, %d uncommitted", f.name, into.name, into.uncommitted())
	tree := tp.Branch()
	dir := tp.WorkTree()
	err := join.WithMergesCompleted(x.t.Context(), func() error { // git may have merged into this tape before
		return writer.Write(x.t.Context(), storetest.InnerTape(tp), func(*writer.Writer) error { return nil })
	})
	if err != nil {
		return what, err
	}
	theirs := into.uncommitted() == 0 && isTape(into) && x.coin()
	if into.uncommitted() > 0 && !x.w.brings(into, f) {
		_, _, err := tp.Checkpoint(x.t.Context())
		into.committed = len(into.entries)
		return what + ", checkpoint only", err
	}
	if theirs {
		what += ", their tree"
		tree = ft.Branch()
	}
	commit, err := storetest.PlainGit(x.t, x.s.Dir(), "commit-tree", tree+"^{tree}", "-p", tp.Branch(), "-p", ft.Branch(), "-m", "Merge branch")
	if err != nil {
		return what, fmt.Errorf("%w: %s", err, commit)
	}
	storetest.Git(x.t, x.s.Dir(), "update-ref", "refs/heads/"+tp.Branch(), commit)
	if theirs && dir != "" {
		storetest.Git(x.t, dir, "reset", "-q", "--hard")
	}
	x.w.mergedByGit(into, f)
	return what, nil
}

// kill starts a process that makes a change, and kills it: the state is the one before, the one after, or a
// valid one in between.
func (x *forkSim) kill(ctx context.Context) (string, error) {
	var t *simTape
	var candidates []forkWorld
	old := x.w.clone()
	mode, arg := "", ""
	var at string
	var entries int
	switch x.rng.IntN(5) {
	case 0:
		t = x.pick(anything)
		mode, arg = "fork-append", fmt.Sprint("killed ", x.next())
	case 1:
		t = x.pick(anything)
		at, entries = x.point(t)
		mode, arg = "fork-make", "k "+at
		if x.w.tapes[t.name+"/k"] == nil && x.orphans(t.name+"/k") {
			return x.append(ctx)
		}
		if x.w.tapes[t.name+"/k"] == nil {
			w := x.w.clone()
			x.forked(w, t, "k", at, entries)
			candidates = append(candidates, w)
		}
	case 2:
		t = x.pick(isFork)
		mode = "fork-discard"
		if t != nil && len(x.w.forks(t.name)) == 0 {
			w := x.w.clone()
			w.discard(w.tapes[t.name])
			candidates = append(candidates, w)
			if up, _, _ := layout.CutFork(t.name); old.tapes[up] != nil {
				old.tapes[up].unsure = map[int]bool{t.number: true}
			}
		}
	case 3:
		t = x.pick(isFork)
		mode = "fork-merge"
		if t != nil && x.w.mergeable(x.w.target(t), t) {
			for _, closed := range []bool{false, true} {
				w := x.w.clone()
				f := w.tapes[t.name]
				w.merge(w.target(f), f, len(f.entries), "")
				if closed {
					w.close(f)
				}
				candidates = append(candidates, w)
			}
		}
	case 4:
		into, f := x.mergePair()
		if into == nil {
			return x.append(ctx)
		}
		t = into
		what, err := x.pressButton(x.tape(into), x.tape(f), into, f)
		if err != nil {
			return what, err
		}
		old = x.w.clone()
		mode = "fork-read"
	}
	if t == nil {
		return x.append(ctx)
	}
	what := fmt.Sprintf("kill %s %s %q", mode, t.name, arg)
	p := storetest.Start(x.t, x.s.Dir(), mode+" "+t.name+"\n"+arg, 1)
	select {
	case <-p.First:
	case <-p.Done:
		return what, fmt.Errorf("the helper ended by itself: %s", p.Errs.String())
	}
	testkit.Pause(time.Duration(x.rng.ExpFloat64() * float64(testkit.Size(8, 12)) * float64(time.Millisecond)))
	_ = p.Cmd.Process.Kill()
	<-p.Done
	_ = p.Cmd.Wait()
	if _, err := storetest.Inner(x.s).Git().RecoverLocks(ctx); err != nil {
		return what, err
	}
	if mode == "fork-append" {
		return what, x.adopt(ctx, t, arg, len(p.Acked)-1)
	}
	candidates = append(candidates, old)
	// Like git, we delete the reflog of a branch before the branch. If the branch is still there, it has
	// forgotten what was discarded from it.
	if tp, err := x.s.Tape(ctx, t.name); err == nil && isFork(t) {
		log, err := storetest.Inner(x.s).Git().Reflog(storetest.InnerTape(tp).Ref())
		if err != nil {
			return what, err
		}
		for _, w := range candidates {
			if f := w.tapes[t.name]; f != nil && len(log) == 0 {
				f.discards = nil
			}
		}
	}
	return what, x.findState(ctx, candidates)
}

// adopt adds to the model what a killed process appended. That must include what the process acknowledged.
func (x *forkSim) adopt(ctx context.Context, t *simTape, text string, acked int) error {
	got, err := storetest.Collect(ctx, storetest.Tape(x.t, x.s, t.name), repo.Query{})
	if err != nil {
		return err
	}
	x.touched = append(x.touched, t.name)
	if len(got) < len(t.entries)+acked {
		return fmt.Errorf("%d entries were acknowledged, but only %d were added to the former %d", acked, len(got)-len(t.entries), len(t.entries))
	}
	for i, e := range got[len(t.entries):] {
		if have, want := simulated(e), fmt.Sprintf("%s #%d", text, i); have.text != want {
			return fmt.Errorf("entry %d is %s, want %q", e.ID, e.Raw, want)
		}
		t.entries = append(t.entries, simulated(e))
	}
	return nil
}

// findState finds out which of several states the workspace is in.
func (x *forkSim) findState(ctx context.Context, candidates []forkWorld) error {
	var all error
	for _, w := range candidates {
		for _, t := range w.tapes {
			t.committed = -1
		}
		err := x.compareAll(ctx, w)
		if err == nil {
			x.w = w
			return nil
		}
		all = fmt.Errorf("%w\n%w", orNone(all), err)
	}
	return fmt.Errorf("the workspace is in none of %d states: %w", len(candidates), all)
}

func (x *forkSim) compareAll(ctx context.Context, w forkWorld) error {
	forks, err := x.s.Forks(ctx)
	if err != nil {
		return err
	}
	open := 0
	for _, name := range w.names() {
		if err := w.compare(ctx, x.s, name); err != nil {
			return err
		}
		if isFork(w.tapes[name]) {
			open++
		}
	}
	if len(forks) != open {
		return fmt.Errorf("there are %d forks, want %d", len(forks), open)
	}
	return nil
}
