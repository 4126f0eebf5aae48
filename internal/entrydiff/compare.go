package entrydiff

import (
	"bytes"
	"fmt"
	"iter"

	"tape/internal/jsonl"
)

// Lines yields the lines of entries without newlines, by ascending id. A line need
// not outlast its turn.
type Lines = iter.Seq2[[]byte, error]

// Compare yields what makes the new entries of the old ones, by id. Two lines of
// one id are an edited entry when they are likely to be one: of the same date, or
// of the same payload, or without dates and much alike. Otherwise, as in two forks
// that went different ways, one was removed and another added; in such a run the
// removed ones come first, and only equal dates count, because forks also do the
// same things again.
//
// Equal lines cost a comparison and are not kept. It ends after an error, which is
// that of a sequence, or of a line whose id cannot be told.
func Compare(old, new Lines) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		nextOld, stopOld := iter.Pull2(old)
		defer stopOld()
		nextNew, stopNew := iter.Pull2(new)
		defer stopNew()
		c := comparison{yield: yield}
		if err := c.run(&source{next: nextOld, what: "old"}, &source{next: nextNew, what: "new"}); err != nil {
			yield(Change{}, err)
		}
	}
}

// source is one of the sequences, one line at a time.
type source struct {
	next func() ([]byte, error, bool)
	what string
	line []byte
	ok   bool  // there is a line
	n    int   // which line it is, from 1
	id   int64 // 0 when it was not looked at
	last int64 // the last id that was
}

func (s *source) advance() error {
	line, err, ok := s.next()
	s.line, s.ok, s.id = line, ok && err == nil, 0
	s.n++
	return err
}

// identify decodes the id of the line.
func (s *source) identify() error {
	if !s.ok || s.id != 0 {
		return nil
	}
	id, err := jsonl.ParseID(s.line)
	if err != nil {
		return fmt.Errorf("line %d of the %s entries: %w", s.n, s.what, err)
	}
	if id <= s.last {
		return fmt.Errorf("line %d of the %s entries: entry %d stands behind %d", s.n, s.what, id, s.last)
	}
	s.id, s.last = id, id
	return nil
}

// comparison puts changes in order.
type comparison struct {
	yield   func(Change, error) bool
	added   []Change // to come behind the removed ones of this run
	stopped bool
}

func (c *comparison) run(a, b *source) error {
	moveA, moveB := true, true
	for !c.stopped {
		if moveA {
			if err := a.advance(); err != nil {
				return err
			}
		}
		if moveB {
			if err := b.advance(); err != nil {
				return err
			}
		}
		if !a.ok && !b.ok {
			c.flush()
			return nil
		}
		if a.ok && b.ok && bytes.Equal(a.line, b.line) {
			c.flush()
			moveA, moveB = true, true
			continue
		}
		if err := a.identify(); err != nil {
			return err
		}
		if err := b.identify(); err != nil {
			return err
		}
		moveA = a.ok && (!b.ok || a.id <= b.id)
		moveB = b.ok && (!a.ok || b.id <= a.id)
		c.differ(a, b, moveA, moveB)
	}
	return nil
}

// differ reports the line of one side, or of both where they have the same id.
func (c *comparison) differ(a, b *source, inA, inB bool) {
	if inA && inB && versions(a.line, b.line, len(c.added) > 0) {
		c.flush()
		old, new := bytes.Clone(a.line), bytes.Clone(b.line)
		c.report(Change{Kind: Edited, ID: a.id, Old: old, New: new, Parts: Entry(old, new)})
		return
	}
	if inA {
		c.report(Change{Kind: Removed, ID: a.id, Old: bytes.Clone(a.line)})
	}
	if inB {
		ch := Change{Kind: Added, ID: b.id, New: bytes.Clone(b.line)}
		if inA || len(c.added) > 0 {
			c.added = append(c.added, ch)
		} else {
			c.report(ch)
		}
	}
}

// flush ends a run.
func (c *comparison) flush() {
	for _, ch := range c.added {
		c.report(ch)
	}
	c.added = nil
}

func (c *comparison) report(ch Change) {
	if !c.stopped && !c.yield(ch, nil) {
		c.stopped = true
	}
}

// versions reports whether two lines of one id are likely to be versions of one
// entry. apart says that the entries in front of them are not.
func versions(old, new []byte, apart bool) bool {
	a, errA := jsonl.Parse(old)
	b, errB := jsonl.Parse(new)
	switch {
	case errA != nil || errB != nil:
		return true // the id is all there is to go by
	case a.Date != "" && a.Date == b.Date:
		return true
	case apart || a.Kind != b.Kind:
		return false
	case bytes.Equal(a.Payload, b.Payload):
		return true
	}
	return (a.Date == "" || b.Date == "") && similar(mainChange(a.Payload, b.Payload))
}

// mainChange returns the longest value that differs: what two messages share by
// being messages does not make them alike.
func mainChange(a, b []byte) (old, new string) {
	var d differ // without time to compare texts
	d.members("payload", a, b)
	for _, p := range d.parts {
		if max(len(p.Old), len(p.New)) > max(len(old), len(new)) {
			old, new = p.Old, p.New
		}
	}
	return old, new
}

// similar reports whether at least half of the longer text begins or ends the other.
func similar(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	k := 0
	for k < len(a)-n && k < len(b)-n && a[len(a)-1-k] == b[len(b)-1-k] {
		k++
	}
	return 2*(n+k) >= max(len(a), len(b))
}
