package remotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	"tape/internal/store/projects"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// PushOptions say what to push. Nil means every tape that has something new.
type PushOptions struct {
	Progress io.Writer // gets git's progress for a terminal; nil to be quiet and ask nothing
	Tapes    []string  // names of tapes and forks, whose ancestors are pushed, too; empty for all tapes but those of tape serve
	Forks    bool      // also push forks of those tapes, and delete merged ones there
	Archives bool      // also push their archives
	All      bool      // same as Forks and Archives
	DryRun   bool      // commit and check, but send nothing
	Allow    []string  // fingerprints of findings that are not secrets; stored for later pushes, unless DryRun
}

// Push sends the history of tapes to a remote, see repo.Store.Push.
func Push(ctx context.Context, s *workspace.Store, remote string, o *PushOptions) ([]layout.RefStatus, error) {
	if o == nil {
		o = &PushOptions{}
	}
	p := &push{s: s, remote: remote, o: *o, places: map[string]int{},
		chains: map[string]*audit.FirstChain{}, scans: map[string]*outgoing.SecretScan{}, misplaced: map[string]error{}}
	if o.All {
		p.o.Forks, p.o.Archives = true, true
	}
	out, err := p.run(ctx)
	return out, layout.Wrap(err, "push to %s", remote)
}

// push is one push.
type push struct {
	s         *workspace.Store
	remote    string
	o         PushOptions
	target    transport.Target         // where the push goes, with the refs there
	has       map[string]gitstore.Hash // the remote's refs, by name
	local     []gitstore.Ref           // refs of the workspace, sorted
	gone      map[string][]send        // forks to delete at the remote, by the name of each of their ancestors
	sends     []send
	places    map[string]int                  // indexes in sends, by the names of tapes and forks
	chains    map[string]*audit.FirstChain    // by name of the tape or fork
	scans     map[string]*outgoing.SecretScan // by name of the tape or fork
	found     []outgoing.SecretFinding
	untagged  bool             // the remote is the project's own: in every clone of it, its tags would be among the project's
	misplaced map[string]error // by name: the error for a tape whose uncommitted entries are in another folder
}

// send is what is sent completely or not at all: a branch with its tags, an archive, or the deletion of a fork.
type send struct {
	status layout.RefStatus
	t      *workspace.Tape
	depth  int           // of the tape or fork
	head   gitstore.Hash // of the branch
	refs   []transport.PushRef
	tips   []gitstore.Hash // to search for secrets
}

func (p *push) run(ctx context.Context) ([]layout.RefStatus, error) {
	s := p.s
	defer s.Git().KeepObjects()()
	if err := gitrun.CheckGit(); err != nil {
		return nil, err
	}
	if err := checkRemote(s, p.remote); err != nil {
		return nil, err
	}
	tapes, err := p.choose(ctx)
	if err != nil {
		return nil, err
	}
	if p.target, p.has, err = p.askRemote(ctx); err != nil {
		return nil, err
	}
	if p.untagged = p.isProjects(); p.untagged && len(p.has) == 0 {
		s.Warn(fmt.Sprintf("%s is the repository of the project itself: whoever fetches from it gets the branches tape/…, though not the tags of handoffs; a repository of its own for sessions avoids that", p.remote))
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
	// A fork is useless without its parent. What is to be deleted comes last: a remote that forbids it may refuse all of
	// a push.
	for depth, more := 0, true; more; depth++ {
		if more, err = p.send(ctx, depth); err != nil {
			return p.statuses(), err
		}
	}
	if _, err = p.send(ctx, deletions); err != nil {
		return p.statuses(), err
	}
	if err := p.noteEqual(ctx); err != nil {
		return p.statuses(), err
	}
	return p.statuses(), p.firstHead(ctx)
}

// isProjects reports whether the remote is the repository of the project that the workspace is about.
func (p *push) isProjects() bool {
	project := workspace.ProjectOf(p.s.Dir()).Dir
	for _, key := range []string{"url", "pushurl"} {
		url, ok := p.s.Git().Config().Value("remote", p.remote, key)
		if ok && project != "" && projects.HasRemote(project, url) {
			return true
		}
	}
	return false
}

// choose lists the tapes and forks to push, after committing their entries.
func (p *push) choose(ctx context.Context) ([]*workspace.Tape, error) {
	var out []*workspace.Tape
	if len(p.o.Tapes) == 0 {
		all, err := p.s.Tapes(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			own, err := query.IsHostTape(ctx, t)
			if err != nil {
				return nil, err
			}
			if !own { // tapes that tape serve made for itself are pushed only if named
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

// commit commits the uncommitted entries of tapes, and returns the tapes that still exist: a fork that
// was not named may have been closed meanwhile.
func (p *push) commit(ctx context.Context, tapes []*workspace.Tape) ([]*workspace.Tape, error) {
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

// checkHome checks a tape that is not checked out. It records an error if the tape has uncommitted entries in
// a folder where git has checked out something else, because a push would silently leave them out.
func (p *push) checkHome(t *workspace.Tape) error {
	if _, _, err := t.Worktree(); !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	rec, err := journal.PeekOf(t)
	if err != nil {
		return err
	}
	if err := journal.CheckHome(t, rec, p.listed(t.Ref()), ""); err != nil {
		p.misplaced[t.Name()] = err
	}
	return nil
}

// commitOne commits the uncommitted entries of one tape. Without a working tree there are none, but after
// a crash there may be a merge to complete or a tag to make before the branch is pushed. A published
// tape has its tags.
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

// deletions is the depth at which the forks are closed that were merged.
const deletions = -1

// send sends everything of one depth: 0 for tapes, 1 for their forks. It reports whether there is more to
// send at greater depths.
func (p *push) send(ctx context.Context, depth int) (more bool, err error) {
	var groups [][]transport.PushRef
	var which []int
	for i := range p.sends {
		x := &p.sends[i]
		at := x.depth
		if x.status.Status == layout.RefDeleted {
			at = deletions
		}
		if len(x.refs) == 0 || at != depth {
			more = more || len(x.refs) > 0 && at > depth
			continue
		}
		if up := p.rejected(x.t); up != "" {
			x.status.Status, x.status.Err = layout.RefRejected, layout.Conflict("push that first", "%q, from which it was forked, was not pushed", up)
			continue
		}
		groups, which = append(groups, x.refs), append(which, i)
	}
	if len(groups) == 0 {
		return more, nil
	}
	results, err := transport.Push(ctx, p.s.Git(), p.remote, groups, transport.Options{Progress: p.o.Progress})
	var sent []transport.PushRef
	// What the remote has after it refused something. Somebody else may have pushed meanwhile, or a git
	// process that outlived a killed tape command.
	var now map[string]gitstore.Hash
	for n, group := range results {
		x := &p.sends[which[n]]
		reason := refusal(group)
		if reason != "" && now == nil && err == nil {
			_, now, err = p.askRemote(ctx)
		}
		switch {
		case len(group) == 0:
		case reason == "" || p.arrived(x, now):
			sent = append(sent, x.refs...)
		case x.status.Status == layout.RefDeleted && !p.moved(x, now):
			// Its entries are there, so nothing is lost, and nobody here can change the remote's rules.
			p.keepThere(x, reason)
		default:
			x.status.Status, x.status.Err = layout.RefRejected, p.refused(x, reason, now)
		}
	}
	return more, errors.Join(err, p.note(ctx, sent))
}

// refusal is why a remote refused a group of refs, "" if it did not.
func refusal(group []transport.PushResult) string {
	reason := ""
	for _, r := range group {
		if r.Status == layout.RefRejected && (reason == "" || reason == transport.PushCollateral) {
			reason = r.Reason
		}
	}
	return reason
}

// askRemote asks the remote which refs it has.
func (p *push) askRemote(ctx context.Context) (transport.Target, map[string]gitstore.Hash, error) {
	there, err := transport.FindTarget(ctx, p.s.Git(), p.remote, append(layout.SharedPrefixes(), layout.ForgottenPrefix), transport.Options{Progress: p.o.Progress})
	has := make(map[string]gitstore.Hash, len(there.Refs))
	for _, ref := range there.Refs {
		has[ref.Name] = ref.Hash
	}
	return there, has, err
}

// arrived reports whether the remote has everything that was sent, whoever sent it.
func (p *push) arrived(x *send, now map[string]gitstore.Hash) bool {
	return now != nil && !slices.ContainsFunc(x.refs, func(ref transport.PushRef) bool { return now[ref.Name] != ref.New })
}

// moved reports whether the remote has something else than before the push.
func (p *push) moved(x *send, now map[string]gitstore.Hash) bool {
	return now != nil && slices.ContainsFunc(x.refs, func(ref transport.PushRef) bool { return now[ref.Name] != p.has[ref.Name] })
}

// keptFile lists the forks that were merged and that a remote does not let anybody delete: its name, the ref and the
// commit, a line each. They are not tried, nor told of, again.
const keptFile = "kept"

// keepThere notes that a remote keeps a fork.
func (p *push) keepThere(x *send, reason string) {
	x.status.Status = layout.RefUpToDate
	p.s.Warn(fmt.Sprintf("%q stays at %s, which does not let it be deleted (%s); its entries were merged and are there, so nothing is missing", x.status.Tape, p.remote, reason))
	path := p.s.PrivatePath(keptFile)
	kept, _ := os.ReadFile(path)
	_ = p.s.FS().WriteFile(path, append(kept, p.keptLine(x.status.Ref, x.head)...)) // at worst it is tried again
}

func (p *push) keptLine(ref string, h gitstore.Hash) string {
	return p.remote + " " + ref + " " + h.String() + "\n"
}

// refused says why a remote refused something, and what to do about it.
func (p *push) refused(x *send, reason string, now map[string]gitstore.Hash) error {
	hints := layout.Words("the remote's own rules forbid it: ask its administrator")
	switch {
	case strings.Contains(reason, "missing necessary objects"):
		hints = layout.Words("the repository there is a shallow clone, or damaged: git fsck there says which, and git fetch --unshallow there completes a shallow one; here nothing is lost")
	case p.moved(x, now) || reason == "non-fast-forward" || reason == "already exists":
		hints = []layout.Hint{{Kind: layout.PullThenPush, Args: []string{p.remote}}}
		if reason == transport.PushCollateral {
			reason = "somebody else has pushed it meanwhile"
		}
	case isFull(reason):
		hints = layout.Words("the remote has no room left: ask its administrator, or push to another one; here nothing is lost")
	case strings.Contains(reason, "currently checked out"):
		hints = []layout.Hint{{Kind: layout.PullThere}}
	}
	return &layout.Error{Class: layout.ErrConflict, Msg: fmt.Sprintf("%s refused %q: %s", p.remote, x.status.Tape, reason), Way: hints}
}

// isFull reports whether a remote refuses something because it is full.
func isFull(reason string) bool {
	reason = strings.ToLower(reason)
	return slices.ContainsFunc([]string{"quota", "no space left", "size limit", "storage limit"}, func(said string) bool { return strings.Contains(reason, said) })
}

// rejected returns the name of a fork's nearest rejected ancestor, "" if there is none. It skips ancestors
// that are not pushed: they were closed here, and the next ancestor contains them with the fork's base.
func (p *push) rejected(t *workspace.Tape) string {
	for name, ok := t.Parent(), t.IsFork(); ok; name, _, ok = layout.CutFork(name) {
		i, chosen := p.places[name]
		if chosen && p.sends[i].status.Status == layout.RefRejected {
			return name
		}
		if chosen && !p.sends[i].t.IsFork() {
			return "" // a tape, whose name may contain slashes
		}
	}
	return ""
}

// firstHead sets the HEAD of a remote that is a path, if it named a missing branch, so that a plain git clone
// checks out a tape.
func (p *push) firstHead(ctx context.Context) error {
	first := ""
	for _, x := range p.sends {
		isTape := strings.HasPrefix(x.status.Ref, layout.BranchPrefix) && x.status.Status != layout.RefRejected
		if isTape && (first == "" || x.status.Tape == p.s.CurrentTape()) {
			first = x.status.Ref
		}
	}
	if first == "" || !p.target.Headless {
		return nil
	}
	return transport.SetRemoteHead(ctx, p.s.Git(), p.remote, first)
}

// statuses lists the results, one for each send.
func (p *push) statuses() []layout.RefStatus {
	out := make([]layout.RefStatus, len(p.sends))
	for i, x := range p.sends {
		out[i] = x.status
	}
	return out
}
