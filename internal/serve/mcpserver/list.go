package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type listArgs struct {
	Tape    string `json:"tape"`
	Project string `json:"project"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
}

const summaryChars = 200 // of a summary, or another text in a list

// list lists sessions, or the anchors of one session.
func (s *server) list(ctx context.Context, c call, a listArgs) (string, error) {
	at := cursor{Of: "tape_list", Tape: a.Tape, Project: a.Project, From: math.MaxInt64}
	if a.Cursor != "" {
		var err error
		if at, err = parseCursor(a.Cursor, at.Of); err != nil {
			return "", err
		}
	}
	limit := filter.Capped(a.Limit, 20, 100)
	if at.Tape != "" {
		return s.listAnchors(ctx, at, limit)
	}
	return s.listSessions(ctx, c, at, limit)
}

// listSessions lists sessions by their beginning, the newest first. That order stays the same while
// tapes grow.
func (s *server) listSessions(ctx context.Context, c call, at cursor, limit int) (string, error) {
	if at.Project == everyProject {
		return "", layout.Invalid("name one; tape_search takes *", "a list is of one project")
	}
	stores, err := s.stores(ctx, at.Project)
	if err != nil {
		return "", err
	}
	store, where := stores[0], "the workspace"
	if at.Project != "" {
		where = "project " + line(projectOf(store.Dir()), titleChars)
	}
	x := index.New(store, &index.Options{Progress: c.progress(ctx, "indexing")})
	defer x.Close()
	facts, damaged, err := catalog.About(ctx, x, store, nil)
	if err != nil {
		return "", err
	}
	var list []about.Tape
	var names []string
	for branch, t := range facts {
		if strings.HasPrefix(branch, "tape/") && catalog.Listed(t) { // not a fork
			list, names = append(list, t), append(names, t.Name)
		}
	}
	slices.SortStableFunc(list, newerFirst)
	short := catalog.ShortNames(names)
	from := sort.Search(len(list), func(i int) bool {
		return cmp.Or(cmp.Compare(at.From, began(list[i])), strings.Compare(list[i].Name, at.Last)) > 0
	})
	out := newAnswer(usualChars, "%s in %s; tape_list tape=NAME lists the anchors of one", display.Count(len(list), "tape", "tapes"), where)
	for i, t := range list[from:] {
		if i == limit || !out.add(sessionLine(t, short[t.Name], t.Name == store.CurrentTape())) {
			last := list[from+i-1]
			out.end("next_cursor: %s", cursor{Of: at.Of, Project: at.Project, From: began(last), Last: last.Name})
			break
		}
	}
	if names := (*workspace.Store)(store).LeftOut(); len(names) > 0 {
		out.end("damaged: %s", line(strings.Join(names, ", "), summaryChars))
	}
	for _, err := range damaged {
		out.end("damaged: %s", line(err.Error(), summaryChars))
	}
	return out.String(), nil
}

func newerFirst(a, b about.Tape) int {
	return cmp.Or(cmp.Compare(began(b), began(a)), strings.Compare(a.Name, b.Name))
}

// began returns when a session began, in microseconds; 0 if that is unknown.
func began(t about.Tape) int64 {
	if t.Started.IsZero() {
		return 0
	}
	return t.Started.UnixMicro()
}

func sessionLine(t about.Tape, short string, current bool) string {
	more := []string{}
	for _, part := range []string{t.Agent, t.ProjectName()} {
		if part != "" {
			more = append(more, line(part, titleChars))
		}
	}
	more = append(more, display.Entries(t.Entries), display.Count(t.Anchors, "anchor", "anchors"), "updated "+minute(t.Updated))
	if current {
		more = append(more, "current")
	}
	return fmt.Sprintf("%s %s [%s] %s\n", minute(t.Started), title(t), line(short, 100), strings.Join(more, ", "))
}

// listAnchors lists anchors, the newest first, since that is where work continues.
func (s *server) listAnchors(ctx context.Context, at cursor, limit int) (string, error) {
	_, t, err := s.openIn(ctx, at.Project, at.Tape)
	if err != nil {
		return "", err
	}
	phases, err := t.Phases(ctx)
	if err != nil {
		return "", err
	}
	forks, err := t.Forks(ctx)
	if err != nil {
		return "", err
	}
	out := newAnswer(usualChars, "%s of tape %s, the newest first", display.Count(len(phases), "anchor", "anchors"), line(t.Name(), 100))
	if len(forks) > 0 {
		out.add(line("open forks: "+strings.Join(catalog.Names(forks), ", "), summaryChars) + "\n")
	}
	shown := 0
	for _, p := range slices.Backward(phases) {
		if int64(p.Seq) > at.From {
			continue
		}
		if shown == limit || !out.add(anchorLine(p)) {
			out.end("next_cursor: %s", cursor{Of: at.Of, Tape: t.Name(), Project: at.Project, From: int64(p.Seq)})
			break
		}
		shown++
	}
	return out.String(), nil
}

func anchorLine(p repo.Phase) string {
	text := fmt.Sprintf("%03d %s @%d-@%d", p.Seq, line(p.Name, 100), p.FirstID, p.LastID)
	if t, ok := (repo.Entry{Date: p.Date}).Time(); ok {
		text += " " + minute(t)
	}
	if summary := p.Summary(); summary != "" {
		text += ": " + line(summary, summaryChars)
	}
	return text + "\n"
}
