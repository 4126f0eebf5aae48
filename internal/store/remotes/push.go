package remotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/audit"
	"tape/internal/store/join"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/outgoing"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// PushOptions say what is pushed. Nil means every tape that has something new.
type PushOptions struct {
	Progress io.Writer // gets git's own progress, for a terminal; nil: quiet, and nothing is asked
	Tapes    []string  // names of tapes and forks; none: all tapes
	Forks    bool      // the forks of those tapes, too; and forks that were merged are deleted there
	Archives bool      // their archives, too
	All      bool      // both
	DryRun   bool      // everything but the sending
	Allow    []string  // fingerprints of what looks like a secret, and is none
}

// Push sends the history of tapes to a remote, see repo.Store.Push.
func Push(ctx context.Context, s *workspace.Store, remote string, o *PushOptions) ([]layout.RefStatus, error) {
	if o == nil {
		o = &PushOptions{}
	}
	p := &pushing{s: s, remote: remote, o: *o, places: map[string]int{},
		chains: map[string]*audit.FirstChain{}, scans: map[string]*outgoing.SecretScan{}, away: map[string]error{}}
	if o.All {
		p.o.Forks, p.o.Archives = true, true
	}
	out, err := p.run(ctx)
	return out, layout.Wrap(err, "push to %s", remote)
}

// pushing is one push.
type pushing struct {
	s      *workspace.Store
	remote string
	o      PushOptions
	there  transport.Target
	has    map[string]gitstore.Hash // its refs, by name
	local  []gitstore.Ref           // refs of the workspace, sorted
	gone   map[string][]send        // forks to be deleted there, by what they are a fork of
	sends  []send
	places map[string]int                  // in sends, by the names of tapes and forks
	chains map[string]*audit.FirstChain    // of tapes and forks, by their names
	scans  map[string]*outgoing.SecretScan // the same
	found  []outgoing.SecretFinding
	away   map[string]error // why entries of a tape cannot be committed, by its name: they are in another folder
}

// send is what goes to the remote whole, or not at all: a branch with its tags.
type send struct {
	status layout.RefStatus
	t      *workspace.Tape
	depth  int           // of the tape or fork
	head   gitstore.Hash // of the branch
	refs   []transport.PushRef
	tips   []gitstore.Hash
}

func (p *pushing) run(ctx context.Context) ([]layout.RefStatus, error) {
	s := p.s
	defer s.Git().KeepObjects()()
	if err := gitrun.CheckGit(); err != nil {
		return nil, err
	}
	if err := checkRemote(s, p.remote); err != nil {
		return nil, err
	}
	tapes, err := p.chosen(ctx)
	if err != nil {
		return nil, err
	}
	if p.there, p.has, err = p.look(ctx); err != nil {
		return nil, err
	}
	if err := p.planAll(ctx, tapes); err != nil {
		return nil, err
	}
	if len(p.found) > 0 {
		return p.statuses(), &outgoing.SecretsError{Findings: p.found, Clean: p.clean()}
	}
	if p.o.DryRun {
		return p.statuses(), nil
	}
	for _, fingerprint := range p.o.Allow {
		if err := p.s.AllowSecret(fingerprint); err != nil {
			return p.statuses(), err
		}
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
func (p *pushing) chosen(ctx context.Context) ([]*workspace.Tape, error) {
	var out []*workspace.Tape
	if len(p.o.Tapes) == 0 {
		all, err := p.s.Tapes(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			own, err := query.OfHost(ctx, t)
			if err != nil {
				return nil, err
			}
			if !own { // it leaves when it is named
				out = append(out, t)
			}
		}
	}
	for _, name := range p.o.Tapes {
		t, err := p.s.Tape(ctx, name)
		if err != nil {
			return nil, err
		}
		for out = append(out, t); t.IsFork(); {
			up, err := join.Target(ctx, t)
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
		chosen := out
		for _, f := range forks {
			if slices.ContainsFunc(chosen, func(t *workspace.Tape) bool { return f.IsForkOf(t.Name()) }) {
				out = append(out, f)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *workspace.Tape) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a.Ref(), b.Ref()))
	})
	out = slices.CompactFunc(out, func(a, b *workspace.Tape) bool { return a.Ref() == b.Ref() })
	return p.commit(ctx, out)
}

// depth is 0 for a tape, 1 for a fork of it, 2 for a fork of that.
func depth(t *workspace.Tape) int {
	n := 0
	for f := t; f != nil && f.IsFork(); f = f.Store().ForkHandle(f.Parent()) {
		n++
	}
	return n
}

// commit commits what tapes have that is not committed, and returns those that are still
// there: a fork that nobody has named may be closed meanwhile.
func (p *pushing) commit(ctx context.Context, tapes []*workspace.Tape) ([]*workspace.Tape, error) {
	known, err := KnownRefs(p.s, layout.AcceptedRefs(p.remote))
	if err := errors.Join(err, p.list()); err != nil {
		return nil, err
	}
	isClosed := func(t *workspace.Tape) bool {
		_, err := t.Head()
		return errors.Is(err, layout.ErrNotFound) && !slices.Contains(p.o.Tapes, t.Name())
	}
	for _, t := range tapes {
		if err := p.checkHome(t); err != nil {
			return nil, err
		}
		if err := commitOne(ctx, t, known[t.Ref()] == p.listed(t.Ref())); err != nil && !isClosed(t) {
			return nil, err
		}
	}
	if err := p.list(); err != nil { // branches may have moved
		return nil, err
	}
	return slices.DeleteFunc(tapes, isClosed), nil
}

// checkHome notes of a tape that is checked out nowhere whether it has entries in a folder where
// git has something else now. They would stay behind without a word.
func (p *pushing) checkHome(t *workspace.Tape) error {
	if _, _, err := t.Worktree(); !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	note, err := journal.PeekOf(t)
	if err != nil {
		return err
	}
	if err := journal.CheckHome(t, note, p.listed(t.Ref()), ""); err != nil {
		p.away[t.Name()] = err
	}
	return nil
}

// commitOne does it for one. Only a tape with a working tree can have something that is not
// committed; another one may have a merge to be completed, or a tag to be made, that a crash
// has left out: the remote would have the branch without it. One that is published has its tags.
func commitOne(ctx context.Context, t *workspace.Tape, isPublished bool) error {
	if _, _, err := t.Worktree(); err == nil {
		return writer.Write(ctx, t, func(w *writer.Writer) error { return w.Checkpoint(ctx) })
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	err := join.Complete(ctx, t)
	if err == nil && !isPublished {
		_, err = writer.Finish(ctx, t, false)
	}
	return err
}

// send sends the tapes (depth 0), their forks, or the forks of those, and reports whether
// there are deeper ones.
func (p *pushing) send(ctx context.Context, depth int) (more bool, err error) {
	var groups [][]transport.PushRef
	var which []int
	for i := range p.sends {
		x := &p.sends[i]
		if len(x.refs) == 0 || x.depth != depth {
			more = more || len(x.refs) > 0 && x.depth > depth
			continue
		}
		if up := p.rejected(x.t); up != "" {
			x.status.Status, x.status.Err = layout.RefRejected, layout.Conflict("push that first", "its parent %q was not pushed", up)
			continue
		}
		groups, which = append(groups, x.refs), append(which, i)
	}
	if len(groups) == 0 {
		return more, nil
	}
	results, err := transport.Push(ctx, p.s.Git(), p.remote, groups, transport.Options{Progress: p.o.Progress})
	var sent []transport.PushRef
	// What the remote has, once something was refused: somebody else may have pushed
	// meanwhile, or a git that was left behind when we were killed.
	var now map[string]gitstore.Hash
	for n, group := range results {
		x := &p.sends[which[n]]
		reason := refusal(group)
		if reason != "" && now == nil && err == nil {
			_, now, err = p.look(ctx)
		}
		switch {
		case len(group) == 0:
		case reason == "" || p.arrived(x, now):
			sent = append(sent, x.refs...)
		default:
			x.status.Status, x.status.Err = layout.RefRejected, p.refused(x, reason, now)
		}
	}
	return more, errors.Join(err, p.note(ctx, sent))
}

// refusal is why a remote did not take a group of refs, "" if it did.
func refusal(group []transport.PushResult) string {
	reason := ""
	for _, r := range group {
		if r.Status == layout.RefRejected && (reason == "" || reason == transport.PushCollateral) {
			reason = r.Reason
		}
	}
	return reason
}

// look asks the remote for what it has.
func (p *pushing) look(ctx context.Context) (transport.Target, map[string]gitstore.Hash, error) {
	there, err := transport.FindTarget(ctx, p.s.Git(), p.remote, layout.SharedPrefixes(), transport.Options{Progress: p.o.Progress})
	has := make(map[string]gitstore.Hash, len(there.Refs))
	for _, ref := range there.Refs {
		has[ref.Name] = ref.Hash
	}
	return there, has, err
}

// arrived reports whether the remote has all that was to be sent, whoever has sent it.
func (p *pushing) arrived(x *send, now map[string]gitstore.Hash) bool {
	return now != nil && !slices.ContainsFunc(x.refs, func(ref transport.PushRef) bool { return now[ref.Name] != ref.New })
}

// refused says why a remote did not take something, and what can be done.
func (p *pushing) refused(x *send, reason string, now map[string]gitstore.Hash) error {
	hints := layout.Words("the remote's own rules forbid it: ask its administrator")
	moved := now != nil && slices.ContainsFunc(x.refs, func(ref transport.PushRef) bool { return now[ref.Name] != p.has[ref.Name] })
	switch {
	case moved || reason == "non-fast-forward" || reason == "already exists":
		hints = []layout.Hint{{Kind: layout.PullThenPush, Args: []string{p.remote}}}
		if reason == transport.PushCollateral {
			reason = "somebody else has pushed it meanwhile"
		}
	case strings.Contains(reason, "currently checked out"):
		hints = []layout.Hint{{Kind: layout.PullThere}}
	}
	return &layout.Error{Class: layout.ErrConflict, Msg: fmt.Sprintf("%s refused %q: %s", p.remote, x.status.Tape, reason), Way: hints}
}

// rejected returns what a fork is a fork of, or what that is one of, if it was not let in.
// One between that was closed here is in the next above it, and so is what the fork began
// with: others could not merge it.
func (p *pushing) rejected(t *workspace.Tape) string {
	for name, ok := t.Parent(), t.IsFork(); ok; name, _, ok = layout.CutFork(name) {
		i, chosen := p.places[name]
		if chosen && p.sends[i].status.Status == layout.RefRejected {
			return name
		}
		if chosen && !p.sends[i].t.IsFork() {
			return "" // there may be a tape whose name has a slash
		}
	}
	return ""
}

// firstHead lets a remote that was empty, and is a path, have the first tape checked out
// by a plain git clone.
func (p *pushing) firstHead(ctx context.Context) error {
	first := ""
	for _, x := range p.sends {
		isTape := strings.HasPrefix(x.status.Ref, layout.BranchPrefix) && x.status.Status != layout.RefRejected
		if isTape && (first == "" || x.status.Tape == p.s.CurrentTape()) {
			first = x.status.Ref
		}
	}
	if first == "" || !p.there.Headless {
		return nil
	}
	return transport.SetRemoteHead(ctx, p.s.Git(), p.remote, first)
}

// statuses lists what became of each branch and archive.
func (p *pushing) statuses() []layout.RefStatus {
	out := make([]layout.RefStatus, len(p.sends))
	for i, x := range p.sends {
		out[i] = x.status
	}
	return out
}
