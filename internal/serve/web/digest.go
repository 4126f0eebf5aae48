package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/projects"
)

const (
	digestMost    = 300 // sessions on a page
	digestPrompts = 4
	digestFiles   = 6
	digestCommits = 4
)

type digestPage struct {
	Since, Until string
	From         time.Time
	Days         []digestDay
	Left         int // sessions that are left out
	Sessions     int
}

type digestDay struct {
	Title    string
	Projects []digestProject
}

type digestProject struct {
	Name     string
	Sessions []digestSession
}

type digestSession struct {
	report.Session
	Base           string
	Asked          []index.Step
	MoreAsked      int
	Names          []string
	MoreFiles      int
	Added, Removed int64
	Commits        []string
	MoreCommits    int
	CameOut        string // "" if it is only a commit, which is in Commits
}

// digest shows what was done from ?since= to ?until=, as tape digest does. Without ?since=, it shows the seven days up to
// ?until= or today.
func (s *View) digest(r *request) error {
	v := r.URL.Query()
	d := digestPage{Since: v.Get("since"), Until: v.Get("until")}
	q, err := filter.Params{Since: d.Since, Until: d.Until}.Query(filter.InURL, s.Now())
	if err != nil {
		return err
	}
	if d.Since == "" {
		q.Since = report.Week(q.Until, s.Now())
	}
	d.From = q.Since
	var list []digestSession
	spaces := s.together(r.Context(), r.local())
	for _, w := range spaces {
		w.mu.Lock()
		found, err := w.index.Digests(r.Context(), index.WorkFilter{Since: q.Since, Until: q.Until, Zone: s.Now().Location()})
		w.mu.Unlock()
		if err != nil && len(spaces) == 1 {
			return err
		}
		project := projects.Names(w.dir)
		for _, g := range found {
			g.About.ProjectLabel = project(g.About.Project)
			list = append(list, digestSessionOf(g, w.base))
		}
	}
	d.Sessions = len(list)
	facts := make([]*about.Tape, len(list))
	for i := range list {
		facts[i] = &list[i].About
	}
	catalog.TellApart(facts)
	d.group(list, s)
	return s.show(r, "digest", "Digest", d)
}

func digestSessionOf(g *index.Digest, base string) digestSession {
	one := digestSession{Session: report.Session{Digest: g}, Base: base}
	prompts := one.OtherPrompts()
	one.Asked = prompts[:min(len(prompts), digestPrompts)]
	one.MoreAsked = len(prompts) - len(one.Asked)
	for _, f := range g.Files {
		one.Added, one.Removed = one.Added+f.Added, one.Removed+f.Removed
		if len(one.Names) == digestFiles {
			one.MoreFiles++
			continue
		}
		one.Names = append(one.Names, one.Path(f.Path))
	}
	commits := one.UniqueCommits()
	one.Commits = commits[:min(len(commits), digestCommits)]
	one.MoreCommits = len(commits) - len(one.Commits)
	if !strings.HasPrefix(g.Outcome, "commit ") || strings.Contains(g.Outcome, ", ") { // more may have come out
		one.CameOut = g.Outcome
	}
	return one
}

// group puts sessions under their days, the last one first, and their projects.
func (d *digestPage) group(list []digestSession, s *View) {
	zone := s.Now().Location()
	day := func(g digestSession) string { return g.Last.In(zone).Format(time.DateOnly) }
	slices.SortStableFunc(list, func(a, b digestSession) int {
		return cmp.Or(strings.Compare(day(b), day(a)), strings.Compare(a.Project(), b.Project()), b.Last.Compare(a.Last), strings.Compare(a.About.Name, b.About.Name))
	})
	if d.Left = max(0, len(list)-digestMost); d.Left > 0 {
		list = list[:digestMost]
	}
	last := ""
	for _, g := range list {
		if name := day(g); name != last {
			last = name
			d.Days = append(d.Days, digestDay{Title: s.dayName(g.Last)})
		}
		t := &d.Days[len(d.Days)-1]
		if n := len(t.Projects); n == 0 || t.Projects[n-1].Name != g.Project() {
			t.Projects = append(t.Projects, digestProject{Name: g.Project()})
		}
		p := &t.Projects[len(t.Projects)-1]
		p.Sessions = append(p.Sessions, g)
	}
}
