package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// PushRef is a ref to be set or deleted at a remote.
type PushRef struct {
	Name string
	New  gitstore.Hash // zero: delete it
	Old  gitstore.Hash // to delete or replace: the value that the remote must have
	// Replace allows New even if it does not continue Old.
	Replace bool
}

// PushStatus says what a push did with a ref.
type PushStatus string

// The outcomes of a push.
const (
	PushedNew         PushStatus = "new"
	PushedFastForward PushStatus = "fast_forward" // or replaced, if that was allowed
	PushedDeleted     PushStatus = "deleted"
	PushUpToDate      PushStatus = "up_to_date"
	PushRejected      PushStatus = "rejected"
)

// PushResult is the outcome for one ref of a push.
type PushResult struct {
	Name   string
	Status PushStatus
	Reason string // why it was rejected, with the words of the remote's hook
}

func isRejected(r PushResult) bool { return r.Status == PushRejected }

// errNoAtomic says that a remote cannot set several refs at once.
var errNoAtomic = errors.New("the remote does not support atomic pushes")

// Push sends refs to a remote (a name, or an address) in groups, each of which is set completely or
// not at all, and returns the outcome for each ref, in the same order. Nothing is forced: a branch
// moves forward, a tag that the remote has stays, and a ref is deleted or replaced only if it has the value Old.
// A remote that cannot set several refs at once gets the first ref of each group before the others;
// there, some refs of a group may be set and others rejected.
//
// A rejected ref is not an error. Errors: ErrNoGit, ErrAuth, ErrRemote; ErrNotFound if no remote has
// that name; the context's error. Groups that were sent before an error stay sent.
func Push(ctx context.Context, r *gitstore.Repo, remote string, groups [][]PushRef, o Options) ([][]PushResult, error) {
	m, err := resolveRemote(ctx, r, remote, true)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		for _, ref := range group {
			if err := gitstore.CheckRefName(ref.Name); err != nil {
				return nil, err
			}
			if ref.New.IsZero() && ref.Old.IsZero() {
				return nil, fmt.Errorf("delete %s: its old value is missing", ref.Name)
			}
		}
	}
	send := func(ctx context.Context, refs []PushRef, atomic bool) ([]PushResult, error) {
		return gitPush(ctx, r, m, refs, atomic, o)
	}
	p := &push{send: send, results: map[string]PushResult{}}
	if err := p.sendAll(ctx, groups); err != nil {
		return nil, err
	}
	return p.all(), nil
}

// maxPushRefs limits the refs of one push, because the remote locks all of them at the same time. Smaller
// pushes would take longer: with each the remote reads all its refs.
const maxPushRefs = 20_000

// push sends groups and collects the outcome for each ref.
type push struct {
	send    func(ctx context.Context, refs []PushRef, atomic bool) ([]PushResult, error)
	order   [][]PushRef
	results map[string]PushResult
	splits  int // pushes made to find out which of several groups is rejected
}

// maxSplits limits the search for the groups that a remote rejects without saying which.
const maxSplits = 64

// sendAll sends the groups, as many at a time as maxPushRefs allows.
func (p *push) sendAll(ctx context.Context, groups [][]PushRef) error {
	for len(groups) > 0 {
		n, size := 0, 0
		for n < len(groups) && (n == 0 || size+len(groups[n]) <= maxPushRefs) {
			size += len(groups[n])
			n++
		}
		err := p.sendAtomic(ctx, groups[:n])
		if errors.Is(err, errNoAtomic) {
			err = p.sendEach(ctx, groups[:n])
		}
		if err != nil {
			return err
		}
		p.order = append(p.order, groups[:n]...)
		groups = groups[n:]
	}
	return nil
}

// sendAtomic sends groups in one push, and again without those that are rejected.
func (p *push) sendAtomic(ctx context.Context, groups [][]PushRef) error {
	for len(groups) > 0 {
		results, err := p.send(ctx, slices.Concat(groups...), true)
		if err != nil {
			return err
		}
		rejected := p.note(results)
		if len(rejected) == 0 && !slices.ContainsFunc(results, isRejected) {
			return nil
		}
		rest := slices.DeleteFunc(slices.Clone(groups), func(g []PushRef) bool { return hasAny(g, rejected) })
		if len(rest) == len(groups) || len(rest) == 0 {
			return p.split(ctx, groups)
		}
		p.reject(groups, rejected)
		groups = rest
	}
	return nil
}

// split sends each half of groups that were all rejected, for example by a hook that runs once for all.
func (p *push) split(ctx context.Context, groups [][]PushRef) error {
	if p.splits++; len(groups) == 1 || p.splits > maxSplits {
		p.reject(groups, nil)
		return nil
	}
	half := len(groups) / 2
	if err := p.sendAtomic(ctx, groups[:half]); err != nil {
		return err
	}
	return p.sendAtomic(ctx, groups[half:])
}

// PushCollateral is the reason of a ref that was rejected only because of another one.
const PushCollateral = "another ref of the same push was rejected"

// note stores results, and returns the refs that were rejected for reasons of their own.
func (p *push) note(results []PushResult) (rejected map[string]bool) {
	rejected = map[string]bool{}
	for _, r := range results {
		p.results[r.Name] = r
		if r.Status == PushRejected && r.Reason != PushCollateral {
			rejected[r.Name] = true
		}
	}
	return rejected
}

func hasAny(group []PushRef, rejected map[string]bool) bool {
	return slices.ContainsFunc(group, func(ref PushRef) bool { return rejected[ref.Name] })
}

// reject marks the refs that were not set because another one of their group was rejected. If rejected is
// nil, it marks those of all groups.
func (p *push) reject(groups [][]PushRef, rejected map[string]bool) {
	for _, g := range groups {
		if rejected != nil && !hasAny(g, rejected) {
			continue
		}
		for _, ref := range g {
			if r := p.results[ref.Name]; r.Status != PushRejected && r.Status != PushUpToDate {
				p.results[ref.Name] = PushResult{Name: ref.Name, Status: PushRejected, Reason: PushCollateral}
			}
		}
	}
}

// sendEach is for a remote that sets each ref by itself: it sends the first ref of each group, on
// which the others depend, then the rest of the groups whose first was accepted.
func (p *push) sendEach(ctx context.Context, groups [][]PushRef) error {
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
	rejected := p.note(results)
	for _, g := range groups {
		if len(g) > 0 && !rejected[g[0].Name] {
			rest = append(rest, g[1:]...)
		}
	}
	p.reject(groups, rejected)
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

// Target is the state of a remote that is pushed to.
type Target struct {
	Refs []gitstore.Ref // sorted by name
	// Headless: the remote is a path, and its HEAD names a branch that it does not have; see
	// [SetRemoteHead].
	Headless bool
}

// FindTarget looks at the repository that pushes to a remote go to, which may not be the one that
// fetches come from. It returns the refs there that begin with one of prefixes, and changes nothing.
// A remote with several addresses to push to is an error.
func FindTarget(ctx context.Context, r *gitstore.Repo, remote string, prefixes []string, o Options) (Target, error) {
	m, err := resolveRemote(ctx, r, remote, true)
	if err != nil {
		return Target{}, err
	}
	address, other, err := pushesTo(ctx, r, m, o)
	if err != nil {
		return Target{}, err
	}
	if other {
		m, err = resolveRemote(ctx, r, address, true)
	} else if err = CheckURL(address); err == nil { // git may read unusual settings in another way than we do
		err = checkServed(ctx, r, address, true)
	}
	if err != nil {
		return Target{}, err
	}
	var t Target
	if hasReceivePack(address) {
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

// headless reports whether HEAD of the repository at a path names a branch that does not exist.
func headless(dir string) bool {
	r, err := openLocal(dir)
	if err != nil {
		return false // a format of repository that we do not read, but git may
	}
	_, h, err := r.Head(r.GitDir())
	return err == nil && h.IsZero()
}

// pushesTo returns the address that pushes to a remote go to, and whether fetches come from another
// address. Several addresses to push to are an error.
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
