package api

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"tape/index"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/serve/web"
	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/prices"
	"tape/repo"
)

// source has the sessions that a page shows to a visitor.
type source struct {
	visitor Visitor
	rows    find.Source // of the page's remotes
	here    string      // the remote that the page is about; "" means all
	config  *config.Config
}

func (s *source) Places() web.Places {
	out := web.Places{Here: s.here, All: "All remotes"}
	for _, name := range s.visitor.Remotes {
		out.List = append(out.List, web.Place{Address: name, Name: name})
	}
	return out
}

func (s *source) List(ctx context.Context, q web.ListQuery) (*web.Listing, error) {
	facets, err := s.rows.Facets(ctx)
	if err != nil {
		return nil, err
	}
	out := &web.Listing{Agents: facets.Agents, People: facets.People, Projects: projectNames(facets.Projects), Tags: facets.Tags, Stars: facets.Stars}
	c := db.Choice{Text: q.Text, Agent: q.Agent, Author: q.Person, Since: q.Since, Projects: foldersOf(facets.Projects, q.Project), Forks: true, Listed: true, Whole: true, Starred: q.Starred, Tag: q.Tag, Most: q.Most}
	if !q.Day[0].IsZero() {
		c.Since, c.Until = q.Day[0], q.Day[1].Add(-time.Microsecond)
		if q.Since.After(c.Since) {
			c.Since = q.Since
		}
	}
	if out.All, err = s.rows.CountSessions(ctx, c); err != nil {
		return nil, err
	}
	out.From = max(0, min(q.From, out.All))
	c.Skip = out.From
	list, err := s.rows.Sessions(ctx, c)
	if err != nil {
		return nil, err
	}
	var facts []*about.Tape
	for _, one := range list {
		t := &web.ListedSession{Tape: aboutOf(one), Base: s.baseOf(one.Remote)}
		if t.Parent = parentOf(one); one.Remote != s.here && len(s.visitor.Remotes) > 1 {
			t.Place = one.Remote
		}
		out.Tapes = append(out.Tapes, t)
		facts = append(facts, &t.Tape)
	}
	catalog.TellApart(facts)
	return out, nil
}

// projectNames returns the names of the projects in folders, sorted, each once.
func projectNames(folders []string) (out []string) {
	for _, f := range folders {
		out = append(out, about.Tape{Project: f}.ProjectName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foldersOf returns the folders of a project; nil, which means all, if project is "".
func foldersOf(folders []string, project string) []string {
	if project == "" {
		return nil
	}
	out := []string{}
	for _, f := range folders {
		if (about.Tape{Project: f}).ProjectName() == project {
			out = append(out, f)
		}
	}
	return out
}

// aboutOf is what a session is about. If its entries name no author, its owner is the author.
func aboutOf(s db.Session) (a about.Tape) {
	if json.Unmarshal([]byte(s.About), &a) != nil {
		a = about.Tape{Title: s.Title, Agent: s.Agent, Model: s.Model, Project: s.Project} // the list is useful without the rest
	}
	a.Name = s.Name
	a.Authors = s.Authors
	if len(a.Authors) == 0 && s.Owner != "" {
		a.Authors = []string{s.Owner}
	}
	return a
}

func (s *source) Activity(ctx context.Context, since time.Time) (out []*index.Work, err error) {
	days, err := s.rows.Days(ctx, since)
	for day, n := range days {
		out = append(out, &index.Work{Key: day, Sessions: int64(n), Turns: int64(n)})
	}
	return out, err
}

// mostPageHits limits the hits of a search. The page shows the first ones, and the facets count all of them.
const mostPageHits = 100

func (s *source) Search(ctx context.Context, q index.Search, only web.Only) (*web.Found, error) {
	ids, err := s.limitedTo(ctx, only)
	if err != nil {
		return nil, err
	}
	if err := s.visitor.Typed(ctx, q.Text); err != nil {
		return nil, err
	}
	q.Query.Limit = repo.N(mostPageHits)
	res := &find.Result{}
	if ids == nil || len(ids) > 0 {
		if res, err = find.Search(ctx, s.rows, q, ids); err != nil {
			return nil, err
		}
	}
	out := &web.Found{Result: &index.Result{Exact: !res.More, Some: res.Some, Instead: res.Instead}, About: map[string]about.Tape{}, More: res.More}
	for _, h := range res.Hits {
		one := h.Hit
		one.Workspace = s.baseOf(h.Session.Remote)
		out.Hits = append(out.Hits, one)
		out.Matches += 1 + h.Similar
		out.About[one.Workspace+"/t/"+one.Tape] = aboutOf(h.Session)
	}
	return out, nil
}

// limitedTo returns the ids of the sessions that a search is limited to; nil if it is not limited. If no session fits,
// the list is empty, not nil.
func (s *source) limitedTo(ctx context.Context, only web.Only) ([]int64, error) {
	if only == (web.Only{}) {
		return nil, nil
	}
	c := db.Choice{Name: only.Tape, Agent: only.Agent, Forks: true, Most: 100_000}
	if only.Project != "" {
		facets, err := s.rows.Facets(ctx)
		if err != nil {
			return nil, err
		}
		c.Projects = foldersOf(facets.Projects, only.Project)
	}
	list, err := s.rows.Sessions(ctx, c)
	ids := []int64{}
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	return ids, err
}

func (s *source) Tape(ctx context.Context, name string) (web.Tape, error) {
	if s.here != "" {
		list, err := s.rows.Sessions(ctx, db.Choice{Name: name, Most: 1})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return &tape{rows: s.rows, row: list[0]}, nil
		}
	}
	return nil, layout.NotFound("", "there is no session %q", name)
}

func (s *source) Open(ctx context.Context, name string) (web.Tape, error) {
	t, err := s.Tape(ctx, name)
	if err == nil {
		err = s.visitor.Audit(ctx, "read", s.here+"/"+name)
	}
	return t, err
}

func (s *source) About(t web.Tape) about.Tape { return aboutOf(t.(*tape).row) }

func (s *source) Subagents(ctx context.Context, t web.Tape) (out []about.Tape) {
	list, err := s.rows.Sessions(ctx, db.Choice{Under: t.Name() + "/agent-", Most: 1000})
	if err != nil {
		return nil // the page is useful without them
	}
	for _, one := range list {
		out = append(out, aboutOf(one))
	}
	slices.SortStableFunc(out, func(a, b about.Tape) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) })
	return out
}

func (s *source) From(ctx context.Context, t web.Tape, id int64) iter.Seq2[repo.Entry, error] {
	return t.(*tape).entries(ctx, db.Range{First: id})
}

func (s *source) Containing(ctx context.Context, t web.Tape, text string, most int) ([]int64, error) {
	return t.(*tape).containing(ctx, text, most)
}

func (s *source) Prices() prices.List { return nil }

func (s *source) Continue(t web.Tape) []string {
	return []string{"tape clone " + layout.ShellWord(s.config.Remote(s.here).CloneURL()), "tape resume " + layout.ShellWord(t.Name())}
}
