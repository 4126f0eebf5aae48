package purge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/secrets"
)

// A purge is the one change that rewrites history: for a secret that must not be in it.
// The tape and its forks are locked, and their history is made anew with the secret masked
// (see rewriter). From then on it will be carried out, by the next purge if this one is
// killed (see unfinished): each branch moves from the old history to the new one in one
// step, with an entry that says so on top; every other ref, reflog and file is cleared of
// the old commits; and git removes these from the repository.

// AllRules stands for every rule in PurgeOptions.
const AllRules = "all"

// PurgeOptions say what is taken out of a tape. Something has to be named.
type PurgeOptions struct {
	// IDs names entries of the tape. The secrets in them are masked, here and wherever
	// else in the history of the tape, of its forks and archives they stand.
	IDs []int64
	// Whole takes the whole text out of the named entries in any case.
	Whole bool
	// Rules and Fingerprints name secrets, wherever in the history they are; AllRules
	// means all that the scanner knows, but those that were allowed.
	Rules, Fingerprints []string
	// DryRun changes nothing: the result is what would be done.
	DryRun bool
	// Derived makes anew what was made from the old history: the index. It is called once
	// the tape is the new one. Until it has succeeded, the purge is not over.
	Derived func(ctx context.Context) error
	// Step is called with what is begun, in a few words. Nil drops it.
	Step func(what string)

	Find rewrite.Finder
}

// Purged tells what a purge did.
type Purged struct {
	Tapes        []PurgedTape // whose entries were changed, forks included
	Commits      int          // that were made anew
	Tags         int          // whose message was masked
	Archives     int          // whose history was
	Signatures   int          // that are gone, of commits and tags that are others now
	Rules        []string     // by which secrets were found
	Fingerprints []string     // of these
	Remotes      []PurgedRemote
	Others       []PurgedOther
	Removed      []string // files and refs that held something of it, and are gone
	Left         []string // what could not be cleared, a sentence each
	Finished     bool     // an earlier purge had been interrupted, and was carried out
}

// PurgedTape is a tape or fork whose history was rewritten.
type PurgedTape struct {
	Tape, Branch string
	Entries      []int64 // that were changed
	Old, New     string  // commits; New has the record, and is "" of a dry run
	Tags         string  // the pattern of its tags: refs/tags/anchor/main/*
	Renamed      bool    // some have another name, because an anchor has
}

// PurgedRemote is a branch or tag of a remote that, as far as is known, still has what was
// taken out.
type PurgedRemote struct {
	Remote string // its name
	Ref    string // there, as git names it: tape/main
	Commit string
}

// PurgedOther is another tape or fork that has something of what was taken out, and was left
// as it is.
type PurgedOther struct {
	Tape    string
	Entries []int64 // that have it; those that are not committed included
	// Fingerprints are to be given to a purge of that tape. Those of secrets that nothing
	// there tells are not among them: then only taking out the whole entries helps.
	Fingerprints []string
}

// Entries is how many entries were changed, in the tape or fork that has most of them: the
// others have copies.
func (p Purged) Entries() int {
	n := 0
	for _, t := range p.Tapes {
		n = max(n, len(t.Entries))
	}
	return n
}

// purge is one under way.
type purge struct {
	s           *workspace.Store
	t           *workspace.Tape
	root        string // the name of the tape, or of what it is a fork of
	o           PurgeOptions
	mask        *rewrite.Masker
	prints      map[string]bool // fingerprints of what is masked
	r           *rewrite.Rewriter
	batch       *gitstore.Batch
	follow      *rewrite.Remade        // what was done elsewhere; nil: this is the first
	interrupted *unfinished            // an earlier one, which is carried out; nil: this is a new one
	members     []*workspace.Tape      // the tape and its forks, parents first
	heads       purgeHeads             // what keeps their history; archives and tags are those that change
	family      map[gitstore.Hash]bool // all commits of these, their archives and reflogs
	foreign     *rewrite.Rewriter      // tells which commits of others lead to what was rewritten
	writers     []*writer.Writer       // of the members, while they are locked
	out         Purged
}

// Purge takes secrets out of a tape, its forks and its archives, as if they had never been
// recorded, and records that it did. A secret goes wherever its text stands, also where
// nothing tells that it is one, unless it is so short, or so much a word, that it may stand
// there by chance: the result says so. History is rewritten from the first entry that has one:
// who has fetched it has the secret still, and has to fetch again. Names of tapes and forks
// stay, and so do other tapes; the result names those that have it. A purge that was
// interrupted is carried out first. It needs the git program, but for a dry run.
//
// Errors: ErrInvalid when nothing is named; ErrNotFound when there is no such entry, or
// nothing to take out; ErrBusy; ErrConflict when git is in the middle of something.
func Purge(ctx context.Context, t *workspace.Tape, o PurgeOptions) (Purged, error) {
	p := newPurge(t.Store(), t, o)
	err := o.check()
	if err == nil {
		err = p.run(ctx)
	}
	return p.out, layout.Wrap(err, "purge tape %q", t.Name())
}

// newPurge makes one, and sets what the options leave open.
func newPurge(s *workspace.Store, t *workspace.Tape, o PurgeOptions) *purge {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Derived == nil {
		o.Derived = func(context.Context) error { return nil }
	}
	if o.Find == nil {
		o.Find = secrets.New()
	}
	p := &purge{s: s, t: t, o: o, prints: map[string]bool{}, mask: rewrite.NewMasker(o.Find)}
	if t != nil {
		p.root = snapshot.RootName(t)
	}
	return p
}

func (p *purge) run(ctx context.Context) (err error) {
	if p.o.DryRun {
		err = p.plan(ctx)
	} else {
		err = p.alone(ctx, func() error { return p.do(ctx) }, workspace.FetchLock, purgeLock)
		if p.out.Finished && errors.Is(err, layout.ErrNotFound) {
			err = nil // the earlier one had it all
		}
	}
	if err != nil {
		return err
	}
	if err := p.findOthers(ctx); p.o.DryRun || ctx.Err() != nil {
		return err
	} else if err != nil {
		p.left("could not find out whether other tapes have it: %v", err)
	}
	return nil
}

// alone carries out a purge that was interrupted, if there is one, and then something else. One
// purge is let in at a time, and no fetch beside it, as git drops what is stored and has no
// name yet.
func (p *purge) alone(ctx context.Context, do func() error, locks ...string) error {
	if err := gitrun.Runnable(ctx, p.s.Git()); err != nil {
		return err
	}
	for _, name := range locks {
		unlock, err := p.s.LockPrivate(ctx, name)
		if err != nil {
			return err
		}
		defer func() { _ = unlock() }()
	}
	if err := p.finishFirst(ctx); err != nil {
		return err
	}
	return do()
}

// aloneTold is alone for those who are not given the result: they are warned of what could not
// be cleared.
func (p *purge) aloneTold(ctx context.Context, what string, do func() error, locks ...string) error {
	err := p.alone(ctx, do, locks...)
	for _, left := range p.out.Left {
		p.s.Warn(left)
	}
	return layout.Wrap(err, "%s", what)
}

// plan finds out what a purge would do. What is not committed is not rewritten, only looked at.
func (p *purge) plan(ctx context.Context) error {
	if err := p.findMembers(ctx); err != nil {
		return err
	}
	p.r = rewrite.NewRewriter(p.s, p.mask, gitstore.HashObject)
	if err := p.rewrite(ctx); err != nil {
		return err
	}
	return p.reportKept(ctx)
}

// do makes the purge.
func (p *purge) do(ctx context.Context) error {
	defer p.unlock()
	if err := p.lock(ctx); err != nil {
		return err
	}
	for _, w := range p.writers {
		if err := w.CheckpointAll(ctx); err != nil {
			return err
		}
	}
	p.batch = p.s.Git().NewBatch()
	defer p.batch.Discard()
	p.r = rewrite.NewRewriter(p.s, p.mask, p.batch.Put)
	if err := p.rewrite(ctx); err != nil {
		return err
	}
	if err := p.batch.Flush(ctx); err != nil {
		return err
	}
	if p.follow != nil && p.r.To(p.follow.Old) != p.follow.Next {
		return layout.Conflict("use the version of tape that purged it there; or clone it again", "the purge that was made elsewhere has a different result here")
	}
	moves, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	// What was taken out is a secret again, to pushes and to the setting redact.
	for _, fp := range p.out.Fingerprints {
		if err := p.s.DisallowSecret(fp); err != nil && !errors.Is(err, layout.ErrNotFound) {
			return err
		}
	}
	p.o.Step("moving branches")
	return p.carryOut(context.WithoutCancel(ctx), moves)
}

// check refuses what names nothing, and names that the scanner does not know.
func (o PurgeOptions) check() error {
	if len(o.IDs)+len(o.Rules)+len(o.Fingerprints) == 0 {
		return layout.Invalid("name an entry (@17), a rule or a fingerprint", "there is nothing named to purge")
	}
	var ids []string
	for _, rule := range secrets.Rules() {
		ids = append(ids, rule.ID)
	}
	for _, rule := range o.Rules {
		if o.Find == nil && rule != AllRules && !slices.Contains(ids, rule) {
			return layout.Invalid("it is "+AllRules+" or one of: "+strings.Join(ids, " "), "there is no rule %q", rule)
		}
	}
	for _, fp := range o.Fingerprints {
		if !secrets.IsFingerprint(fp) {
			return layout.Invalid("", "%q is not a fingerprint", fp).Try(layout.CopyFingerprint)
		}
	}
	return nil
}

// findMembers lists the tape and its forks, parents before their forks.
func (p *purge) findMembers(ctx context.Context) error {
	all, err := p.s.TapesAndForks(ctx)
	p.members = slices.DeleteFunc(all, func(t *workspace.Tape) bool { return snapshot.RootName(t) != p.root })
	slices.SortFunc(p.members, byName)
	return err
}

// byName puts what has forks in front of these: their names begin with its name.
func byName(a, b *workspace.Tape) int { return strings.Compare(a.Name(), b.Name()) }

// lock takes the locks of the tape and of all its forks: of a parent before those of its
// forks, as a merge does. A fork that is made meanwhile is locked, too.
func (p *purge) lock(ctx context.Context) error {
	for before := -1; before < len(p.writers); {
		before = len(p.writers)
		if err := p.findMembers(ctx); err != nil {
			return err
		}
		for _, t := range p.members {
			if p.holds(t) {
				continue
			}
			w, err := writer.Lock(ctx, t)
			if errors.Is(err, layout.ErrNotFound) && t.IsFork() {
				continue // closed meanwhile
			}
			if err != nil {
				return err
			}
			p.writers = append(p.writers, w)
		}
	}
	return nil
}

// holds reports whether the lock of a tape is held because it is purged.
func (p *purge) holds(t *workspace.Tape) bool {
	return slices.ContainsFunc(p.writers, func(w *writer.Writer) bool { return w.T.Ref() == t.Ref() })
}

func (p *purge) unlock() {
	for _, w := range slices.Backward(p.writers) {
		if err := w.Unlock(); err != nil {
			p.s.Warn("the lock of " + w.T.Name() + " could not be released: " + err.Error())
		}
	}
	p.writers = nil
}
