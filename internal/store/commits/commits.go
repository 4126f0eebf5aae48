// Package commits makes the commits of a tape: each on top of the one before, with its author, dates and signature.
// It moves no branch. The tags of handoffs are made, restored and removed here too.
package commits

import (
	"context"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Plan says where to move a branch.
type Plan struct {
	Hash    gitstore.Hash
	Subject string          // for the reflog
	Tags    []gitstore.Ref  // of the new phases: full name and tag object
	Objects *gitstore.Batch // with objects to store before the move; nil: none
	// Clean: the working tree equals the branch's old commit. Files that both commits share are not rewritten.
	Clean bool
}

// Chain builds commits on top of each other, without a working tree. Its Plan leads to the newest commit.
type Chain struct {
	Plan
	Last int64 // id of the newest commit's last entry

	t     *workspace.Tape
	batch *gitstore.Batch
	b     *resolve.Builder
	dates *Dates // nil: commits are dated now
}

// On returns a Chain that starts with a snapshot's commit.
func On(t *workspace.Tape, v *snapshot.Snapshot, batch *gitstore.Batch) (*Chain, error) {
	last, err := v.LastID()
	if err != nil {
		return nil, err
	}
	b, err := resolve.NewBuilder(v, batch.Put)
	return Continue(t, batch, b, Plan{Hash: v.Commit, Subject: "back to " + layout.OneLine(t.Name())}, last), err
}

// Continue returns a Chain that starts with a commit whose tree a builder has made. last is its last entry.
func Continue(t *workspace.Tape, batch *gitstore.Batch, b *resolve.Builder, from Plan, last int64) *Chain {
	from.Objects = batch
	return &Chain{Plan: from, Last: last, t: t, batch: batch, b: b}
}

// Dated gives the commits the dates of their entries, or the current time if d is nil.
func (c *Chain) Dated(d *Dates) *Chain {
	c.dates = d
	return c
}

// From says where to look for artifacts that lines refer to: among loose, artifacts of a working tree that are stored
// in git, and in others.
func (c *Chain) From(loose []gitstore.TreeEntry, others ...*snapshot.Snapshot) {
	c.b.Loose = loose
	c.b.From = append(c.b.From, others...)
}

// Phases returns the number of phases in the newest tree.
func (c *Chain) Phases() int { return c.b.Seq }

// Add adds a commit with lines, whose ids follow Last.
func (c *Chain) Add(ctx context.Context, subject string, lines [][]byte, merged []gitstore.Hash, more ...layout.Trailer) error {
	for _, line := range lines {
		if err := c.b.AddLine(line); err != nil {
			return err
		}
	}
	if len(lines) > 0 {
		c.dates.Add(lines[len(lines)-1])
	}
	_, err := c.Commit(ctx, subject, c.Last+int64(len(lines)), merged, more...)
	return err
}

// Commit adds a commit of what the builder has, up to entry last. message is a subject and maybe a text after an
// empty line.
func (c *Chain) Commit(ctx context.Context, message string, last int64, merged []gitstore.Hash, more ...layout.Trailer) (gitstore.Commit, error) {
	tree := c.b.Tree()
	out := gitstore.Commit{Tree: tree, Parents: append([]gitstore.Hash{c.Hash}, merged...),
		Message: c.t.Message(message, c.b.Anchor, c.Last+1, last, c.b.Format, more...)}
	var err error
	c.Last = last
	c.Subject, _, _ = strings.Cut(message, "\n")
	c.Hash, err = Put(ctx, c.t, c.batch, &out, c.dates)
	return out, err
}

// Checkpoint adds a commit with lines, unless there are none.
func (c *Chain) Checkpoint(ctx context.Context, lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	return c.Add(ctx, CheckpointSubject(len(lines)), lines, nil)
}

// CheckpointSubject is the subject of a commit that only stores entries.
func CheckpointSubject(entries int) string {
	return "checkpoint: " + layout.CountEntries(int64(entries))
}

// Put sets a commit's author and committer, signs it if git's configuration says so, and stores it. If dates
// is nil, the commit has the current time.
func Put(ctx context.Context, t *workspace.Tape, b *gitstore.Batch, c *gitstore.Commit, dates *Dates) (gitstore.Hash, error) {
	var err error
	if c.Author, c.Committer, err = t.Store().Git().Identity(t.Store().Now()); err != nil {
		return gitstore.ZeroHash, err
	}
	dates.set(c)
	raw, err := t.Store().SignCommit(ctx, gitstore.EncodeCommit(*c))
	if err != nil {
		return gitstore.ZeroHash, err
	}
	return b.Put(gitstore.KindCommit, raw), nil
}
