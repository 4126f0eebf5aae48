package writer

import (
	"context"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Commits builds commits on top of each other, without a working tree. Its Plan leads to the newest.
type Commits struct {
	Plan
	Last int64 // its last entry

	t     *workspace.Tape
	batch *gitstore.Batch
	b     *resolve.Builder
	dates *Dates // nil: commits are dated now
}

// CommitsOn starts with a snapshot's commit.
func CommitsOn(t *workspace.Tape, v *snapshot.Snapshot, batch *gitstore.Batch) (*Commits, error) {
	last, err := v.LastID()
	if err != nil {
		return nil, err
	}
	b, err := resolve.NewBuilder(v, batch.Put)
	return Continue(t, batch, b, Plan{Hash: v.Commit, Subject: "back to " + layout.OneLine(t.Name())}, last), err
}

// Continue starts with a commit whose tree a builder has made.
func Continue(t *workspace.Tape, batch *gitstore.Batch, b *resolve.Builder, from Plan, last int64) *Commits {
	from.Objects = batch
	return &Commits{Plan: from, Last: last, t: t, batch: batch, b: b}
}

// Dated lets the commits have dates of entries; nil: that of today.
func (c *Commits) Dated(d *Dates) *Commits {
	c.dates = d
	return c
}

// From adds places to look for artifacts that lines refer to: stored ones of a working tree, and commits.
func (c *Commits) From(loose []gitstore.TreeEntry, others ...*snapshot.Snapshot) {
	c.b.Loose = loose
	c.b.From = append(c.b.From, others...)
}

// Add adds a commit with lines, which have the next ids.
func (c *Commits) Add(ctx context.Context, subject string, lines [][]byte, merged []gitstore.Hash, more ...layout.Trailer) error {
	for _, line := range lines {
		if err := c.b.AddLine(line); err != nil {
			return err
		}
	}
	if len(lines) > 0 {
		c.dates.hold(lines[len(lines)-1])
	}
	_, err := c.commit(ctx, subject, c.Last+int64(len(lines)), merged, more...)
	return err
}

// commit adds a commit of what the builder has, up to entry last. message is a subject and maybe a text after an
// empty line.
func (c *Commits) commit(ctx context.Context, message string, last int64, merged []gitstore.Hash, more ...layout.Trailer) (gitstore.Commit, error) {
	tree := c.b.Tree()
	out := gitstore.Commit{Tree: tree, Parents: append([]gitstore.Hash{c.Hash}, merged...),
		Message: c.t.Message(message, c.b.Anchor, c.Last+1, last, c.b.Format, more...)}
	var err error
	c.Last = last
	c.Subject, _, _ = strings.Cut(message, "\n")
	c.Hash, err = PutCommit(ctx, c.t, c.batch, &out, c.dates)
	return out, err
}

// Checkpoint adds a commit with lines, unless there are none.
func (c *Commits) Checkpoint(ctx context.Context, lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	return c.Add(ctx, checkpointSubject(len(lines)), lines, nil)
}
