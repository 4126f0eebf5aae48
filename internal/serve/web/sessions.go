package web

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/store/about"
)

const (
	listed  = 200             // sessions on a page
	growing = 2 * time.Minute // after its last entry a session counts as live
)

type listedTape struct {
	about.Tape
	Base       string // the prefix of its links
	Live, Fork bool
	By         string
}

type sessionList struct {
	Tapes                       []*listedTape
	All, From, Next             int
	Agents, Projects            []string
	Agent, Project, Since, Grep string
}

// sessions lists the tapes of a workspace, or of all, as the command tape tapes does.
func (s *View) sessions(r *request) error {
	v := r.URL.Query()
	d := sessionList{Agent: v.Get("agent"), Project: v.Get("project"), Since: v.Get("since"), Grep: v.Get("grep")}
	since, err := filter.Since("since", d.Since, s.Now())
	if err != nil {
		return err
	}
	agents, projects := map[string]bool{}, map[string]bool{}
	spaces := s.together(r)
	for _, w := range spaces {
		facts, err := w.about(r.Context(), nil)
		if err != nil && len(spaces) == 1 {
			return err
		}
		for _, branch := range slices.Sorted(maps.Keys(facts)) {
			a := facts[branch]
			if !catalog.Listed(a) {
				continue
			}
			agents[a.Agent], projects[a.ProjectName()] = true, true
			if d.Agent != "" && a.Agent != d.Agent || d.Project != "" && a.ProjectName() != d.Project || a.Updated.Before(since) ||
				!slices.ContainsFunc([]string{a.Title, a.Name, a.Project, a.Branch}, func(s string) bool { return has(s, d.Grep) }) {
				continue
			}
			live := !a.Updated.IsZero() && s.Now().Sub(a.Updated) < growing
			d.Tapes = append(d.Tapes, &listedTape{Tape: a, Base: w.base, Live: live, Fork: strings.HasPrefix(branch, "fork/"), By: strings.Join(a.Authors, ", ")})
		}
	}
	delete(agents, "")
	delete(projects, "")
	d.Agents, d.Projects = slices.Sorted(maps.Keys(agents)), slices.Sorted(maps.Keys(projects))
	slices.SortStableFunc(d.Tapes, func(a, b *listedTape) int { return b.Updated.Compare(a.Updated) })
	d.All = len(d.Tapes)
	from, _ := strconv.Atoi(v.Get("from")) // 0 if it is not a number
	d.From = max(0, min(from, d.All))
	d.Tapes = d.Tapes[d.From:min(d.From+listed, d.All)]
	if next := d.From + len(d.Tapes); next < d.All {
		d.Next = next
	}
	return s.show(r, "sessions", "Sessions", d)
}

func has(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
