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

// A purge is the one change that rewrites history: it takes out a secret. The tape and its forks are
// locked, and their history is rewritten with the secret masked (see rewrite.Rewriter). From then on the
// purge is carried out, if necessary by the next command after a kill (see unfinished). Each branch
// moves from the old history to the new one in one step, with an entry on top that records the purge. All
// other refs, reflogs and files are cleared of the old commits. Then git removes these commits.

// AllRules in PurgeOptions.Rules means every rule.
const AllRules = "all"

// PurgeOptions say what to take out of a tape. At least one thing must be named.
type PurgeOptions struct {
	// IDs are entries of the tape. Their secrets are masked everywhere in the history of the tape, its
	// forks and archives.
	IDs []int64
	// Whole takes all text out of the named entries.
	Whole bool
	// Rules and Fingerprints name secrets anywhere in the history. AllRules means everything that the
	// scanner finds, except what was allowed.
	Rules, Fingerprints []string
	// DryRun changes nothing: the result says what would be done.
	DryRun bool
	// Derived rebuilds what is derived from the history: the index. It is called when the tape has its
	// new history. The purge is not finished until it has succeeded.
	Derived func(ctx context.Context) error
	// Step, if set, is called when a step begins, with a few words about it.
	Step func(what string)
	// Find finds the secrets; nil means the built-in rules.
	Find rewrite.Finder
}

// Purged is what a purge did.
type Purged struct {
	Tapes        []PurgedTape // tapes and forks with changed entries
	Commits      int          // rewritten commits
	Tags         int          // tags with masked messages whose commits stay
	Archives     int          // archives with rewritten history
	Signatures   int          // signatures dropped from rewritten commits and tags
	Rules        []string     // the rules that found the secrets
	Fingerprints []string     // of the secrets
	Remotes      []PurgedRemote
	Others       []PurgedOther
	Removed      []string // removed files and refs: they contained masked text or led to the old history
	Left         []string // what could not be cleared, a sentence each
	// Has reports whether a line of another file contains what was taken out; nil if its text is not known.
	Has      func(line []byte) bool
	Finished bool // an interrupted purge of this tape was finished first
}

// PurgedTape is a tape or fork whose history was rewritten.
type PurgedTape struct {
	Tape, Branch string
	Entries      []int64 // changed entries
	Old, New     string  // commits; New contains the record, and is "" for a dry run
	Tags         string  // the pattern of its tags: refs/tags/anchor/main/*
	Renamed      bool    // some tags were renamed with their anchors
}

// PurgedRemote is a ref of a remote that still had the old history when it was last fetched.
type PurgedRemote struct {
	Remote string // its name
	Ref    string // its name at the remote: tape/main
	Commit string
}

// PurgedOther is another tape or fork that contains something of what was taken out. It was not changed.
type PurgedOther struct {
	Tape    string
	Entries []int64 // that contain it, or refer to an artifact that does, committed or not
	Commits int     // whose message, author or committer contains it
	// Fingerprints are what a purge of that tape must name. Secrets that the scanner does not detect
	// there are not among them; those need a purge of whole entries.
	Fingerprints []string
}

// Entries returns the number of changed entries in the tape or fork that has most of them. The others have copies.
func (p Purged) Entries() int {
	n := 0
	for _, t := range p.Tapes {
		n = max(n, len(t.Entries))
	}
	return n
}

// purge is a purge under way.
type purge struct {
	s           *workspace.Store
	t           *workspace.Tape
	root        string // the name of the tape at the root of t
	o           PurgeOptions
	mask        *rewrite.Masker
	prints      map[string]bool // fingerprints of what is masked
	r           *rewrite.Rewriter
	batch       *gitstore.Batch
	follow      *rewrite.Replaced      // what a purge made elsewhere replaced; nil if this is a new one
	interrupted *unfinished            // an interrupted purge to finish; nil if this is a new one
	members     []*workspace.Tape      // the tape and its forks, parents first
	heads       purgeHeads             // the commits that keep history; after rewrite, only those archives and tags that change
	family      map[gitstore.Hash]bool // all commits of the members, their archives and reflogs
	foreign     *rewrite.Rewriter      // finds commits of other refs that descend from rewritten ones
	writers     []*writer.Writer       // of the members, while locked
	commits     map[gitstore.Hash]bool // of other tapes, that were searched
	out         Purged
}

// Purge takes secrets out of a tape, its forks and its archives as if they had never been recorded, and
// records that. A secret is masked wherever its text is, unless it is so short, or so ordinary a word,
// that it may occur there by chance; the result says so. History is rewritten from the first entry with
// a secret: whoever has fetched it still has the secret, and must fetch again. Names of tapes and forks
// stay, and so do other tapes; the result lists those that contain the secret. An interrupted purge is
// finished first. Needs the git program, except for a dry run.
//
// Errors: ErrInvalid if nothing, or an unknown rule, is named; ErrNotFound if there is no such entry or
// nothing to take out; ErrBusy; ErrConflict if git is in the middle of something.
func Purge(ctx context.Context, t *workspace.Tape, o PurgeOptions) (Purged, error) {
	p := newPurge(t.Store(), t, o)
	err := o.check()
	if err == nil {
		err = p.run(ctx)
	}
	return p.out, layout.Wrap(err, "purge tape %q", t.Name())
}

// newPurge returns a purge, with defaults for missing options.
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
			err = nil // the interrupted one took everything out
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

// alone finishes an interrupted purge, if any, and then calls do, all with the named locks held: one purge at a
// time, and no fetch beside it, because git drops stored objects that nothing refers to yet.
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

// aloneWarning is alone for callers that do not return the result: what could not be cleared becomes
// warnings.
func (p *purge) aloneWarning(ctx context.Context, what string, do func() error, locks ...string) error {
	err := p.alone(ctx, do, locks...)
	for _, left := range p.out.Left {
		p.s.Warn(left)
	}
	return layout.Wrap(err, "%s", what)
}

// plan computes what a purge would do. Uncommitted entries are only read.
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

// do carries out the purge.
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
		return layout.Conflict("it may have been purged by another version of tape: use that one, or clone it again into another workspace, and compare", "the purge that was made elsewhere has a different result here")
	}
	moves, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	// What was taken out counts as a secret again, for pushes and the setting redact.
	for _, fp := range p.out.Fingerprints {
		if err := p.s.DisallowSecret(fp); err != nil && !errors.Is(err, layout.ErrNotFound) {
			return err
		}
	}
	p.o.Step("moving branches")
	return p.carryOut(context.WithoutCancel(ctx), moves)
}

// check refuses options that name nothing, malformed fingerprints, and rules that the built-in scanner does not have.
func (o PurgeOptions) check() error {
	if len(o.IDs)+len(o.Rules)+len(o.Fingerprints) == 0 {
		return layout.Invalid("name an entry (@17), a rule or a fingerprint", "nothing to purge was named")
	}
	var ids []string
	for _, rule := range secrets.Rules() {
		ids = append(ids, rule.ID)
	}
	for _, rule := range o.Rules {
		if o.Find == nil && rule != AllRules && !slices.Contains(ids, rule) {
			return layout.Invalid("a rule is "+AllRules+" or one of: "+strings.Join(ids, " "), "there is no rule %q", rule)
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

// byName sorts parents before their forks, whose names begin with the parent's.
func byName(a, b *workspace.Tape) int { return strings.Compare(a.Name(), b.Name()) }

// lock locks the tape and all its forks, parents first, as a merge does. Forks made meanwhile are locked,
// too.
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

// holds reports whether the purge holds the lock of a tape.
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
