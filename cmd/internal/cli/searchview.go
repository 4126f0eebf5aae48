package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tape/index"
	"tape/internal/jsonl"
	"tape/repo"
)

func (o *searchOptions) show(s index.Search, res *index.Result) error {
	a := o.app
	if res.Instead != "" && !a.json {
		a.tell("showing results for %s", safeLine(res.Instead))
	}
	switch {
	case o.count:
		return a.result(struct {
			Count   int    `json:"count"`
			Instead string `json:"instead,omitempty"`
		}{res.Matches, res.Instead}, "%d", res.Matches)
	case o.files:
		return o.showFiles(s, res)
	case a.json:
		for _, h := range res.Hits {
			if err := a.writeLine(hitJSON(h, res.Instead)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(res.Hits) == 0 {
		switch {
		case o.limit == 0:
		case o.allTapes || !o.others(s):
			a.tell("no hits")
		default:
			a.tell("no hits in the tape %s; --all-tapes searches the others, too", quoted(s.Tapes[0].Name()))
		}
		return nil
	}
	a.page()
	for i, h := range res.Hits {
		if i > 0 {
			a.printf("\n")
		}
		if err := o.showHit(h); err != nil {
			return err
		}
	}
	more := o.more(res)
	switch {
	case more == "":
		return nil
	case a.screen().out: // it may be in a pager by now
		a.say("\n%s", a.style(dim, more))
		return nil
	}
	err := a.out.Flush()
	a.tell("%s", more)
	return err
}

// others reports whether the workspace has other tapes than the one that was searched.
func (o *searchOptions) others(s index.Search) bool {
	all, err := s.Tapes[0].Store().Tapes(context.Background())
	return err == nil && len(all) > 1
}

// more says what is not shown.
func (o *searchOptions) more(res *index.Result) string {
	shown := 0
	for _, h := range res.Hits {
		shown += 1 + h.Similar
	}
	if shown >= res.Matches {
		return ""
	}
	of := strconv.Itoa(res.Matches)
	if !res.Exact {
		of = "more than " + of
	}
	return fmt.Sprintf("%d of %s matches; -n shows more", shown, of)
}

func (o *searchOptions) showHit(h index.Hit) error {
	a := o.app
	around := &entryView{app: a, oneline: true}
	for _, e := range h.Before {
		if err := around.show(e); err != nil {
			return err
		}
	}
	kind, colour := label(h.Entry)
	id := fmt.Sprintf("@%d", h.ID)
	if o.allTapes {
		id = truncate(safeLine(h.Tape), maxCell) + " " + id
	}
	head := a.style(bold+";"+yellow, id) + "  " + a.style(colour, truncate(safeLine(kind), kindCells)) + "  " +
		a.style(dim, a.when(h.Date)+"  "+truncate(safeLine(h.Anchor), maxCell))
	if h.Similar > 0 {
		head += a.style(dim, fmt.Sprintf("  and %d like it", h.Similar))
	}
	a.printf("%s\n", head)
	if err := o.showSnippet(h); err != nil {
		return err
	}
	for _, e := range h.After {
		if err := around.show(e); err != nil {
			return err
		}
	}
	return nil
}

// showSnippet shows the snippet, wrapped, with what was looked for in colour.
func (o *searchOptions) showSnippet(h index.Hit) error {
	a := o.app
	var text strings.Builder
	var marks [][2]int // where in text it is
	end := 0
	for _, s := range h.Spans {
		text.WriteString(safeLine(h.Snippet[end:s[0]]))
		from := text.Len()
		text.WriteString(safeLine(h.Snippet[s[0]:s[1]]))
		marks = append(marks, [2]int{from, text.Len()})
		end = s[1]
	}
	text.WriteString(safeLine(h.Snippet[end:]))
	rest, at := text.String(), 0 // what is not shown yet, and where it begins
	for _, line := range wrap(rest, max(0, a.width()-2)) {
		skipped := max(0, strings.Index(rest, line))
		rest, at = rest[skipped:], at+skipped
		if err := a.writeLine([]byte("  " + a.coloured(line, at, marks))); err != nil {
			return err
		}
		n := min(len(line), len(rest))
		rest, at = rest[n:], at+n
	}
	return nil
}

// coloured colours the marks that fall into a line, which begins at a place of the text
// that they are of.
func (a *App) coloured(line string, at int, marks [][2]int) string {
	var out strings.Builder
	end := 0
	for _, m := range marks {
		from, to := max(m[0]-at, end), min(m[1]-at, len(line))
		if from < to {
			out.WriteString(line[end:from] + a.style(bold+";"+red, line[from:to]))
			end = to
		}
	}
	return out.String() + line[end:]
}

// hitJSON is the entry with what makes it a hit.
func hitJSON(h index.Hit, instead string) []byte {
	out := h.JSON()
	out = fmt.Appendf(out[:len(out)-1], `,"score":%s,"snippet":`, strconv.FormatFloat(h.Score, 'f', -1, 64))
	out = append(append(jsonl.AppendString(out, h.Snippet), `,"matches":`...), marshal(spansOf(h))...)
	if h.Similar > 0 {
		out = fmt.Appendf(out, `,"similar":%d`, h.Similar)
	}
	if instead != "" {
		out = jsonl.AppendString(append(out, `,"instead":`...), instead)
	}
	out = appendEntries(out, "before", h.Before)
	out = appendEntries(out, "after", h.After)
	return append(out, '}')
}

func appendEntries(out []byte, name string, list []repo.Entry) []byte {
	if len(list) == 0 {
		return out
	}
	out = fmt.Appendf(out, `,"%s":[`, name)
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e.JSON()...)
	}
	return append(out, ']')
}

func spansOf(h index.Hit) [][2]int {
	if h.Spans == nil {
		return [][2]int{}
	}
	return h.Spans
}

// showFiles lists the files that have matches, with their number.
func (o *searchOptions) showFiles(s index.Search, res *index.Result) error {
	a := o.app
	type file struct {
		File    string `json:"file"`
		Tape    string `json:"tape"`
		Matches int    `json:"matches"`
		Instead string `json:"instead,omitempty"`
	}
	dirs := map[string]string{}
	for _, t := range s.Tapes {
		dirs[t.Name()] = t.WorkTree()
	}
	var list []*file
	known := map[[2]string]*file{}
	for _, h := range res.Hits {
		key := [2]string{h.Tape, filepath.Join("anchors", h.At.Folder, h.At.File)}
		if known[key] == nil {
			known[key] = &file{File: filepath.Join(dirs[h.Tape], key[1]), Tape: h.Tape, Instead: res.Instead}
			list = append(list, known[key])
		}
		known[key].Matches++
	}
	for _, f := range list {
		var err error
		if a.json {
			err = a.emit(f)
		} else {
			err = a.writeLine([]byte(safeLine(f.File) + a.style(dim, fmt.Sprintf(":%d", f.Matches))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
