package writer

import (
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Dates lets commits have the dates of the entries that they hold, as those of recorded sessions do. Along a
// line of commits the dates never go back, because git's walks rely on that; and none is in the future, or before
// 1970, which git cannot write.
type Dates struct {
	newest time.Time // of the entries so far
	last   time.Time // the committer's date of the last commit
}

// hold notes the line of the newest entry of the next commit.
func (d *Dates) hold(line []byte) {
	if d == nil || len(line) == 0 {
		return
	}
	e, err := jsonl.Parse(line)
	if err != nil {
		return
	}
	if at, ok := (layout.Entry{Date: e.Date}).Time(); ok {
		d.newest = at
	}
}

// set gives a commit its dates. Before that they are those of today.
func (d *Dates) set(c *gitstore.Commit) {
	if d == nil || d.newest.IsZero() {
		return
	}
	now := c.Committer.When
	at := d.newest.In(now.Location())
	if at.After(now) || at.Unix() < 0 {
		at = now
	}
	c.Author.When, c.Committer.When = at, at
	if at.Before(d.last) {
		c.Committer.When = d.last
	}
	d.last = c.Committer.When
}

// DateCommits lets the commits of the Tx have the dates of the entries that they hold.
func (tx *Tx) DateCommits() error {
	head, err := tx.w.T.Store().Git().Commit(tx.w.Head)
	if err != nil {
		return layout.CorruptObject(tx.w.Head, err)
	}
	tx.setDates(&Dates{last: head.Committer.When})
	return nil
}

func (tx *Tx) setDates(d *Dates) {
	tx.dates = d
	if tx.commits != nil {
		tx.commits.dates = d
	}
}

// Dates returns the dates of the Tx's commits, for commits beside them; nil: that of today.
func (tx *Tx) Dates() *Dates { return tx.dates }
