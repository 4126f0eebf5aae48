package web

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/index"
	"tape/internal/serve/web/entries"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/show/draw"
	"tape/internal/store/about"
	"tape/repo"
)

const (
	listed  = 150             // sessions on a page
	growing = 2 * time.Minute // after its last entry a session counts as live
)

// listedTape is a session in the list, with its subagents.
type listedTape struct {
	about.Tape
	Base    string // the prefix of its links
	Live    bool
	Parent  string // of a fork
	People  []entries.Person
	Helpers int

	Active         time.Duration
	Files          int // that were changed
	Added, Removed int64
	Failed         int64

	space *space
	names []string // the session's tape and those of its subagents
}

// dayGroup is the sessions of a day.
type dayGroup struct {
	Title string
	Tapes []*listedTape
}

type sessionList struct {
	Days                             []dayGroup
	All, From, Next                  int
	Agents, Projects                 []string
	Agent, Project, Since, Day, Grep string
	DayName                          string
	Calendar                         template.HTML
	More                             template.URL // the query of the next page
}

func (d *sessionList) wants(a about.Tape, since time.Time, day [2]time.Time) bool {
	if d.Agent != "" && a.Agent != d.Agent || d.Project != "" && a.ProjectName() != d.Project || a.Updated.Before(since) ||
		!day[0].IsZero() && (a.Updated.Before(day[0]) || !a.Started.Before(day[1])) {
		return false
	}
	return slices.ContainsFunc([]string{a.Title, a.Name, a.Project, a.Branch}, func(s string) bool { return has(s, d.Grep) })
}

// sessions lists the tapes of a workspace, or of all, as the command tape tapes does.
func (s *View) sessions(r *request) error {
	v := r.URL.Query()
	d := sessionList{Agent: v.Get("agent"), Project: v.Get("project"), Since: v.Get("since"), Day: v.Get("day"), Grep: v.Get("grep")}
	since, err := filter.Since("since", d.Since, s.Now())
	if err != nil {
		return err
	}
	var day [2]time.Time
	if d.Day != "" {
		begin, err := filter.Since("day", d.Day, s.Now())
		if err != nil {
			return err
		}
		day, d.DayName = [2]time.Time{begin, begin.AddDate(0, 0, 1)}, s.dayName(begin)
	}
	spaces := s.together(r)
	list, err := s.list(r, spaces, &d, since, day)
	if err != nil {
		return err
	}
	d.All = len(list)
	from, _ := strconv.Atoi(v.Get("from")) // 0 if it is not a number
	d.From = max(0, min(from, d.All))
	list = list[d.From:min(d.From+listed, d.All)]
	if next := d.From + len(list); next < d.All {
		d.Next = next
		v.Set("from", strconv.Itoa(next))
		d.More = template.URL(v.Encode()) //nolint:gosec // Encode escapes it
	}
	for _, w := range spaces {
		if err := w.addWork(r.Context(), list); err != nil && len(spaces) == 1 {
			return err
		}
	}
	d.group(list, s)
	if d.Calendar, err = s.calendar(r, spaces); err != nil {
		return err
	}
	return s.show(r, "sessions", "Sessions", d)
}

// list returns the sessions that are wanted: those that grow now, then the newest first.
func (s *View) list(r *request, spaces []*space, d *sessionList, since time.Time, day [2]time.Time) ([]*listedTape, error) {
	var list []*listedTape
	agents, projects := map[string]bool{}, map[string]bool{}
	for _, w := range spaces {
		facts, err := w.about(r.Context(), nil)
		if err != nil && len(spaces) == 1 {
			return nil, err
		}
		helpers := map[string][]string{} // subagents by the session that started them
		for branch, a := range facts {
			if parent := helperOf(a.Name, branch, facts); parent != "" {
				helpers[parent] = append(helpers[parent], a.Name)
			}
		}
		for branch, a := range facts {
			if !catalog.Listed(a) || helperOf(a.Name, branch, facts) != "" {
				continue
			}
			agents[a.Agent], projects[a.ProjectName()] = true, true
			if !d.wants(a, since, day) {
				continue
			}
			t := &listedTape{Tape: a, Base: w.base, space: w, Helpers: len(helpers[a.Name]), names: append(helpers[a.Name], a.Name)}
			t.Live = !a.Updated.IsZero() && s.Now().Sub(a.Updated) < growing
			if rest, ok := strings.CutPrefix(branch, "fork/"); ok {
				t.Parent = rest[:max(0, strings.LastIndexByte(rest, '/'))]
			}
			for _, author := range a.Authors {
				t.People = append(t.People, entries.PersonOf(author))
			}
			list = append(list, t)
		}
	}
	delete(agents, "")
	delete(projects, "")
	d.Agents, d.Projects = slices.Sorted(maps.Keys(agents)), slices.Sorted(maps.Keys(projects))
	live := func(t *listedTape) int {
		if t.Live {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b *listedTape) int {
		return cmp.Or(live(a)-live(b), b.Updated.Compare(a.Updated), cmp.Compare(a.Base, b.Base), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// helperOf returns the session that started the subagent of a tape; "" if the tape is not a subagent's.
func helperOf(name, branch string, facts map[string]about.Tape) string {
	parent, _, ok := strings.Cut(name, "/agent-")
	if _, there := facts["tape/"+parent]; !ok || !there || !strings.HasPrefix(branch, "tape/") {
		return ""
	}
	return parent
}

// addWork adds what was done in the sessions of a workspace.
func (w *space) addWork(ctx context.Context, list []*listedTape) error {
	of := map[string]*listedTape{} // by each of the session's tapes
	for _, t := range list {
		if t.space == w {
			for _, name := range t.names {
				of[name] = t
			}
		}
	}
	if len(of) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(of))
	w.mu.Lock()
	defer w.mu.Unlock()
	sums, err := w.index.Work(ctx, index.ByTape, index.WorkFilter{Tapes: names})
	if err != nil {
		return err
	}
	for _, sum := range sums {
		t := of[sum.Key]
		t.Active, t.Failed = t.Active+sum.Active, t.Failed+sum.Failed
	}
	files, err := w.index.Files(ctx, index.FileFilter{Tapes: names})
	for _, f := range files {
		if t := of[f.Tape]; f.Writes > 0 {
			t.Files++
			t.Added, t.Removed = t.Added+f.Added, t.Removed+f.Removed
		}
	}
	return err
}

// group puts sessions under their days; those that grow now stand first.
func (d *sessionList) group(list []*listedTape, s *View) {
	title := func(t *listedTape) string {
		switch {
		case t.Live:
			return "Running now"
		case t.Updated.IsZero():
			return "Without a date"
		}
		return s.dayName(t.Updated)
	}
	for _, t := range list {
		name := title(t)
		if n := len(d.Days); n == 0 || d.Days[n-1].Title != name {
			d.Days = append(d.Days, dayGroup{Title: name})
		}
		g := &d.Days[len(d.Days)-1]
		g.Tapes = append(g.Tapes, t)
	}
}

// dayName is a day as people say it.
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
func (s *View) calendar(r *request, spaces []*space) (template.HTML, error) {
	now := s.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	since := today.AddDate(-1, 0, 1)
	since = since.AddDate(0, 0, -(int(since.Weekday())+6)%7) // a Monday
	sums, err := s.work(r, spaces, index.ByDay, index.WorkFilter{Since: since, Zone: now.Location()})
	if err != nil {
		return "", err
	}
	by := map[string]*index.Work{}
	for _, w := range sums {
		by[w.Key] = w
	}
	var days []draw.Day
	for t := since; !t.After(today); t = t.AddDate(0, 0, 1) {
		d := draw.Day{Date: t, Title: t.Format("Monday, 2 January 2006")}
		if w := by[t.Format(time.DateOnly)]; w != nil && (w.Active > 0 || w.Turns > 0) {
			d.Value = max(1, w.Active.Minutes())
			d.Title += ": " + display.Count(w.Sessions, "session", "sessions")
			if w.Active > 0 {
				d.Title += ", " + display.Work(w.Active)
			}
			d.Link = r.base + "/?" + url.Values{"day": {t.Format(time.DateOnly)}}.Encode()
		}
		days = append(days, d)
	}
	return draw.Calendar(days, "Activity in the last year"), nil
}

func has(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// helpers are the tapes of a session's subagents, in the order of their beginnings.
func (r *request) helpers(t *repo.Tape) (out []about.Tape) {
	facts, err := r.space.about(r.Context(), nil)
	if err != nil {
		return nil // the page is useful without them
	}
	for branch, a := range facts {
		if helperOf(a.Name, branch, facts) == t.Name() {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b about.Tape) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	return out
}
