package web

import (
	"context"
	"html/template"
	"net/url"
	"slices"

	"tape/index"
	"tape/internal/show/comparison"
	"tape/internal/show/display"
	"tape/internal/store/query"
	"tape/repo"
)

// sidesPage compares two sessions without a common entry, by what people see of them.
type sidesPage struct {
	diffPage
	Left, Right sideHead
	Turns       []turnRow
	Files       []comparison.File
	MoreFiles   int
}

type sideHead struct {
	Name, Link string
	Facts      []string // project and branch, agent, model, time, prompts: those that are known
}

// turnRow is a pair with what is shown of its turns.
type turnRow struct {
	comparison.Pair
	Left, Right *turnSide
}

type turnSide struct {
	*comparison.Turn
	Link           string
	Prompt, Answer template.HTML
	Long           bool // the answer is longer than what is shown
}

// sessionSides shows two sessions beside each other.
func (s *View) sessionSides(r *request, d diffPage, a, b *query.Revision) error {
	p := sidesPage{diffPage: d}
	var sides [2]comparison.Side
	for i, rev := range []*query.Revision{a, b} {
		var err error
		if sides[i], err = r.local().space.side(r.Context(), rev); err != nil {
			return err
		}
	}
	c, err := comparison.Of(r.Context(), sides[0], sides[1])
	if err != nil {
		return err
	}
	p.Left, p.Right = headOf(r, d.NameA, sides[0], c.Turns[0]), headOf(r, d.NameB, sides[1], c.Turns[1])
	p.Files, p.MoreFiles = c.Files[:min(len(c.Files), rowsShown)], max(0, len(c.Files)-rowsShown)
	all := comparison.Beside(c.Rows)
	from, to := p.part(r.URL.Query(), len(all))
	for _, row := range all[from:to] {
		p.Turns = append(p.Turns, turnRow{row, s.turnSide(row.Left, p.Left.Link), s.turnSide(row.Right, p.Right.Link)})
	}
	return s.show(r, "sides", d.NameA+" and "+d.NameB, p)
}

// side is a revision with what its session is about and the files that it changed.
func (w *space) side(ctx context.Context, rev *query.Revision) (comparison.Side, error) {
	out := comparison.Side{Revision: rev}
	t, err := w.store.Tape(ctx, rev.Tape())
	if err != nil {
		return out, err
	}
	facts, err := w.about(ctx, []*repo.Tape{t})
	if err != nil {
		return out, err
	}
	out.Facts = facts[t.Branch()]
	w.mu.Lock()
	defer w.mu.Unlock()
	out.Touches, err = w.index.Touches(ctx, index.FileFilter{Tapes: []string{t.Name()}})
	return out, err
}

func (s *View) turnSide(t *comparison.Turn, link string) *turnSide {
	if t == nil {
		return nil
	}
	out := &turnSide{Turn: t, Link: link}
	out.Prompt, _ = s.excerpt(t.Prompt)
	out.Answer, out.Long = s.excerpt(t.Answer)
	return out
}

func headOf(r *request, name string, side comparison.Side, prompts int) sideHead {
	a := side.Facts
	facts := []string{a.ProjectBranch(), agentName(a.Agent), a.Model}
	if !a.Started.IsZero() {
		facts = append(facts, display.Span(a.Started, a.Updated))
	}
	facts = append(facts, display.Count(prompts, "prompt", "prompts"))
	return sideHead{name, r.base + "/t/" + url.PathEscape(side.Revision.Tape()), slices.DeleteFunc(facts, func(f string) bool { return f == "" })}
}
