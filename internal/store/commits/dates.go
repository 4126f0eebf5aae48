package commits

import (
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Dates gives commits the dates of their entries, for sessions that are recorded. From commit to commit the date
// never goes back, because git's walks rely on that. None is in the future, or before 1970, which git cannot write.
type Dates struct {
	newest time.Time // of the entries so far
	last   time.Time // the committer's date of the last commit
}

// DatesAfter continues a commit.
func DatesAfter(c gitstore.Commit) *Dates { return &Dates{last: c.Committer.When} }

// Add takes the last line of the next commit into account. Nothing happens for nil.
func (d *Dates) Add(line []byte) {
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

// set changes the dates of a commit, which are now.
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
