package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// PushRef is one ref that a remote is to get.
type PushRef struct {
	Name string
	New  gitstore.Hash // zero: it is deleted there
	Old  gitstore.Hash // what the remote must hold now of one that is deleted
}

// PushStatus is what became of a ref of a push.
type PushStatus string

// The ends that a pushed ref can come to.
const (
	PushedNew         PushStatus = "new"
	PushedFastForward PushStatus = "fast_forward"
	PushedDeleted     PushStatus = "deleted"
	PushUpToDate      PushStatus = "up_to_date"
	PushRejected      PushStatus = "rejected"
)

// PushResult is what became of one ref of a push.
type PushResult struct {
	Name   string
	Status PushStatus
	Reason string // in words, where it was rejected; what a hook of the remote said is in it
}

func isRejected(r PushResult) bool { return r.Status == PushRejected }

// errNoAtomic says that a remote cannot take several refs as one.
var errNoAtomic = errors.New("the remote does not support atomic pushes")

// Push sends refs to a remote (a name, or an address) in groups, each of which is set
// whole or not at all, and returns what became of each ref, in the same order. Nothing is
// forced: a branch moves forward, a tag that the remote has stays, and a ref is deleted
// only if it holds what it should. A remote that cannot set several refs at once gets the first ref of
// each group before the others.
//
// A rejected ref is no error. Errors: ErrNoGit, ErrAuth, ErrRemote; ErrNotFound without a remote of
// that name; the context's error. Groups that went before an error stay.
func Push(ctx context.Context, r *gitstore.Repo, remote string, groups [][]PushRef, o Options) ([][]PushResult, error) {
	m, err := approach(ctx, r, remote, true)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		for _, ref := range group {
			if err := gitstore.CheckRefName(ref.Name); err != nil {
				return nil, err
			}
			if ref.New.IsZero() && ref.Old.IsZero() {
				return nil, fmt.Errorf("%s is to be deleted, and it is not said what it holds", ref.Name)
			}
		}
	}
	send := func(ctx context.Context, refs []PushRef, atomic bool) ([]PushResult, error) {
		return gitPush(ctx, r, m, refs, atomic, o)
	}
	p := &push{send: send, results: map[string]PushResult{}}
	if err := p.chunks(ctx, groups); err != nil {
		return nil, err
	}
	return p.all(), nil
}

// maxPushRefs bounds the refs of one push: the remote locks them all at one time. With each
// push it reads all refs that it has, so that many small ones take longer.
const maxPushRefs = 20_000

// push sends groups and remembers what became of each ref.
type push struct {
	send    func(ctx context.Context, refs []PushRef, atomic bool) ([]PushResult, error)
	order   [][]PushRef
	results map[string]PushResult
	splits  int // pushes made to find out which of several groups is in the way
}

// maxSplits bounds the search for the groups that a remote refuses without saying which.
const maxSplits = 64

// chunks sends groups, as many at a time as a remote may be asked for.
func (p *push) chunks(ctx context.Context, groups [][]PushRef) error {
	for len(groups) > 0 {
		n, size := 0, 0
		for n < len(groups) && (n == 0 || size+len(groups[n]) <= maxPushRefs) {
			size += len(groups[n])
			n++
		}
		err := p.chunk(ctx, groups[:n])
		if errors.Is(err, errNoAtomic) {
			err = p.plain(ctx, groups[:n])
		}
		if err != nil {
			return err
		}
		p.order = append(p.order, groups[:n]...)
		groups = groups[n:]
	}
	return nil
}

// chunk sends groups as one, and again without those that are rejected.
func (p *push) chunk(ctx context.Context, groups [][]PushRef) error {
	for len(groups) > 0 {
		results, err := p.send(ctx, slices.Concat(groups...), true)
		if err != nil {
			return err
		}
		guilty := p.note(results)
		if len(guilty) == 0 && !slices.ContainsFunc(results, isRejected) {
			return nil
		}
		rest := slices.DeleteFunc(slices.Clone(groups), func(g []PushRef) bool { return isGuilty(g, guilty) })
		if len(rest) == len(groups) || len(rest) == 0 {
			return p.split(ctx, groups)
		}
		p.excuse(groups, guilty)
		groups = rest
	}
	return nil
}

// split tries the halves of groups that were all refused, as a hook does that is asked
// once for all of them.
func (p *push) split(ctx context.Context, groups [][]PushRef) error {
	if p.splits++; len(groups) == 1 || p.splits > maxSplits {
		for _, g := range groups {
			p.excuse([][]PushRef{g}, nil)
		}
		return nil
	}
	half := len(groups) / 2
	if err := p.chunk(ctx, groups[:half]); err != nil {
		return err
	}
	return p.chunk(ctx, groups[half:])
}

// PushCollateral is the reason of a ref that was refused only because another one was.
const PushCollateral = "another ref of the same push was rejected"

// note keeps results, and returns the refs that are rejected for reasons of their own.
func (p *push) note(results []PushResult) (guilty map[string]bool) {
	guilty = map[string]bool{}
	for _, r := range results {
		p.results[r.Name] = r
		if r.Status == PushRejected && r.Reason != PushCollateral {
			guilty[r.Name] = true
		}
	}
	return guilty
}

func isGuilty(group []PushRef, guilty map[string]bool) bool {
	return slices.ContainsFunc(group, func(ref PushRef) bool { return guilty[ref.Name] })
}

// excuse marks the refs that did not go because another one of their group did not.
func (p *push) excuse(groups [][]PushRef, guilty map[string]bool) {
	for _, g := range groups {
		if guilty != nil && !isGuilty(g, guilty) {
			continue
		}
		for _, ref := range g {
			if r := p.results[ref.Name]; r.Status != PushRejected && r.Status != PushUpToDate {
				p.results[ref.Name] = PushResult{Name: ref.Name, Status: PushRejected, Reason: PushCollateral}
			}
		}
	}
}

// plain sends to a remote that sets each ref by itself: what a group stands on first, and
// the rest of it where that was taken.
func (p *push) plain(ctx context.Context, groups [][]PushRef) error {
	var first, rest []PushRef
	for _, g := range groups {
		if len(g) > 0 {
			first = append(first, g[0])
		}
	}
	results, err := p.send(ctx, first, false)
	if err != nil {
		return err
	}
	guilty := p.note(results)
	for _, g := range groups {
		if len(g) > 0 && !guilty[g[0].Name] {
			rest = append(rest, g[1:]...)
		}
	}
	p.excuse(groups, guilty)
	if len(rest) == 0 {
		return nil
	}
	if results, err = p.send(ctx, rest, false); err != nil {
		return err
	}
	p.note(results)
	return nil
}

func (p *push) all() [][]PushResult {
	out := make([][]PushResult, len(p.order))
	for i, g := range p.order {
		out[i] = make([]PushResult, len(g))
		for k, ref := range g {
			out[i][k] = p.results[ref.Name]
			out[i][k].Name = ref.Name
		}
	}
	return out
}

// Target is what a push meets with at a remote.
type Target struct {
	Refs []gitstore.Ref // sorted by name
	// Headless: it is a path, and its HEAD names a branch that it does not have, see
	// [SetRemoteHead].
	Headless bool
}

// FindTarget returns the refs of a remote that begin with one of prefixes, as a push to it
// finds them: where it is pushed to, which need not be where it is fetched from. An error
// if that is more than one place. Nothing is changed.
func FindTarget(ctx context.Context, r *gitstore.Repo, remote string, prefixes []string, o Options) (Target, error) {
	m, err := approach(ctx, r, remote, true)
	if err != nil {
		return Target{}, err
	}
	address, other, err := pushesTo(ctx, r, m, o)
	if err != nil {
		return Target{}, err
	}
	if other {
		m, err = approach(ctx, r, address, true)
	} else if err = CheckURL(address); err == nil { // which git may read from odd settings in another way than we do
		err = checkServed(ctx, r, address, true)
	}
	if err != nil {
		return Target{}, err
	}
	var t Target
	if answersPushes(address) {
		t.Refs, err = gitPushRefs(ctx, r, m, o)
		t.Refs = below(t.Refs, prefixes)
	} else {
		t.Refs, _, err = LsRemote(ctx, r, m.gitName(), prefixes, o)
	}
	if dir, ok := localDir(r, address); ok && err == nil {
		t.Headless = headless(dir)
	}
	return t, err
}

// headless reports whether HEAD of the repository at a path names a branch that is not there.
func headless(dir string) bool {
	r, err := openLocal(dir)
	if err != nil {
		return false // git can use it, and keeps it in another way than is known here
	}
	_, h, err := r.Head(r.GitDir())
	return err == nil && h.IsZero()
}

// pushesTo returns where pushes to a remote go, and whether that is not where it is fetched
// from. An error if there are several.
func pushesTo(ctx context.Context, r *gitstore.Repo, m Remote, o Options) (address string, other bool, err error) {
	if m.Name == "" {
		return m.pushTo(), m.pushTo() != m.URL, nil
	}
	out, err := runGit(ctx, r, gitRun{options: o}, "remote", "-v")
	if err != nil {
		return "", false, err
	}
	var fetch string
	var push []string
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name != m.Name {
			continue
		}
		if url, ok := strings.CutSuffix(rest, " (push)"); ok {
			push = append(push, url)
		} else if i := strings.LastIndex(rest, " (fetch)"); i >= 0 {
			fetch = rest[:i]
		}
	}
	if len(push) != 1 {
		return "", false, fmt.Errorf("%w: %s has %d addresses to push to; give each a remote of its own", ErrRemote, m.Name, len(push))
	}
	return push[0], push[0] != fetch, nil
}
