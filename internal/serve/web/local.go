package web

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/importer"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/prices"
	"tape/internal/store/projects"
	"tape/repo"
)

// local is the source of a page about workspaces.
type local struct {
	s     *View
	space *space // the page's
	alone bool   // only this one is shown
}

func (l local) Places() Places {
	out := Places{Here: l.space.name, All: "All projects"}
	if l.s.All && !l.alone {
		out.Here = ""
	}
	others := l.s.others()
	for _, name := range slices.Sorted(maps.Keys(others)) {
		out.List = append(out.List, Place{name, cmp.Or(projects.NameIn(others[name], ""), name)})
	}
	return out
}

// List lists the tapes of the workspaces, as the command tape tapes does.
func (l local) List(ctx context.Context, q ListQuery) (*Listing, error) {
	out := &Listing{}
	agents, projects, people, tags := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	spaces := l.s.together(ctx, l)
	for _, w := range spaces {
		facts, err := w.about(ctx, nil)
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
			for _, author := range a.Authors {
				people[author] = true
			}
			for _, tag := range a.Tags {
				tags[tag] = true
			}
			out.Stars = out.Stars || a.Starred
			if !q.accepts(a) {
				continue
			}
			t := &ListedSession{Tape: a, Base: w.base, space: w, Helpers: len(helpers[a.Name]), names: append(helpers[a.Name], a.Name)}
			if strings.HasPrefix(branch, "fork/") {
				t.Parent, _, _ = layout.CutFork(a.Name)
			}
			out.Tapes = append(out.Tapes, t)
		}
	}
	for to, from := range map[*[]string]map[string]bool{&out.Agents: agents, &out.Projects: projects, &out.People: people, &out.Tags: tags} {
		delete(from, "")
		*to = slices.Sorted(maps.Keys(from))
	}
	slices.SortFunc(out.Tapes, func(a, b *ListedSession) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Base, b.Base), cmp.Compare(a.Name, b.Name))
	})
	out.All = len(out.Tapes)
	out.From = max(0, min(q.From, out.All))
	out.Tapes = out.Tapes[out.From:min(out.From+q.Most, out.All)]
	for _, w := range spaces {
		if err := w.addWork(ctx, out.Tapes); err != nil && len(spaces) == 1 {
			return nil, err
		}
	}
	return out, nil
}

func (q ListQuery) accepts(a about.Tape) bool {
	if q.Agent != "" && a.Agent != q.Agent || q.Project != "" && a.ProjectName() != q.Project || a.Updated.Before(q.Since) ||
		q.Person != "" && !slices.Contains(a.Authors, q.Person) || q.Starred && !a.Starred || q.Tag != "" && !a.HasTags([]string{q.Tag}) ||
		!q.Day[0].IsZero() && (a.Updated.Before(q.Day[0]) || !a.Started.Before(q.Day[1])) {
		return false
	}
	return slices.ContainsFunc([]string{a.Title, a.Name, a.Project, a.Branch}, func(s string) bool { return containsFold(s, q.Text) })
}

// helperOf returns the session that started the subagent of a tape; "" if the tape is not a subagent's.
func helperOf(name, branch string, facts map[string]about.Tape) string {
	if parent, _, ok := strings.Cut(name, "/agent-"); ok && strings.HasPrefix(branch, "tape/") {
		if _, there := facts["tape/"+layout.TapeSlug(parent)]; there {
			return parent
		}
	}
	return ""
}

// addWork sets the sums of work in the listed sessions of this workspace.
func (w *space) addWork(ctx context.Context, list []*ListedSession) error {
	sessions := map[string]*ListedSession{} // by the names of their tapes
	for _, t := range list {
		if t.space == w {
			for _, name := range t.names {
				sessions[name] = t
			}
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(sessions))
	w.mu.Lock()
	defer w.mu.Unlock()
	sums, err := w.index.Work(ctx, index.ByTape, index.WorkFilter{Tapes: names})
	if err != nil {
		return err
	}
	for _, sum := range sums {
		t := sessions[sum.Key]
		t.Active, t.Failed = t.Active+sum.Active, t.Failed+sum.Failed
	}
	files, err := w.index.Files(ctx, index.FileFilter{Tapes: names})
	for _, f := range files {
		if t := sessions[f.Tape]; f.Writes > 0 {
			t.Files++
			t.Added, t.Removed = t.Added+f.Added, t.Removed+f.Removed
		}
	}
	return err
}

func (l local) Activity(ctx context.Context, since time.Time) ([]*index.Work, error) {
	return l.s.work(ctx, l.s.together(ctx, l), index.ByDay, index.WorkFilter{Since: since, Zone: since.Location()})
}

func (l local) Search(ctx context.Context, q index.Search, only Only) (*Found, error) {
	out := &Found{About: map[string]about.Tape{}}
	spaces := l.s.together(ctx, l)
	var err error
	search := func(q index.Search, in func(base string) bool) (results []*index.Result, err error) {
		for _, w := range spaces {
			if !in(w.base) {
				continue
			}
			res, err := w.searchIn(ctx, q, only, out.About)
			if err != nil && len(spaces) == 1 {
				return nil, err
			}
			if err == nil {
				results = append(results, res)
			}
		}
		return results, nil
	}
	if len(spaces) == 1 {
		var one []*index.Result
		if one, err = search(q, func(string) bool { return true }); err == nil {
			out.Result = one[0]
		}
	} else {
		out.Result, err = catalog.SearchAll(q, search)
	}
	if err != nil {
		return nil, err
	}
	all := 0
	for _, h := range out.Hits {
		all += 1 + h.Similar
	}
	out.More = !out.Exact || all < out.Matches
	return out, nil
}

// searchIn searches a workspace, and adds what its tapes are about to facts, by their links.
func (w *space) searchIn(ctx context.Context, q index.Search, only Only, facts map[string]about.Tape) (*index.Result, error) {
	all, err := w.about(ctx, nil)
	if err != nil {
		return nil, err
	}
	chosen := only != Only{}
	if chosen {
		q.Tapes = []string{}
	}
	for _, a := range all {
		facts[w.base+"/t/"+a.Name] = a
		if chosen && (only.Agent == "" || a.Agent == only.Agent) && (only.Project == "" || a.ProjectName() == only.Project) && (only.Tape == "" || a.Name == only.Tape) {
			q.Tapes = append(q.Tapes, a.Name)
		}
	}
	if chosen && len(q.Tapes) == 0 {
		return &index.Result{Exact: true}, nil
	}
	res, err := w.search(ctx, q)
	if err == nil {
		catalog.Mark(res, w.base)
	}
	return res, err
}

func (l local) Tape(ctx context.Context, name string) (Tape, error) { return l.Open(ctx, name) }

func (l local) Open(ctx context.Context, name string) (Tape, error) {
	t, err := l.space.store.Tape(ctx, name)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (l local) About(t Tape) about.Tape { return l.s.aboutSoon(l.space, t.(*repo.Tape)) }

func (l local) Subagents(ctx context.Context, t Tape) (out []about.Tape) {
	facts, err := l.space.about(ctx, nil)
	if err != nil {
		return nil // the page is useful without them
	}
	for branch, a := range facts {
		if helperOf(a.Name, branch, facts) == t.Name() {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b about.Tape) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	return out
}

func (l local) From(ctx context.Context, t Tape, id int64) iter.Seq2[repo.Entry, error] {
	rev, err := l.space.store.Revision(ctx, t.(*repo.Tape), "")
	if err != nil {
		return func(yield func(repo.Entry, error) bool) { yield(repo.Entry{}, err) }
	}
	return rev.Entries(ctx, id)
}

func (l local) Containing(ctx context.Context, t Tape, text string, most int) (ids []int64, err error) {
	found, err := l.space.search(ctx, index.Search{Text: text, How: index.Substring, IgnoreCase: true, NoFold: true, Searches: true,
		Tapes: []string{t.Name()}, Query: repo.Query{Limit: repo.N(most)}})
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return ids, nil
}

func (l local) Prices() prices.List { return l.space.prices() }

// Continue returns the command that resumes a session of an agent that can do it, wherever it is called.
func (l local) Continue(t Tape) []string {
	a := l.About(t)
	if t.IsFork() || strings.Contains(t.Name(), "/agent-") || !importer.All().Resumes(a.Agent) {
		return nil
	}
	return []string{"tape resume " + layout.ShellWord(t.Name()) + " --workspace " + layout.ShellWord(l.space.dir)}
}
