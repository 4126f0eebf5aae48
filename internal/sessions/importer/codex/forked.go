package codex

import (
	"encoding/hex"
	"strings"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// A fork's file begins with its own session_meta, then has all lines of the session that it was forked from, with that
// one's session_meta, and with the time of the fork as their date (kenn-io/agentsview#643, steipete/CodexBar#627). The
// ids of their turns stay.

// lineage is where the records that are being read come from.
type lineage struct {
	scope   string         // what identifies the turn, or else the session whose session_meta came last
	forked  time.Time      // when the present session was forked from another one; zero: it was not
	copying bool           // the records are those of the other session
	isFork  bool           // a session_meta says that the session is a fork
	facts   record.Counter // of what was said in a scope
}

// atOnce is how long it takes at most to write the copied lines.
const atOnce = time.Second

// trace notes what a record says about where it and the records after it come from.
func (c *reader) trace(it *item) {
	turn := ""
	switch {
	case it.typ == "session_meta":
		c.scope = "session " + it.str("id")
		if jsonl.Get(it.payload, "forked_from_id") == nil && c.first >= 0 && c.isFork {
			c.copying = true
			if at, err := time.Parse(time.RFC3339, it.date); err == nil && c.forked.IsZero() {
				c.forked = at
			}
		}
		c.isFork = c.isFork || jsonl.Get(it.payload, "forked_from_id") != nil
	case it.typ == "turn_context", it.kind == "task_started":
		turn = it.str("turn_id")
	}
	if turn != "" {
		c.scope = "turn " + turn
	}
	if c.copying {
		began, known := turnTime(turn)
		at, err := time.Parse(time.RFC3339, it.date)
		switch {
		case known && began.Before(c.forked.Add(-atOnce)): // it was copied, however long that took
		case known, err == nil && at.Sub(c.forked) > atOnce:
			c.copying = false
		}
	}
	it.scope, it.copied = c.scope, c.copying
}

// turnTime returns when a turn began: its id is a UUID of version 7.
func turnTime(id string) (time.Time, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(raw) != 16 || raw[6]>>4 != 7 {
		return time.Time{}, false
	}
	ms := int64(0)
	for _, b := range raw[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms), true
}

// fact returns what a copy of an entry has as well, see [record.Entry]: its turn, and what it says.
func (c *reader) fact(it item, said []byte) string {
	kind := []byte(it.kind + "\x00")
	n := c.facts.Next(record.Sum(record.HashOf([]byte(it.scope+"\x00"), kind, said)))
	return it.scope + " " + record.HashKey(record.HashOf(kind, said), n)[len("sha256:"):]
}
