package store

import (
	"fmt"
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

// OwnerOf is what a key of ByPerson begins with if it names a tape and stands for the tape's owner.
const OwnerOf = "\x1f"

// WorkFilter chooses what is summed. Work is stored by the hour, so the hours of Since and Until count completely.
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
	const hour = 3600
	if !f.Since.IsZero() {
		c.add("w.hour >= ?", f.Since.Unix()/hour)
	}
	if !f.Until.IsZero() {
		c.add("w.hour <= ?", f.Until.Unix()/hour)
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
	if by == ByTool {
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
	if by == ByTool {
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
		sum(w.input), sum(w.output), sum(w.cache_read), sum(w.cache_write)`+from+" GROUP BY k, w.model", c.args,
		[]any{&name, &model, &n.Turns, &active, &n.Calls, &n.Failed, &used.Input, &used.Output, &used.CacheRead, &used.CacheWrite}, func() error {
			w := get(name)
			w.Turns, w.Calls, w.Failed, w.Active = w.Turns+n.Turns, w.Calls+n.Calls, w.Failed+n.Failed, w.Active+time.Duration(active)*time.Microsecond
			w.Tokens[model] = used
			return nil
		})
	if by == ByPerson && err == nil {
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
		if name, ok := names[w.Key]; ok {
			w.Key = name
		}
	}
	return err
}

func (d *DB) keyOf(by By, zone *time.Location) (string, error) {
	switch by {
	case ByNothing:
		return "''", nil
	case ByDay:
		var first, last int64
		if _, err := d.row("SELECT coalesce(min(hour), 0), coalesce(max(hour), 0) FROM work", nil, &first, &last); err != nil {
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

// dayOf returns SQL for the day of an hour in a zone. The day is that of the middle of the hour, because some zones
// differ from UTC by half an hour. first and last are the hours between which the zone's offsets have to be right.
func dayOf(first, last int64, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	const hour, most = 3600, 400
	var cases strings.Builder
	at, end := time.Unix(first*hour, 0).In(zone), time.Unix(last*hour, 0)
	for range most {
		_, next := at.ZoneBounds()
		if next.IsZero() || next.After(end) {
			break
		}
		_, offset := at.Zone()
		fmt.Fprintf(&cases, " WHEN w.hour < %d THEN %d", (next.Unix()+hour-1)/hour, offset)
		at = next
	}
	_, offset := at.Zone()
	if cases.Len() == 0 {
		return fmt.Sprintf("date(w.hour * 3600 + %d, 'unixepoch')", offset+hour/2)
	}
	return fmt.Sprintf("date(w.hour * 3600 + %d + CASE%s ELSE %d END, 'unixepoch')", hour/2, cases.String(), offset)
}
