package web

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/index"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/repo"
)

// How much an overview shows at once.
const (
	promptsMax  = 200
	maxOutlines = 32 // that are kept
)

// outlines are the outlines of sessions that were shown recently, by the links of their pages.
type outlines map[string]*pending

// pending is an outline that is being made, or is done.
type pending struct {
	version string
	ready   chan struct{} // closed when it is done
	outline *outline.Outline
	err     error
}

// outlineOf returns the outline of a tape in the state that info describes. It begins to make it if it is not known.
func (s *View) outlineOf(r *request, t Tape, info repo.Info) *pending {
	key, version := r.base+"/t/"+t.Name(), info.Commit+" "+strconv.FormatInt(info.Entries, 10)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.outlines[key]; p != nil && p.version == version {
		return p
	}
	if len(s.outlines) >= maxOutlines {
		clear(s.outlines)
	}
	p := &pending{version: version, ready: make(chan struct{})}
	s.outlines[key] = p
	s.later(func(ctx context.Context) {
		defer close(p.ready)
		p.outline, p.err = outline.Of(ctx, t.Entries(ctx, repo.Query{}))
	})
	return p
}

// lastOutline returns the tape's outline that was begun last; nil if it is not ready, or could not be made.
func (s *View) lastOutline(r *request, t Tape) *outline.Outline {
	s.mu.Lock()
	p := s.outlines[r.base+"/t/"+t.Name()]
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.soon(0)
}

// soon returns the outline if it is ready within a time. Otherwise, or if it could not be made, it returns nil.
func (p *pending) soon(wait time.Duration) *outline.Outline {
	select {
	case <-p.ready: // asked alone first, because select takes any of two channels that are ready
		return p.outline
	default:
	}
	select {
	case <-p.ready:
		return p.outline
	case <-time.After(wait):
		return nil
	}
}

// outlineNow opens the requested tape and waits for its outline. It returns no outline if the browser has gone.
func (s *View) outlineNow(r *request) (Tape, *outline.Outline, error) {
	t, err := r.open()
	if err != nil {
		return nil, nil, err
	}
	info, err := t.Info(r.Context())
	if err != nil {
		return nil, nil, err
	}
	p := s.outlineOf(r, t, info)
	select {
	case <-p.ready:
		return t, p.outline, p.err
	case <-r.Context().Done():
		return nil, nil, nil
	}
}

// overview is what the head of a session's page shows, and the list of turns.
type overview struct {
	Base, Tape string
	*outline.Outline
	Asked, Ended         template.HTML
	AskedLong, EndedLong bool // more than fits into the box
	EndedID              int64
	How                  string // how it ended, if not with an answer
	Cost                 string
	Changed              []outline.File
	Added, Removed       int64
	Broken               []outline.Failure // commands that failed
	OtherFailed          int
	Helpers              []helper
	Strip                template.HTML
	Phases               []phaseTurns
	Next                 int // the first turn of the next page; 0: none
	Before               bool
	Earlier              int   // the first turn of the page before, if Before
	FirstShown           int64 // the first turn's entry, if Before
	NextShown            int64 // the entry of the turn Next; 0: none
	Dir                  string
}

// helper is a subagent. Entry is where its entries begin; 0 if they are not in this session, but in one of their own.
type helper struct {
	Task, Link string
	Entry      int64
	Calls      int
}

// phaseTurns is a phase with its turns.
type phaseTurns struct {
	outline.Phase
	Turns []outline.Turn
}

// overview makes an overview of an outline. skip is how many turns are left out at the beginning.
func (s *View) overview(r *request, t Tape, a about.Tape, o *outline.Outline, skip int) overview {
	d := overview{Base: r.base, Tape: t.Name(), Outline: o, Dir: a.Project}
	d.Changed, d.Added, d.Removed = o.Changed()
	for i := range d.Changed {
		d.Changed[i].Path = about.InProject(a.Project, d.Changed[i].Path)
	}
	d.Broken = o.FailedCommands()
	d.OtherFailed = len(o.Failed) + o.Missing - len(d.Broken)
	d.Asked, d.AskedLong = s.excerpt(o.Asked.Text)
	d.How = report.End(o.Ending, "")
	if o.Ending == activity.Answered || len(o.Turns) == 0 {
		d.How = ""
	}
	if o.Ending == activity.Working {
		d.How = "stopped in the middle of its work"
	}
	if o.Answer.Text != "" {
		d.Ended, d.EndedLong = s.excerpt(o.Answer.Text)
		d.EndedID = o.Answer.Entry
	}
	link := r.base + "/t/" + url.PathEscape(t.Name()) + "/@"
	for _, h := range o.Subagents {
		d.Helpers = append(d.Helpers, helper{cmp.Or(h.Task, h.Fork), link + strconv.FormatInt(h.First, 10), h.First, h.Calls})
	}
	for _, h := range r.from.Subagents(r.Context(), t) {
		d.Helpers = append(d.Helpers, helper{Task: labelOf(h), Link: r.base + "/t/" + url.PathEscape(h.Name), Calls: h.ToolCalls})
	}
	d.Cost = s.cost(r, o)
	d.Strip = stripSVG(o.Strip, func(id int64) string { return link + strconv.FormatInt(id, 10) })
	d.turns(skip)
	return d
}

// excerpt is the beginning of a message, and whether that is more than fits into a few lines.
func (s *View) excerpt(text string) (html template.HTML, long bool) {
	const most, fits, lines = 1200, 420, 7
	text = display.Shorten(strings.TrimSpace(display.SkipBlankLines(text)), most)
	return s.md.HTML(text), len(text) > fits || strings.Count(text, "\n") >= lines
}

// head renders the overview and the list of turns. If they are too large it returns "", and page.js loads them later.
func (s *View) head(d overview) (card, turns template.HTML, err error) {
	var parts [2]bytes.Buffer
	for i, name := range []string{"overviewcard", "turnlist"} {
		if err := s.pages.ExecuteTemplate(&parts[i], name, d); err != nil {
			return "", "", err
		}
	}
	if parts[0].Len()+parts[1].Len() > headBytes {
		return "", "", nil
	}
	return template.HTML(parts[0].String()), template.HTML(parts[1].String()), nil //nolint:gosec // the templates have escaped it
}

// turnsAround returns how many turns to leave out so that the list has those around an entry: none if all fit.
func turnsAround(turns []outline.Turn, entry int64) int {
	if len(turns) <= promptsMax {
		return 0
	}
	after, _ := slices.BinarySearchFunc(turns, entry, func(t outline.Turn, id int64) int { return cmp.Compare(t.Entry, id) })
	return min(max(0, after-promptsMax/2), len(turns)-promptsMax)
}

// turns groups the turns by their phases.
func (d *overview) turns(skip int) {
	skip = min(max(skip, 0), len(d.Outline.Turns))
	list := d.Outline.Turns[skip:]
	if skip > 0 && len(list) > 0 {
		d.Before, d.FirstShown = true, list[0].Entry
		d.Earlier = max(0, skip-promptsMax)
	}
	if len(list) > promptsMax {
		d.NextShown = list[promptsMax].Entry
		list, d.Next = list[:promptsMax], skip+promptsMax
	}
	last := int64(1) << 62 // no phase after this entry is shown
	if d.Next > 0 {
		last = list[len(list)-1].Entry
	}
	for i, p := range d.Outline.Phases {
		end := int64(1) << 62
		if i+1 < len(d.Outline.Phases) {
			end = d.Outline.Phases[i+1].First
		}
		group := phaseTurns{Phase: p}
		for len(list) > 0 && list[0].Entry < end {
			group.Turns, list = append(group.Turns, list[0]), list[1:]
		}
		if (len(group.Turns) > 0 || skip == 0) && p.First <= last && len(d.Phases) < promptsMax {
			d.Phases = append(d.Phases, group)
		}
	}
}

// cost is what the session's tokens cost with the user's prices; "" without prices.
func (s *View) cost(r *request, o *outline.Outline) string {
	work := index.Work{Tokens: map[string]index.Tokens{}}
	for _, m := range o.Models {
		work.Tokens[m.Name] = m.Tokens
	}
	return report.Rows([]*index.Work{&work}, index.ByNothing, r.from.Prices())[0].CostText()
}

// outlinePage shows the overview and the turns of a session: as a page, or with ?part as fragments for page.js.
func (s *View) outlinePage(r *request) error {
	t, o, err := s.outlineNow(r)
	if o == nil {
		return err
	}
	a := r.from.About(t)
	skip, _ := strconv.Atoi(r.URL.Query().Get("from")) // 0 if it is not a number
	if at, err := strconv.ParseInt(r.URL.Query().Get("at"), 10, 64); err == nil {
		skip = turnsAround(o.Turns, at)
	}
	d := s.overview(r, t, a, o, skip)
	if r.URL.Query().Has("part") {
		r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		return s.pages.ExecuteTemplate(r.w, "outlineparts", d)
	}
	return s.show(r, "outline", "Overview: "+s.titleOf(r, t.Name()), d)
}

// statsOfSession shows the tokens, calls, files and times of a session.
func (s *View) statsOfSession(r *request) error {
	t, o, err := s.outlineNow(r)
	if o == nil {
		return err
	}
	a := r.from.About(t)
	d := sessionStats{overview: s.overview(r, t, a, o, 0), Title: s.titleOf(r, t.Name())}
	d.fill()
	return s.show(r, "sessionstats", "Statistics: "+d.Title, d)
}

// rowsShown is how many rows tables have at most.
const rowsShown = 200

// sessionStats are the statistics of a session.
type sessionStats struct {
	overview
	Title                  string
	Models, Tools, PhaseOf []barRow
	Touched                []outline.File
	MoreFiles              int
}

func (d *sessionStats) fill() {
	d.Models, d.Tools = modelBars(d.Outline), toolBars(d.Outline)
	d.PhaseOf = phaseBars(d.Outline, func(seq int) string { return d.Base + "/t/" + url.PathEscape(d.Tape) + "/" + strconv.Itoa(seq) })
	for _, f := range d.Files[:min(len(d.Files), rowsShown)] {
		f.Path = about.InProject(d.Dir, f.Path)
		d.Touched = append(d.Touched, f)
	}
	d.MoreFiles = len(d.Files) - len(d.Touched)
}
