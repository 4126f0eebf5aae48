package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/internal/store/activity"
)

// By says how work is grouped.
type By string

// The ways to group work.
const (
	ByNothing By = ""
	ByDay     By = "day"     // as 2006-01-02, in the zone of WorkFilter
	ByProject By = "project" // the directory in which the session began
	ByAgent   By = "agent"
	ByModel   By = "model"
	ByTool    By = "tool" // without turns and tokens
	ByPerson  By = "person"
	ByTape    By = "tape" // a subagent's tape counts apart from that of its session
)

// And returns the way to group by both. A key then has the two parts of [Work.Keys]. Not every two go together: a tool's
// calls are not kept by model or person.
func (b By) And(o By) By { return b + "," + o }

// Parts returns the one or two ways that make up b.
func (b By) Parts() []By {
	first, second, both := strings.Cut(string(b), ",")
	if !both {
		return []By{b}
	}
	return []By{By(first), By(second)}
}

// between separates the parts of a key.
const between = "\x1e"

// Keys returns the parts of the key, as [By.Parts].
func (w *Work) Keys() []string { return strings.Split(w.Key, between) }

// Rename replaces each part of a key. part is its place: 0, or 1 for the second of two.
func Rename(key string, rename func(part int, key string) string) string {
	parts := strings.Split(key, between)
	for i := range parts {
		parts[i] = rename(i, parts[i])
	}
	return strings.Join(parts, between)
}

// OwnerOf is what a key of ByPerson begins with if it names a tape and stands for the tape's owner.
const OwnerOf = "\x1f"

// WorkFilter chooses what is summed. Work is stored by the quarter of an hour, so those of
// Since and Until count completely.
type WorkFilter struct {
	Tapes        []string               // names; nil: all
	Since, Until time.Time              // the zero value is no bound
	Project      func(dir string) bool  // nil: all
	Agent        func(name string) bool // nil: all
	Zone         *time.Location         // of days; nil is UTC
}

// Work is a sum of what was done.
type Work struct {
	Key                            string
	Sessions, Turns, Calls, Failed int64
	Active                         time.Duration
	Tokens                         map[string]activity.Tokens // by model
}

// Add adds another sum.
func (w *Work) Add(o *Work) {
	w.Sessions, w.Turns, w.Active = w.Sessions+o.Sessions, w.Turns+o.Turns, w.Active+o.Active
	w.Calls, w.Failed = w.Calls+o.Calls, w.Failed+o.Failed
	for model, t := range o.Tokens {
		t.Add(w.Tokens[model])
		w.Tokens[model] = t
	}
}

// condition is the WHERE clause for a filter, and its arguments.
type condition struct {
	where []string
	args  []any
}

func (c *condition) add(where string, args ...any) {
	c.where, c.args = append(c.where, where), append(c.args, args...)
}

func (c *condition) in(column string, values []string) {
	if len(values) == 0 {
		c.add("0")
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

func (c *condition) String() string {
	if len(c.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.where, " AND ")
}

func (d *DB) condition(f WorkFilter) (*condition, error) {
	c := &condition{}
	if !f.Since.IsZero() {
		c.add("w.quarter >= ?", f.Since.Unix()/activity.QuarterHour)
	}
	if !f.Until.IsZero() {
		c.add("w.quarter <= ?", f.Until.Unix()/activity.QuarterHour)
	}
	if f.Tapes != nil {
		c.in("t.name", f.Tapes)
	}
	for column, match := range map[string]func(string) bool{"project": f.Project, "agent": f.Agent} {
		if match == nil {
			continue
		}
		var values []string
		var v string
		if err := d.rows("SELECT DISTINCT "+column+" FROM tapes INDEXED BY worked", nil, []any{&v}, func() error {
			if match(v) {
				values = append(values, v)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		c.in("t."+column, values)
	}
	return c, nil
}

// Work returns sums of what was done, sorted by their keys. With ByPerson, the keys are sorted before nameOwners
// changes them.
func (d *DB) Work(by By, f WorkFilter) ([]*Work, error) {
	c, err := d.condition(f)
	if err != nil {
		return nil, err
	}
	key, err := d.keyOf(by, f.Zone)
	if err != nil {
		return nil, err
	}
	var out []*Work
	groups := map[string]*Work{}
	get := func(key string) *Work {
		w := groups[key]
		if w == nil {
			w = &Work{Key: key, Tokens: map[string]activity.Tokens{}}
			groups[key], out = w, append(out, w)
		}
		return w
	}
	table := "work"
	tools := slices.Contains(by.Parts(), ByTool)
	if tools {
		table = "tools"
	}
	from := " FROM " + table + " w JOIN tapes t INDEXED BY worked ON t.no = w.tape" + c.String()
	var name string
	var sessions int64
	if err := d.rows("SELECT "+key+" AS k, count(DISTINCT t.session)"+from+" GROUP BY k ORDER BY k", c.args, []any{&name, &sessions}, func() error {
		get(name).Sessions = sessions
		return nil
	}); err != nil {
		return nil, err
	}
	var n Work
	var active int64
	if tools {
		err := d.rows("SELECT "+key+" AS k, sum(w.calls), sum(w.failed), sum(w.active)"+from+" GROUP BY k", c.args,
			[]any{&name, &n.Calls, &n.Failed, &active}, func() error {
				w := get(name)
				w.Calls, w.Failed, w.Active = n.Calls, n.Failed, time.Duration(active)*time.Microsecond
				return nil
			})
		return out, err
	}
	var model string
	var used activity.Tokens
	err = d.rows("SELECT "+key+` AS k, w.model, sum(w.turns), sum(w.active), sum(w.calls), sum(w.failed),
		sum(w.input), sum(w.output), sum(w.cache_read), sum(w.cache_write), sum(w.cache_long),
		sum(w.noted_cost), sum(w.noted_input), sum(w.noted_output), sum(w.noted_read), sum(w.noted_write), sum(w.noted_long)`+from+" GROUP BY k, w.model", c.args,
		[]any{&name, &model, &n.Turns, &active, &n.Calls, &n.Failed, &used.Input, &used.Output, &used.CacheRead, &used.CacheWrite, &used.CacheLong,
			&used.Noted.Cost, &used.Noted.Input, &used.Noted.Output, &used.Noted.CacheRead, &used.Noted.CacheWrite, &used.Noted.CacheLong}, func() error {
			w := get(name)
			w.Turns, w.Calls, w.Failed, w.Active = w.Turns+n.Turns, w.Calls+n.Calls, w.Failed+n.Failed, w.Active+time.Duration(active)*time.Microsecond
			w.Tokens[model] = used
			return nil
		})
	if slices.Contains(by.Parts(), ByPerson) && err == nil {
		err = d.nameOwners(out)
	}
	return out, err
}

// nameOwners replaces the number of a session in a key by the name of the session's tape, which is the first in
// alphabetical order: the names of its forks and subagents are longer.
func (d *DB) nameOwners(list []*Work) error {
	names := map[string]string{}
	var session, name string
	err := d.rows("SELECT CAST(session AS TEXT), min(name) FROM tapes INDEXED BY worked GROUP BY session", nil, []any{&session, &name}, func() error {
		names[OwnerOf+session] = OwnerOf + name
		return nil
	})
	for _, w := range list {
		w.Key = Rename(w.Key, func(_ int, key string) string {
			if name, ok := names[key]; ok {
				return name
			}
			return key
		})
	}
	return err
}

func (d *DB) keyOf(by By, zone *time.Location) (string, error) {
	if parts := by.Parts(); len(parts) > 1 {
		first, err := d.keyOf(parts[0], zone)
		second, err2 := d.keyOf(parts[1], zone)
		if slices.Contains(parts, ByTool) && (slices.Contains(parts, ByModel) || slices.Contains(parts, ByPerson)) {
			err = fmt.Errorf("work cannot be grouped by %q", by)
		}
		return first + " || char(30) || " + second, cmp.Or(err, err2)
	}
	switch by {
	case ByNothing:
		return "''", nil
	case ByDay:
		var first, last int64
		if _, err := d.row("SELECT coalesce(min(quarter), 0), coalesce(max(quarter), 0) FROM work", nil, &first, &last); err != nil {
			return "", err
		}
		return dayOf(first, last, zone), nil
	case ByProject:
		return "t.project", nil
	case ByAgent:
		return "t.agent", nil
	case ByModel:
		return "w.model", nil
	case ByTape:
		return "t.name", nil
	case ByTool:
		return "w.name", nil
	case ByPerson:
		return "CASE w.person WHEN '' THEN '" + OwnerOf + "' || t.session ELSE w.person END", nil
	}
	return "", fmt.Errorf("work cannot be grouped by %q", by)
}

// dayOf returns SQL for the day of a quarter of an hour in a zone. first and last are the quarters between which the
// zone's offsets have to be right.
func dayOf(first, last int64, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	const quarter, most = activity.QuarterHour, 400
	var cases strings.Builder
	at, end := time.Unix(first*quarter, 0).In(zone), time.Unix(last*quarter, 0)
	for range most {
		_, next := at.ZoneBounds()
		if next.IsZero() || next.After(end) {
			break
		}
		_, offset := at.Zone()
		fmt.Fprintf(&cases, " WHEN w.quarter < %d THEN %d", (next.Unix()+quarter-1)/quarter, offset)
		at = next
	}
	_, offset := at.Zone()
	if cases.Len() == 0 {
		return fmt.Sprintf("date(w.quarter * %d + %d, 'unixepoch')", quarter, offset)
	}
	return fmt.Sprintf("date(w.quarter * %d + CASE%s ELSE %d END, 'unixepoch')", quarter, cases.String(), offset)
}
