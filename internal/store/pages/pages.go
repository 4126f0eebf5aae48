// Package pages writes published pages to a branch of their own, without a working tree, and pushes it. The branch
// is derived from tapes: one new commit may replace its history, so that the history does not keep what was
// removed.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/workspace"
)

// Branch is a branch of pages that is being changed.
type Branch struct {
	*Folder
	// Local is the branch as it was here, if both it and the remote's have commits that the other lacks; otherwise nil.
	// Commits that the remote once had do not count: its history started over without them.
	Local *Folder

	s           *workspace.Store
	ref, remote string
	progress    io.Writer
	here, there gitstore.Hash   // the branch here and at the remote; zero if there is none
	seen        []gitstore.Hash // where the remote's branch was when it was fetched before
	base        gitstore.Hash   // the commit that is changed
	batch       *gitstore.Batch
}

// Open begins to change a branch. With a remote, its branch is fetched first, and what somebody else published
// there stays. The branch need not exist yet. Errors: layout.ErrInvalid for a name that pages cannot have,
// layout.ErrConflict if the branch is checked out somewhere.
func Open(ctx context.Context, s *workspace.Store, name, remote string, progress io.Writer) (*Branch, error) {
	if err := layout.CheckPagesBranch(name); err != nil {
		return nil, err
	}
	b := &Branch{s: s, ref: "refs/heads/" + name, remote: remote, progress: progress, batch: s.Git().NewBatch()}
	if wt, err := s.Git().WorktreeOf(b.ref); err == nil {
		return nil, layout.Conflict("check out another branch there, or choose another name", "the branch %q is checked out in %s", name, wt.Dir)
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	var err error
	if b.here, err = s.Git().Ref(b.ref); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	if remote != "" {
		if err := b.fetch(ctx, name); err != nil {
			return nil, layout.Wrap(err, "publish to %s", remote)
		}
	}
	return b, b.open()
}

// fetch fetches the remote's branch into git's usual tracking ref.
func (b *Branch) fetch(ctx context.Context, name string) error {
	if err := gitrun.CheckGit(); err != nil {
		return err
	}
	git, o := b.s.Git(), transport.Options{Progress: b.progress}
	refs, _, err := transport.LsRemote(ctx, git, b.remote, []string{b.ref}, o)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Name == b.ref {
			b.there = ref.Hash
		}
	}
	if b.there.IsZero() {
		return nil
	}
	tracking := "refs/remotes/" + b.remote + "/" + name
	log, err := git.Reflog(tracking)
	if err != nil {
		return err
	}
	for _, e := range log {
		b.seen = append(b.seen, e.New)
	}
	if h, err := git.Ref(tracking); err == nil { // the log may be missing, or expired
		b.seen = append(b.seen, h)
	}
	if _, err := transport.Fetch(ctx, git, b.remote, []transport.RefSpec{{Src: b.ref, Dst: tracking}}, o); err != nil {
		return err
	}
	b.there, err = git.Ref(tracking)
	return err
}

// open chooses the commit to change.
func (b *Branch) open() error {
	b.base = b.here
	ahead, err := b.has(b.here, b.there)
	if err == nil && !ahead {
		b.base = b.there
		was, err1 := b.wasThere()
		if err = err1; err == nil && !was {
			b.Local, err = b.folder(b.here)
		}
	}
	if err != nil {
		return err
	}
	b.Folder, err = b.folder(b.base)
	return err
}

// wasThere reports whether the remote's branch has, or once had, the commit of the branch here.
func (b *Branch) wasThere() (bool, error) {
	was, err := b.has(b.there, b.here)
	for i := len(b.seen) - 1; i >= 0 && !was && err == nil; i-- {
		was, _ = b.has(b.seen[i], b.here) // git may have deleted a former history
	}
	return was, err
}

// has reports whether the commit h has the commit other in its history. Either may be zero.
func (b *Branch) has(h, other gitstore.Hash) (bool, error) {
	if h.IsZero() || other.IsZero() {
		return other.IsZero(), nil
	}
	return lineage.Contains(b.s, h, other)
}

func (b *Branch) folder(commit gitstore.Hash) (*Folder, error) {
	tree := gitstore.ZeroHash
	if !commit.IsZero() {
		c, err := b.s.Git().Commit(commit)
		if err != nil {
			return nil, layout.CorruptObject(commit, err)
		}
		tree = c.Tree
	}
	return openFolder(b.s.Git(), b.batch, tree)
}

// IsNew reports whether the branch exists neither here nor at the remote.
func (b *Branch) IsNew() bool { return b.base.IsZero() }

// Discard drops what was written.
func (b *Branch) Discard() { b.batch.Discard() }

// Commit commits the change and moves the branch to the commit. If replace, this is the branch's only commit. Then it
// pushes the branch, if there is a remote. Errors: layout.ErrConflict if somebody else has moved the branch
// meanwhile, or the remote refuses it.
func (b *Branch) Commit(ctx context.Context, subject string, replace bool) error {
	next := b.base
	tree := b.Tree()
	was := gitstore.ZeroHash
	if !b.base.IsZero() {
		c, err := b.s.Git().Commit(b.base)
		if err != nil {
			return err
		}
		was = c.Tree
	}
	if tree != was || replace {
		author, committer, err := b.s.Git().Identity(b.s.Now())
		if err != nil {
			return err
		}
		c := gitstore.Commit{Tree: tree, Author: author, Committer: committer, Message: subject + "\n"}
		if !replace && !b.base.IsZero() {
			c.Parents = []gitstore.Hash{b.base}
		}
		next = b.batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(c))
		if err := b.batch.Flush(ctx); err != nil {
			return err
		}
	}
	if err := b.move(ctx, next, subject, replace); err != nil {
		return err
	}
	return b.push(ctx, next, replace)
}

func (b *Branch) move(ctx context.Context, next gitstore.Hash, subject string, replace bool) error {
	old := b.here
	if next == old {
		return nil
	}
	who := b.s.Git().Committer(b.s.Now())
	if replace && !old.IsZero() { // this also deletes the reflog
		if err := b.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: b.ref, Old: old, Message: "tape: " + subject, Who: who}); err != nil {
			return err
		}
		old = gitstore.ZeroHash
	}
	err := b.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: b.ref, Old: old, New: next, Message: "tape: " + subject, Who: who})
	if errors.Is(err, gitstore.ErrConflict) {
		return layout.Conflict("publish again", "somebody else has changed the branch meanwhile: %v", err)
	}
	return errors.Join(err, b.batch.Finish(context.WithoutCancel(ctx)))
}

func (b *Branch) push(ctx context.Context, next gitstore.Hash, replace bool) error {
	if b.remote == "" || next == b.there {
		return nil
	}
	ref := transport.PushRef{Name: b.ref, New: next}
	if replace && !b.there.IsZero() {
		ref.Old, ref.Replace = b.there, true
	}
	results, err := transport.Push(ctx, b.s.Git(), b.remote, [][]transport.PushRef{{ref}}, transport.Options{Progress: b.progress})
	if err != nil {
		return layout.Wrap(err, "publish to %s", b.remote)
	}
	for _, r := range results[0] {
		if r.Status == transport.PushRejected {
			return layout.Conflict("publish again: if somebody else has published meanwhile, that stays", "%s refused the branch: %s", b.remote, r.Reason)
		}
	}
	return nil
}

// WasRewritten reports whether a tape lacks a commit, as after a purge. The commit is unknown if it is not in the
// workspace: it was purged, or somebody else has made it and it was not pulled yet.
func WasRewritten(t *workspace.Tape, commit string) (rewritten, unknown bool, err error) {
	h, err := gitstore.ParseHash(commit)
	if err != nil {
		return false, false, nil //nolint:nilerr // of another version
	}
	head, err := t.Head()
	if err != nil {
		return false, false, err
	}
	if _, err := t.Store().Git().Commit(h); errors.Is(err, gitstore.ErrNotFound) {
		return true, true, nil
	}
	has, err := lineage.Contains(t.Store(), head, h)
	return !has, false, err
}

// Describe returns the subject of a commit. removed: pages of some sessions were taken out.
func Describe(sessions int, removed bool) string {
	what := "publish: 1 session"
	if sessions != 1 {
		what = fmt.Sprintf("publish: %d sessions", sessions)
	}
	if removed {
		what += ", after some were taken out"
	}
	return what
}
