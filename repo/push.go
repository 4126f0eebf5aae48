package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// PushOptions say what is pushed. Nil means every tape that has something new.
type PushOptions struct {
	RemoteOptions
	Tapes    []string // names of tapes and forks; none: all tapes
	Forks    bool     // the forks of those tapes, too; and forks that were merged are deleted there
	Archives bool     // their archives, too
	All      bool     // both, and what is up to date is listed
	DryRun   bool     // everything but the sending
	Allow    []string // fingerprints of what looks like a secret, and is none
}

// Push sends the history of tapes to a remote, with the tags of their anchors. What is not
// committed is committed first. Branches only move forward; a tape goes whole or not at
// all. Nothing leaves this machine before all of it was looked through for secrets.
//
// Errors: a *SecretsError, ErrNotFound without such a remote or tape; what concerns one
// tape is in its status.
func (s *Store) Push(ctx context.Context, remote string, o *PushOptions) ([]RefStatus, error) {
	if o == nil {
		o = &PushOptions{}
	}
	p := &pushing{s: s, remote: remote, o: *o}
	if o.All {
		p.o.Forks, p.o.Archives = true, true
	}
	out, err := p.run(ctx)
	if err != nil {
		return out, fmt.Errorf("push to %s: %w", remote, classify(err))
	}
	return out, nil
}

// pushing is one push.
type pushing struct {
	s      *Store
	remote string
	o      PushOptions
	has    map[string]gitstore.Hash // refs of the remote
	head   string                   // the branch that its HEAD names
	sends  []send
}

// send is what goes to the remote whole, or not at all: a branch with its tags.
type send struct {
	status RefStatus
	t      *Tape
	refs   []gitstore.PushRef
	tips   []gitstore.Hash
}

func (p *pushing) run(ctx context.Context) ([]RefStatus, error) {
	s := p.s
	defer s.git.KeepObjects()()
	if _, err := s.findRemote(p.remote); err != nil {
		return nil, err
	}
	tapes, err := p.chosen(ctx)
	if err != nil {
		return nil, err
	}
	asked := p.remote
	if address, other, err := s.git.PushAddress(ctx, p.remote, p.o.transport()); err != nil {
		return nil, err
	} else if other {
		asked = address
	}
	refs, head, err := s.git.LsRemote(ctx, asked, []string{branchPrefix, forkPrefix, tagPrefix, archivePrefix}, p.o.transport())
	if err != nil {
		return nil, err
	}
	p.head, p.has = head, make(map[string]gitstore.Hash, len(refs))
	for _, ref := range refs {
		p.has[ref.Name] = ref.Hash
	}
	for _, t := range tapes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.plan(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := p.scan(ctx); err != nil || p.o.DryRun {
		return p.statuses(), err
	}
	// A fork is of use only where what it is a fork of is.
	for depth, more := 0, true; more; depth++ {
		if more, err = p.send(ctx, depth); err != nil {
			return p.statuses(), err
		}
	}
	if err := p.noteEqual(ctx); err != nil {
		return p.statuses(), err
	}
	return p.statuses(), p.firstHead(ctx)
}

// chosen lists the tapes and forks to be pushed, with everything committed.
func (p *pushing) chosen(ctx context.Context) ([]*Tape, error) {
	var out []*Tape
	if len(p.o.Tapes) == 0 {
		all, err := p.s.Tapes(ctx)
		if err != nil {
			return nil, err
		}
		out = all
	}
	for _, name := range p.o.Tapes {
		t, err := p.s.Tape(ctx, name)
		if err != nil {
			return nil, err
		}
		for out = append(out, t); t.IsFork(); {
			up, err := t.target(ctx)
			if err != nil {
				return nil, err
			}
			out, t = append(out, up), up
		}
	}
	if p.o.Forks {
		forks, err := p.s.Forks(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range forks {
			if slices.ContainsFunc(out, func(t *Tape) bool { return f.isForkOf(t.name) }) {
				out = append(out, f)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Tape) int {
		return cmp.Or(cmp.Compare(a.depth(), b.depth()), strings.Compare(a.branch, b.branch))
	})
	out = slices.CompactFunc(out, func(a, b *Tape) bool { return a.branch == b.branch })
	return out, p.s.commitTapes(ctx, out)
}

// depth is 0 for a tape, 1 for a fork of it, 2 for a fork of that.
func (t *Tape) depth() int {
	n := 0
	for f := t; f != nil && f.IsFork(); f = f.store.forkHandle(f.Parent()) {
		n++
	}
	return n
}

// commitTapes commits what tapes have that is not committed. Only those with a working
// tree can have it.
func (s *Store) commitTapes(ctx context.Context, tapes []*Tape) error {
	all, err := s.git.Worktrees()
	if err != nil {
		return err
	}
	checkedOut := make(map[string]bool, len(all))
	for _, wt := range all {
		checkedOut[wt.Branch] = true
	}
	for _, t := range tapes {
		if !checkedOut[t.branch] {
			if err := t.Settle(ctx); err != nil {
				return err
			}
			continue
		}
		if err := t.write(ctx, func(w *writer) error { return w.commitAll(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// scan looks for secrets in all that the remote does not have yet.
func (p *pushing) scan(ctx context.Context) error {
	for _, fingerprint := range p.o.Allow {
		if err := p.s.AllowSecret(fingerprint); err != nil {
			return err
		}
	}
	var known []gitstore.Hash
	for _, h := range p.has {
		if _, _, err := p.s.git.Read(h); err == nil {
			known = append(known, h)
		}
	}
	var found []SecretFinding
	for _, x := range p.sends {
		if len(x.tips) == 0 {
			continue
		}
		secrets, err := p.s.scanSecrets(ctx, x.status.Tape, x.tips, known, nil)
		if err != nil {
			return fmt.Errorf("look for secrets in %q: %w", x.status.Tape, err)
		}
		found = append(found, secrets...)
	}
	if len(found) > 0 {
		return &SecretsError{Findings: found}
	}
	return nil
}

// send sends the tapes (depth 0), their forks, or the forks of those, and reports whether
// there are deeper ones.
func (p *pushing) send(ctx context.Context, depth int) (more bool, err error) {
	var groups [][]gitstore.PushRef
	var which []int
	for i := range p.sends {
		x := &p.sends[i]
		if len(x.refs) == 0 || x.t.depth() != depth {
			more = more || len(x.refs) > 0 && x.t.depth() > depth
			continue
		}
		if up := p.rejected(x.t.Parent()); up != "" {
			x.status.Status, x.status.Err = RefRejected, conflict("push that first", "%q, which it is a fork of, was not pushed", up)
			continue
		}
		groups, which = append(groups, x.refs), append(which, i)
	}
	if len(groups) == 0 {
		return more, nil
	}
	results, err := p.s.git.Push(ctx, p.remote, groups, p.o.transport())
	var sent []gitstore.PushRef
	for n, group := range results {
		x := &p.sends[which[n]]
		refused := ""
		for _, r := range group {
			if r.Status == RefRejected {
				refused = r.Reason
				break
			}
		}
		switch {
		case len(group) == 0:
		case refused == "":
			sent = append(sent, x.refs...)
		default:
			x.status.Status = RefRejected
			hint := "the remote's own rules say so: ask who keeps it"
			if refused == "non-fast-forward" || refused == "already exists" {
				hint = p.pullHint()
			}
			x.status.Err = conflict(hint, "%s refused %q: %s", p.remote, x.status.Tape, refused)
		}
	}
	return more, errors.Join(err, p.note(ctx, sent))
}

// rejected returns what a fork is a fork of if that was not let in.
func (p *pushing) rejected(name string) string {
	for _, x := range p.sends {
		if x.t.name == name && x.status.Ref == x.t.branch && x.status.Status == RefRejected {
			return name
		}
	}
	return ""
}

// note remembers what the remote has now. First what was fetched: cut off in between, it
// is looked at again.
func (p *pushing) note(ctx context.Context, sent []gitstore.PushRef) error {
	ctx = context.WithoutCancel(ctx)
	for _, prefix := range []string{fetchedRefs(p.remote), acceptedRefs(p.remote)} {
		known, err := p.s.knownRefs(prefix)
		if err != nil {
			return err
		}
		updates := make([]gitstore.RefUpdate, 0, len(sent))
		for _, ref := range sent {
			if old := known[ref.Name]; old != ref.New {
				updates = append(updates, gitstore.RefUpdate{Name: prefix + innerRef(ref.Name), Old: old, New: ref.New, Message: "tape: push"})
			}
		}
		if err := p.s.git.UpdateRefs(ctx, updates); err != nil {
			return err
		}
	}
	return nil
}

// noteEqual remembers the branches that the remote had already as they are here.
func (p *pushing) noteEqual(ctx context.Context) error {
	var equal []gitstore.PushRef
	for _, x := range p.sends {
		if x.status.Status != RefUpToDate {
			continue
		}
		if head, err := x.t.head(); err == nil && p.has[x.t.branch] == head {
			equal = append(equal, gitstore.PushRef{Name: x.t.branch, New: head})
		}
	}
	return p.note(ctx, equal)
}

// firstHead lets a remote that was empty, and is a path, have the first tape checked out
// by a plain git clone.
func (p *pushing) firstHead(ctx context.Context) error {
	if p.has[p.head] != gitstore.ZeroHash {
		return nil
	}
	first := ""
	for _, x := range p.sends {
		isTape := strings.HasPrefix(x.status.Ref, branchPrefix)
		if !isTape || x.status.Status == RefRejected {
			continue
		}
		if first == "" || x.status.Tape == p.s.CurrentTape() {
			first = x.status.Ref
		}
	}
	if first == "" {
		return nil
	}
	return p.s.git.SetRemoteHead(ctx, p.remote, first)
}

// statuses lists what became of each branch and archive. What is up to date is left out
// unless it was asked for.
func (p *pushing) statuses() []RefStatus {
	var out []RefStatus
	for _, x := range p.sends {
		if x.status.Status != RefUpToDate || p.o.All || len(p.o.Tapes) > 0 {
			out = append(out, x.status)
		}
	}
	return out
}
