package web

import (
	"cmp"
	"slices"
	"strings"

	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
	"tape/repo"
)

const graphRows = 200

type forksPage struct {
	Tape, Title         string
	Parent, ParentTitle string
	Open                []repo.ForkInfo
	Names               map[string]string // by fork: the subagent's task, or the fork's name without TAPE/
	Closed              []repo.ForkInfo
	Others              []about.Tape // sessions to compare with, the newest first
	Graph               historyGraph
	More                bool
}

// titleOf returns the title of a session that pages show, or its name if it cannot be opened.
func (s *View) titleOf(r *request, name string) string {
	t, err := r.from.Tape(r.Context(), name)
	if err != nil {
		return name
	}
	a := r.from.About(t)
	a.Name, a.Apart = name, ""
	return labelOf(a)
}

// forks shows the forks of a tape, and the graph of its history.
func (s *View) forks(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	d := forksPage{Tape: t.Name(), Parent: t.Parent(), Title: s.titleOf(r, t.Name())}
	if d.Parent != "" {
		d.ParentTitle = s.titleOf(r, d.Parent)
	}
	open, err := t.Forks(r.Context())
	if err != nil {
		return err
	}
	for _, f := range open {
		info, err := f.ForkInfo(r.Context())
		if err != nil {
			return err
		}
		d.Open = append(d.Open, info)
	}
	if d.Closed, err = t.ClosedForks(r.Context()); err != nil {
		return err
	}
	facts, _ := r.local().space.about(r.Context(), nil) // if this fails, no sessions are suggested, but a name can still be typed
	for branch, a := range facts {
		if branch != t.Branch() && catalog.Listed(a) {
			d.Others = append(d.Others, a)
		}
	}
	slices.SortStableFunc(d.Others, func(a, b about.Tape) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Name, b.Name)) })
	d.Others = d.Others[:min(len(d.Others), rowsShown)]
	var list []repo.Commit
	for c, err := range t.History(r.Context()) {
		if err != nil {
			return err
		}
		if d.More = len(list) == graphRows; d.More {
			break
		}
		c.Subject = strings.TrimSuffix(c.Subject, ": "+c.Tape) // "start: NAME": the graph shows the name
		list = append(list, c)
	}
	d.Graph = graphOf(list, t.Name())
	if d.Names, err = s.forkNames(r, t, d); err != nil {
		return err
	}
	return s.show(r, "forks", "Forks: "+d.Title, d)
}

// forkNames returns the labels of forks on the page, by the forks' names.
func (s *View) forkNames(r *request, t *repo.Tape, d forksPage) (map[string]string, error) {
	info, err := t.Info(r.Context())
	if err != nil {
		return nil, err
	}
	o := s.outlineOf(r, t, info).soon(soon)
	out := map[string]string{}
	add := func(name string) {
		own := strings.TrimPrefix(name, t.Name()+"/")
		out[name] = own
		if o == nil || out[name] == t.Name() {
			return
		}
		if h := cmp.Or(o.SubagentOf(name), o.SubagentOf(own)); h != nil && h.Task != "" {
			out[name] = h.Task
		}
	}
	for _, f := range slices.Concat(d.Open, d.Closed) {
		add(f.Name)
	}
	for _, l := range d.Graph.Lanes {
		add(l.Name)
	}
	return out, nil
}
