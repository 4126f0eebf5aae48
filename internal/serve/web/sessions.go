package web

import (
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/index"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/store/about"
)

const (
	sessionsShown = 100             // on a page
	liveFor       = 2 * time.Minute // after its last entry, a session counts as live
)

// ListedSession is a session in the list, with its subagents.
type ListedSession struct {
	about.Tape
	Base    string // the prefix of its links
	Parent  string // of a fork
	Place   string // the name of its place, if the list shows it
	Helpers int

	Active         time.Duration
	Files          int // that were changed
	Added, Removed int64
	Failed         int64

	space *space
	names []string // the session's tape and those of its subagents
}

// listedTape is a session as the list shows it.
type listedTape struct {
	*ListedSession
	Live   bool
	People []person
}

// dayGroup is the sessions of a day.
type dayGroup struct {
	Title string
	Tapes []listedTape
}

type sessionList struct {
	*Listing
	Days                                     []dayGroup
	Next                                     int
	Agent, Project, Person, Since, Day, Grep string
	Tag                                      string
	Starred                                  bool
	DayName                                  string
	Calendar                                 template.HTML
	More                                     template.URL // the query of the next page
}

// sessions lists the sessions.
func (s *View) sessions(r *request) error {
	v := r.URL.Query()
	d := sessionList{Agent: v.Get("agent"), Project: v.Get("project"), Person: v.Get("person"), Since: v.Get("since"), Day: v.Get("day"), Grep: v.Get("grep"), Tag: v.Get("tag"), Starred: v.Get("starred") != ""}
	want := ListQuery{Agent: d.Agent, Project: d.Project, Person: d.Person, Text: d.Grep, Tag: d.Tag, Starred: d.Starred, Most: sessionsShown}
	var err error
	if want.Since, err = filter.Since("since", d.Since, s.Now()); err != nil {
		return err
	}
	if d.Day != "" {
		begin, err := filter.Since("day", d.Day, s.Now())
		if err != nil {
			return err
		}
		want.Day, d.DayName = [2]time.Time{begin, begin.AddDate(0, 0, 1)}, s.dayName(begin)
	}
	want.From, _ = strconv.Atoi(v.Get("from")) // 0 if it is not a number
	if d.Listing, err = r.from.List(r.Context(), want); err != nil {
		return err
	}
	// A form would not send a name with control characters as it is.
	d.People = slices.DeleteFunc(d.People, func(author string) bool { return display.Line(author) != author })
	if next := d.From + len(d.Tapes); next < d.All {
		d.Next = next
		v.Set("from", strconv.Itoa(next))
		d.More = template.URL(v.Encode()) //nolint:gosec // Encode escapes it
	}
	d.group(s)
	if d.Calendar, err = s.calendar(r); err != nil {
		return err
	}
	return s.show(r, "sessions", "Sessions", d)
}

// group puts sessions under their days, the live ones first.
func (d *sessionList) group(s *View) {
	title := func(t listedTape) string {
		switch {
		case t.Live:
			return "Running now"
		case t.Updated.IsZero():
			return "Without a date"
		}
		return s.dayName(t.Updated)
	}
	var live, rest []listedTape
	for _, one := range d.Tapes {
		t := listedTape{ListedSession: one, Live: !one.Updated.IsZero() && s.Now().Sub(one.Updated) < liveFor}
		for _, author := range one.Authors {
			t.People = append(t.People, personOf(author))
		}
		if t.Live {
			live = append(live, t)
		} else {
			rest = append(rest, t)
		}
	}
	for _, t := range append(live, rest...) {
		name := title(t)
		if n := len(d.Days); n == 0 || d.Days[n-1].Title != name {
			d.Days = append(d.Days, dayGroup{Title: name})
		}
		g := &d.Days[len(d.Days)-1]
		g.Tapes = append(g.Tapes, t)
	}
}

// dayName is what people call a day: Today, Monday, or a date.
func (s *View) dayName(t time.Time) string {
	now := s.Now()
	t = t.In(now.Location())
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
	}
	switch days := int(day(now).Sub(day(t)).Hours() / 24); {
	case days == 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case days > 1 && days < 7:
		return t.Format("Monday")
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("Monday, 2 January 2006")
}

// calendar draws the activity of the last year, with links to its days.
func (s *View) calendar(r *request) (template.HTML, error) {
	now := s.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	since := today.AddDate(-1, 0, 1)
	since = since.AddDate(0, 0, -(int(since.Weekday())+6)%7) // a Monday
	sums, err := r.from.Activity(r.Context(), since)
	if err != nil {
		return "", err
	}
	by := map[string]*index.Work{}
	for _, w := range sums {
		by[w.Key] = w
	}
	var days []drawnDay
	for t := since; !t.After(today); t = t.AddDate(0, 0, 1) {
		d := drawnDay{Date: t, Title: t.Format("Monday, 2 January 2006")}
		if w := by[t.Format(time.DateOnly)]; w != nil && (w.Active > 0 || w.Turns > 0) {
			d.Value = max(float64(w.Sessions), w.Active.Minutes())
			d.Title += ": " + display.Count(w.Sessions, "session", "sessions")
			if w.Active > 0 {
				d.Title += ", " + display.Work(w.Active)
			}
			d.Link = r.base + "/?" + url.Values{"day": {t.Format(time.DateOnly)}}.Encode()
		}
		days = append(days, d)
	}
	return calendarSVG(days, "Activity in the last year"), nil
}

// containsFold reports whether a text contains a part, in any case of letters.
func containsFold(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
