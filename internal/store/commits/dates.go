package commits

import (
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Dates gives commits the dates of their entries, for sessions that are recorded. From commit to commit the
// committer's date never goes back, because git's walks rely on that. The current time replaces a date in the future,
// and one before 1970, which git cannot write.
type Dates struct {
	newest time.Time // the date of the last entry that has one
	last   time.Time // the committer's date of the last commit
}

// DatesAfter returns Dates for the commits after c.
func DatesAfter(c gitstore.Commit) *Dates { return &Dates{last: c.Committer.When} }

// Add takes the last line of the next commit into account. If d is nil, it does nothing.
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

// set changes the dates of a commit, which are the current time. If d is nil, it does nothing.
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
