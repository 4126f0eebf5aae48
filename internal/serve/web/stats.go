package web

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"time"

	"tape/index"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/show/report"
	"tape/internal/store/about"
)

// statsPage has sums over sessions.
type statsPage struct {
	Since, Agent, Project string
	Agents, Projects      []string
	Total                 report.Row
	Tokens                index.Tokens
	Cost, Unpriced        string
	Days                  template.HTML
	Groups                []barGroup
	Tools                 []barRow
	Ranges                []rangeLink
}

type rangeLink struct {
	Name, Value string
	On          bool
}

// stats shows sums of what was done, as tape stats does.
func (s *View) stats(r *request) error {
	v := r.URL.Query()
	d := statsPage{Since: v.Get("since"), Agent: v.Get("agent"), Project: v.Get("project")}
	since, err := filter.Since("since", d.Since, s.Now())
	if err != nil {
		return err
	}
	for _, one := range []rangeLink{{"All time", "", false}, {"7 days", "7d", false}, {"30 days", "30d", false}, {"This year", s.Now().Format("2006-01-01"), false}} {
		one.On = one.Value == d.Since
		d.Ranges = append(d.Ranges, one)
	}
	f := index.WorkFilter{Since: since, Zone: s.Now().Location()}
	if d.Agent != "" {
		f.Agent = func(name string) bool { return name == d.Agent }
	}
	if d.Project != "" {
		f.Project = func(name string) bool { return name == d.Project }
	}
	spaces := s.together(r.Context(), r.local())
	list := r.local().space.prices()
	rows := func(by index.By) ([]report.Row, error) {
		sums, err := s.work(r.Context(), spaces, by, f)
		return report.Rows(sums, by, list), err
	}
	all, err := rows(index.ByNothing)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		d.Total = all[0]
	}
	d.Tokens, d.Cost, d.Unpriced = d.Total.AllTokens(), d.Total.CostText(), report.Unpriced(all)
	days, err := rows(index.ByDay)
	if err != nil {
		return err
	}
	d.Days = s.drawDays(r, days)
	for _, g := range []struct {
		by            index.By
		title, column string
	}{{index.ByProject, "Projects", "Project"}, {index.ByModel, "Models", "Model"}, {index.ByAgent, "Agents", "Agent"}, {index.ByPerson, "People", "Person"}} {
		list, err := rows(g.by)
		if err != nil {
			return err
		}
		d.Groups = append(d.Groups, barGroupOf(g.by, g.title, g.column, list, agentName))
	}
	tools, err := rows(index.ByTool)
	if err != nil {
		return err
	}
	d.Tools = toolBarsOf(tools)
	if d.Agents, d.Projects, err = s.choices(r, spaces); err != nil {
		return err
	}
	return s.show(r, "stats", "Statistics", d)
}

// choices are the agents and projects that sessions have.
func (s *View) choices(r *request, spaces []*space) (agents, projects []string, err error) {
	for _, w := range spaces {
		var facts map[string]about.Tape
		if facts, err = w.about(r.Context(), nil); err != nil && len(spaces) == 1 {
			return nil, nil, err
		}
		for _, a := range facts {
			agents, projects = append(agents, a.Agent), append(projects, a.ProjectName())
		}
	}
	tidy := func(list []string) []string {
		slices.Sort(list)
		return slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
	}
	return tidy(agents), tidy(projects), nil
}

// drawDays draws the active time of each day from the first to the last, at most 401 days; "" if there is none.
func (s *View) drawDays(r *request, rows []report.Row) template.HTML {
	const most = 400 // days before the last one
	by := map[string]report.Row{}
	var first, last time.Time
	for _, row := range rows {
		t, err := time.Parse(time.DateOnly, row.Key)
		if err != nil || t.Year() < 2000 {
			continue // the work has no date
		}
		by[row.Key] = row
		if first.IsZero() || t.Before(first) {
			first = t
		}
		if t.After(last) {
			last = t
		}
	}
	if first.IsZero() {
		return ""
	}
	if last.Sub(first) > most*24*time.Hour {
		first = last.AddDate(0, 0, -most)
	}
	highest := time.Duration(0)
	var days []drawnDay
	for t := first; !t.After(last); t = t.AddDate(0, 0, 1) {
		row, ok := by[t.Format(time.DateOnly)]
		day := drawnDay{Date: t, Value: row.Active.Minutes(), Title: t.Format("Monday, 2 January 2006")}
		if ok {
			day.Title += ": " + display.Count(row.Sessions, "session", "sessions") + ", " + cmp.Or(display.Work(row.Active), "no time")
			if cost := row.CostText(); cost != "" {
				day.Title += ", " + cost
			}
			day.Link = r.base + "/?" + url.Values{"day": {row.Key}}.Encode()
		}
		highest = max(highest, row.Active)
		days = append(days, day)
	}
	return daysSVG(days, "Active time by day", display.Work(highest))
}
