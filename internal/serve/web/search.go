package web

import (
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/sessions/filter"
	"tape/internal/show/block"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

const (
	hitsShown   = 50
	hitsCounted = 1000 // those that facets count, besides the hits folded into them
)

type facet struct {
	Name, Value string
	Words       string // the value as people say it
	Count       int
	More, On    bool         // More: not all hits were counted
	Query       template.URL // of the page with only this value's hits; if On, of the page with all hits
}

// hitSession is a session with its hits. Base is the prefix of its links.
type hitSession struct {
	Base, Tape, Title, Project, Agent string
	Date                              time.Time // of the session's last entry
	Hits                              []hitView
	More                              int // hits that are not shown
}

// hitsOfSession is how many hits of a session are shown, unless only that session is searched.
const hitsOfSession = 5

type hitView struct {
	Tape    string // the session's, or that of a fork or subagent
	Other   bool   // it is not the session's
	Kind    string
	ID      int64
	Date    time.Time
	Snippet template.HTML
	Similar int
	Mark    string // see markWords
}

type filterView struct{ Label, Name, Value, Example string }

type searchPage struct {
	Q, Tape, Instead        string
	Some                    bool     // no entry has all words
	Lacks                   []string // the words that the best hit lacks
	TapeTitle               string
	Agent, Project          string
	Filters                 []filterView
	Narrow                  bool          // a filter is set
	Sessions                []*hitSession // in the order of their best hits
	Matches                 int
	Exact                   bool
	Agents, Projects, Kinds []facet
}

// search shows the hits of a query in the language of tape search.
func (s *View) search(r *request) error {
	v := r.URL.Query()
	d := searchPage{Q: v.Get("q"), Tape: v.Get("tape"), Agent: v.Get("agent"), Project: v.Get("project")}
	params := filter.FromURL(v)
	for _, f := range filter.Fields() {
		name := filter.InURL(f.Name)
		label := strings.ToUpper(name[:1]) + name[1:]
		for _, value := range append(f.Given(&params), "")[:max(1, len(f.Given(&params)))] { // an input for each value, or an empty one
			d.Filters = append(d.Filters, filterView{label, name, value, f.Values})
			d.Narrow = d.Narrow || value != ""
		}
	}
	if d.Tape != "" {
		d.TapeTitle = s.titleOf(r, d.Tape)
	}
	if strings.TrimSpace(d.Q) == "" {
		return s.show(r, "search", "Search", d)
	}
	query, err := params.Query(filter.InURL, s.Now())
	if err != nil {
		return err
	}
	query.Limit = repo.N(hitsCounted)
	found, err := r.from.Search(r.Context(), index.Search{Text: d.Q, Query: query}, Only{Agent: d.Agent, Project: d.Project, Tape: d.Tape})
	if err != nil {
		return err
	}
	d.Instead, d.Matches, d.Exact, d.Some = found.Instead, found.Matches, found.Exact, found.Some
	if len(found.Hits) > 0 {
		d.Lacks = found.Hits[0].Lacks
	}
	d.count(found, v)
	d.addHits(found.Hits, found.About)
	return s.show(r, "search", "Search: "+d.Q, d)
}

// addHits groups hits by their sessions, to which forks and subagents belong. Within one, they are in the order of the
// session. They may come session by session: those of the first one leave room for those of others.
func (d *searchPage) addHits(hits []index.Hit, facts map[string]about.Tape) {
	known := map[string]*hitSession{} // by link
	shown := 0
	for _, h := range hits {
		session := cmp.Or(h.Session, h.Tape)
		key := h.Workspace + "/t/" + session
		one := known[key]
		if one == nil {
			if shown == hitsShown {
				continue
			}
			a := facts[key]
			one = &hitSession{Base: h.Workspace, Tape: session, Title: cmp.Or(labelOf(a), session), Project: a.ProjectName(), Agent: a.Agent, Date: a.Updated}
			known[key] = one
			d.Sessions = append(d.Sessions, one)
		}
		if len(one.Hits) == hitsOfSession && d.Tape == "" || shown == hitsShown {
			one.More++
			continue
		}
		shown++
		date, _ := h.Time() // zero: no date is shown
		one.Hits = append(one.Hits, hitView{h.Tape, h.Tape != session, kindName(h.Entry), h.ID, date, marked(h.Snippet, h.Spans), h.Similar, markWords(h.Snippet, h.Spans)})
	}
	for _, one := range d.Sessions {
		slices.SortStableFunc(one.Hits, func(a, b hitView) int {
			return cmp.Or(cmp.Compare(a.Tape, b.Tape), cmp.Compare(a.ID, b.ID))
		})
	}
}

// kindName is what a hit is, as people say it.
func kindName(e repo.Entry) string {
	switch {
	case e.Kind == repo.KindMessage && e.Role() == "user":
		return "prompt"
	case e.Kind == repo.KindMessage:
		return "answer"
	case e.Kind == repo.KindToolCall:
		return "call"
	case e.Kind == repo.KindToolResult:
		return "result"
	case e.Kind == repo.KindAnchor && e.Anchor == layout.FirstAnchor:
		return "start"
	case e.Kind == repo.KindAnchor:
		return "handoff"
	}
	return e.Kind
}

// count makes the facets. A hit counts together with the similar hits that are folded into it, which have the same
// tape and kind.
func (d *searchPage) count(found *Found, v url.Values) {
	agents, projects, kinds := map[string]int{}, map[string]int{}, map[string]int{}
	for _, h := range found.Hits {
		n := 1 + h.Similar
		a := found.About[h.Workspace+"/t/"+h.Tape]
		agents[a.Agent] += n
		projects[a.ProjectName()] += n
		kinds[h.Kind] += n
	}
	d.Agents, d.Projects, d.Kinds = facets(v, "agent", agents, found.More), facets(v, "project", projects, found.More), facets(v, "kind", kinds, found.More)
}

// facetWords are values of facets as people say them.
var facetWords = map[string]string{"kind message": "messages", "kind event": "events", "kind tool_call": "calls", "kind tool_result": "results",
	"kind anchor": "handoffs", "kind system": "system prompts", "kind error": "errors"}

// facets are the values of a URL parameter with their counts, the highest first, at most 12.
func facets(v url.Values, name string, counts map[string]int, more bool) []facet {
	delete(counts, "")
	on := v.Get(name)
	if on != "" && counts[on] == 0 {
		counts[on] = 0
	}
	var out []facet
	for value, n := range counts {
		to := maps.Clone(v)
		if to.Set(name, value); value == on {
			to.Del(name)
		}
		out = append(out, facet{name, value, cmp.Or(facetWords[name+" "+value], value), n, more, value == on, template.URL(to.Encode())}) //nolint:gosec // Encode escapes it
	}
	slices.SortStableFunc(out, func(a, b facet) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value)) })
	return out[:min(len(out), 12)]
}

// marked is a snippet with its matches marked.
func marked(text string, spans [][2]int) template.HTML {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		if sp[0] < at || sp[1] > len(text) || sp[0] > sp[1] {
			continue
		}
		b.WriteString(block.Escape(text[at:sp[0]]) + "<mark>" + block.Escape(text[sp[0]:sp[1]]) + "</mark>")
		at = sp[1]
	}
	return template.HTML(b.String() + block.Escape(text[at:])) //nolint:gosec // each piece is escaped above
}

// markWords are the words that were found, one a line: page.js marks them in the entry that a hit leads to.
func markWords(text string, spans [][2]int) string {
	const most, longest = 6, 60
	var words []string
	for _, sp := range spans {
		if sp[0] < 0 || sp[0] >= sp[1] || sp[1] > len(text) || sp[1]-sp[0] > longest || len(words) == most {
			continue
		}
		if word := display.Line(text[sp[0]:sp[1]]); !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) }) {
			words = append(words, word)
		}
	}
	return strings.Join(words, "\n")
}

// find lists the entries of a session that contain a text: the browser's own search finds
// only those on the page.
func (s *View) find(r *request) error {
	t, err := r.open()
	if err != nil {
		return err
	}
	const most = 1000
	ids := []int64{} // not null, if there are none
	if text := r.URL.Query().Get("q"); text != "" {
		found, err := r.from.Containing(r.Context(), t, text, most)
		if err != nil {
			return err
		}
		ids = append(ids, found...)
	}
	r.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(r.w).Encode(ids)
}
