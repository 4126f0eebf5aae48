package cli

import (
	"slices"
	"strings"
)

// lanes are the columns of a graph. Each leads down to a commit that is still to come;
// the first one is the tape's own.
type lanes struct {
	app   *App
	list  []lane
	at    int // of the commit in hand
	count int // lanes there have been, for their colours
}

type lane struct {
	want   string // a commit
	begun  bool   // something of it was drawn
	colour string
}

func newLanes(a *App) *lanes {
	l := &lanes{app: a}
	l.list = []lane{l.lane("")}
	return l
}

func (l *lanes) lane(want string) lane {
	colours := []string{red, green, yellow, blue, purple, cyan}
	l.count++
	return lane{want: want, colour: colours[(l.count-1)%len(colours)]}
}

// row is a line of the graph: a lane has each second place, what leads from one to
// another the places between.
type row struct {
	marks   []byte
	colours []string
}

func (r *row) set(at int, mark byte, colour string) {
	for len(r.marks) <= at {
		r.marks, r.colours = append(r.marks, ' '), append(r.colours, "")
	}
	r.marks[at], r.colours[at] = mark, colour
}

func (l *lanes) text(r *row) string {
	var b strings.Builder
	for i, mark := range r.marks {
		if mark == ' ' {
			b.WriteByte(' ')
		} else {
			b.WriteString(l.app.style(r.colours[i], string(mark)))
		}
	}
	return b.String()
}

// row draws the lanes that have begun: straight down up to one, and behind it with a mark
// in the place after their own.
func (l *lanes) row(upTo int, mark byte) *row {
	r := &row{}
	for k, x := range l.list {
		switch {
		case !x.begun:
		case k < upTo:
			r.set(2*k, '|', x.colour)
		default:
			r.set(2*k+1, mark, x.colour)
		}
	}
	return r
}

// arrive brings the lanes that lead to a commit together, and returns the rows that show
// it. first says that the commit is the end of the tape itself.
func (l *lanes) arrive(id string, first bool) []string {
	if first && l.list[0].want == "" {
		l.list[0].want = id
	}
	leads := func(x lane) bool { return x.want == id }
	l.at = slices.IndexFunc(l.list, leads)
	if l.at < 0 {
		l.list = append(l.list, l.lane(id))
		l.at = len(l.list) - 1
	}
	var out []string
	for {
		j := slices.IndexFunc(l.list[l.at+1:], leads)
		if j < 0 {
			return out
		}
		out = append(out, l.join(l.at+1+j)...)
	}
}

// join draws how lane j comes over to the one in hand; those behind it move up.
func (l *lanes) join(j int) []string {
	moved := l.list[j]
	l.list = slices.Delete(l.list, j, j+1)
	r := l.row(j, '/')
	r.set(2*j-1, '/', moved.colour)
	if j == l.at+1 {
		return []string{l.text(r)}
	}
	for k := l.at + 2; k < j; k++ { // below the lanes between
		r.set(2*k-1, '_', moved.colour)
	}
	under := l.row(len(l.list), 0)
	under.set(2*l.at+1, '/', moved.colour)
	return []string{l.text(r), l.text(under)}
}

// mark returns the beginning of the commit's own line, and its width.
func (l *lanes) mark() (string, int) {
	l.list[l.at].begun = true
	r := l.row(len(l.list), 0)
	r.set(2*l.at, '*', l.list[l.at].colour)
	return l.text(r), len(r.marks)
}

// leave makes the lane lead on to the commit's parents, drawn in rows; without any it ends.
func (l *lanes) leave(parents []string) []string {
	if len(parents) == 0 {
		if l.list = slices.Delete(l.list, l.at, l.at+1); l.at == len(l.list) {
			return nil
		}
		return []string{l.text(l.row(l.at, '/'))}
	}
	l.list[l.at].want = parents[0]
	var out []string
	for _, p := range parents[1:] {
		r, opened := l.row(l.at+1, '\\'), l.lane(p)
		opened.begun = true
		r.set(2*l.at+1, '\\', opened.colour)
		l.list = slices.Insert(l.list, l.at+1, opened)
		out = append(out, l.text(r))
	}
	return out
}
