package web

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const figureRows = 200

type toolFigure struct {
	Name          string
	Calls, Failed int
	Took          time.Duration
}

type phaseFigure struct {
	Seq             int
	Name            string
	Tokens, Entries int64
	From, To        time.Time
	Share           int64 // percent of the phase with the most tokens
	Start, Width    int64 // on the time line, in thousandths
}

type fileFigure struct {
	Path         string
	Reads, Edits int
}

type figuresPage struct {
	Tape   string
	Phases []*phaseFigure
	Tools  []*toolFigure
	Files  []*fileFigure
	Tokens int64
}

// figures shows the tokens, calls, files and times of a session.
func (s *View) figures(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	d := figuresPage{Tape: t.Name()}
	tools, files := map[string]*toolFigure{}, map[string]*fileFigure{}
	var p *phaseFigure
	count := func(e repo.Entry) {
		if p == nil || p.Seq != e.AnchorSeq {
			p = &phaseFigure{Seq: e.AnchorSeq, Name: e.Anchor}
			d.Phases = append(d.Phases, p)
		}
		p.Entries++
		if at, ok := e.Time(); ok {
			if p.From.IsZero() {
				p.From = at
			}
			p.To = at
		}
		if u, ok := about.UsageOf(e); ok && u.TotalTokens != nil {
			p.Tokens += *u.TotalTokens
		}
	}
	counted := func(yield func(repo.Entry, error) bool) {
		for e, err := range t.Entries(r.Context(), repo.Query{}) {
			if err == nil {
				count(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	err = conversation.Each(r.Context(), counted, func(it *conversation.Item) error {
		for _, c := range it.Calls {
			countCall(c, tools, files)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Tools = slices.SortedFunc(maps.Values(tools), func(a, b *toolFigure) int { return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Name, b.Name)) })
	d.Files = slices.SortedFunc(maps.Values(files), func(a, b *fileFigure) int {
		return cmp.Or(b.Edits-a.Edits, b.Reads-a.Reads, cmp.Compare(a.Path, b.Path))
	})
	d.Tools, d.Files = d.Tools[:min(len(d.Tools), figureRows)], d.Files[:min(len(d.Files), figureRows)]
	d.line()
	return s.show(r, "figures", "Figures of "+t.Name(), d)
}

func countCall(c *conversation.Call, tools map[string]*toolFigure, files map[string]*fileFigure) {
	f := tools[c.Name]
	if f == nil {
		f = &toolFigure{Name: c.Name}
		tools[c.Name] = f
	}
	f.Calls++
	f.Took += c.Took()
	if c.Failed() {
		f.Failed++
	}
	args := c.Object()
	path := cmp.Or(jsonl.GetString(args, "file_path"), jsonl.GetString(args, "filePath"), jsonl.GetString(args, "path"))
	if path == "" {
		return
	}
	if files[path] == nil {
		files[path] = &fileFigure{Path: path}
	}
	if jsonl.Get(args, "new_string") != nil || jsonl.Get(args, "edits") != nil || jsonl.Get(args, "content") != nil {
		files[path].Edits++
	} else {
		files[path].Reads++
	}
}

// line computes the places of phases on the time line.
func (d *figuresPage) line() {
	var from, to time.Time
	most := int64(1)
	for _, p := range d.Phases {
		d.Tokens += p.Tokens
		most = max(most, p.Tokens)
		if !p.From.IsZero() && (from.IsZero() || p.From.Before(from)) {
			from = p.From
		}
		if p.To.After(to) {
			to = p.To
		}
	}
	d.Phases = d.Phases[:min(len(d.Phases), figureRows)]
	all := max(1, int64(to.Sub(from)))
	for _, p := range d.Phases {
		p.Share = p.Tokens * 100 / most
		if !p.From.IsZero() {
			p.Start = int64(float64(p.From.Sub(from)) / float64(all) * 1000)
			p.Width = max(4, int64(float64(p.To.Sub(p.From))/float64(all)*1000))
		}
	}
}
