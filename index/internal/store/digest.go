package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tape/internal/store/about"
	"tape/internal/store/activity"
)

// Digest is what was done in a session, with its forks and subagents, in a range of time. About, Ending and
// Answer are those of the session's own tape, whatever the range.
type Digest struct {
	About            about.Tape
	Last             time.Time // of the last request or commit in the range; zero if none has a date
	Prompts, Commits []Step
	Files            []FileUse // the changed ones; Tape is empty
	Ending           activity.Ending
	Answer           string // the beginning of the last answer, or of the error
	Outcome          string // what came out of the last turn: tests, commits, what failed at the end; "" if it does not say
}

// Step is what a person asked, or a commit that an agent made.
type Step struct {
	Tape  string
	Entry int64
	At    time.Time // zero if the entry has no date
	Text  string    // one line; for a commit, its id and its subject
}

// Digests returns what was done in sessions, in no particular order. Sessions in which nobody asked anything in the range
// are left out.
func (d *DB) Digests(f WorkFilter) ([]*Digest, error) {
	found := map[int64]*Digest{}
	if err := d.addSaid(f, found); err != nil || len(found) == 0 {
		return nil, err
	}
	sessions := make([]string, 0, len(found))
	for session := range found {
		sessions = append(sessions, fmt.Sprint(session))
	}
	in := "t.session IN (" + strings.Join(sessions, ",") + ")"
	var session int64
	var name, rawAbout, rawDone string
	if err := d.rows("SELECT t.session, t.name, t.about, t.activity FROM tapes t WHERE "+in+" ORDER BY length(t.name) DESC", nil,
		[]any{&session, &name, &rawAbout, &rawDone}, func() (err error) {
			g := found[session]
			// The last row of a session is its own tape's: forks and subagents have longer names.
			if g.About, err = decodeAbout(rawAbout); err != nil {
				return err
			}
			g.About.Name = name
			var done activity.Session
			if err := json.Unmarshal([]byte(rawDone), &done); err != nil {
				return fmt.Errorf("%w: the activity of tape %q: %w", ErrInconsistent, name, err)
			}
			g.Ending, g.Answer, g.Outcome = done.Ending, done.Answer, done.Outcome()
			return nil
		}); err != nil {
		return nil, err
	}
	if err := d.addFiles(f, in, found); err != nil {
		return nil, err
	}
	out := make([]*Digest, 0, len(found))
	for _, g := range found {
		if len(g.Prompts) > 0 {
			out = append(out, g)
		}
	}
	return out, nil
}

// addSaid adds to found what was asked and committed, by session.
func (d *DB) addSaid(f WorkFilter, found map[int64]*Digest) error {
	c, err := d.conditionAt(f, "s.at")
	if err != nil {
		return err
	}
	var session, doc int64
	var at sql.NullInt64
	var isCommit bool
	var step Step
	return d.rows("SELECT t.session, t.name, s.doc, s.at, s.is_commit, s.text FROM said s JOIN tapes t INDEXED BY worked ON t.no = s.doc >> 26"+c.String()+" ORDER BY s.at, s.doc", c.args,
		[]any{&session, &step.Tape, &doc, &at, &isCommit, &step.Text}, func() error {
			g := found[session]
			if g == nil {
				g = &Digest{}
				found[session] = g
			}
			step.Entry, step.At = IDOf(doc), dateOf(at)
			if g.Last = step.At; isCommit {
				g.Commits = append(g.Commits, step)
			} else {
				g.Prompts = append(g.Prompts, step)
			}
			return nil
		})
}

// addFiles adds to found the files that sessions changed; in is the SQL condition for these sessions.
func (d *DB) addFiles(f WorkFilter, in string, found map[int64]*Digest) error {
	c, err := d.conditionAt(f, "o.at")
	if err != nil {
		return err
	}
	c.add(in)
	var session int64
	var first, last sql.NullInt64
	var u FileUse
	return d.rows(`SELECT t.session, p.path, sum(o.reads), sum(o.writes), sum(o.added), sum(o.removed), min(o.at), max(o.at)
		FROM tapes t JOIN touches o ON o.doc BETWEEN t.no << 26 AND (t.no << 26) + 0x3ffffff JOIN paths p ON p.no = o.path`+
		c.String()+" GROUP BY t.session, p.no HAVING sum(o.writes) > 0 ORDER BY min(o.at), p.path", c.args,
		[]any{&session, &u.Path, &u.Reads, &u.Writes, &u.Added, &u.Removed, &first, &last}, func() error {
			u.First, u.Last = dateOf(first), dateOf(last)
			found[session].Files = append(found[session].Files, u)
			return nil
		})
}

// conditionAt returns the SQL condition for a filter. The range of time applies to the column at, not to hours of work.
func (d *DB) conditionAt(f WorkFilter, at string) (*condition, error) {
	since, until := f.Since, f.Until
	f.Since, f.Until = time.Time{}, time.Time{}
	c, err := d.condition(f)
	if err != nil {
		return nil, err
	}
	if !since.IsZero() {
		c.add(at+" >= ?", since.UnixMicro())
	}
	if !until.IsZero() {
		c.add(at+" <= ?", until.UnixMicro())
	}
	return c, nil
}
