package cli

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// terminal is what is known of the screen, found out when first asked.
type terminal struct {
	out    bool // stdout is a terminal
	colour bool
	width  int // 0: not a terminal
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (a *App) screen() *terminal {
	if a.term != nil {
		return a.term
	}
	a.term = &terminal{out: isTerminal(a.Stdout)}
	if a.term.out {
		a.term.colour = a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
		a.term.width = 80
		if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 {
			a.term.width = n
		} else if w, _, err := term.GetSize(int(a.Stdout.(*os.File).Fd())); err == nil && w > 0 {
			a.term.width = w
		}
	}
	return a.term
}

// width is the width of the screen in cells, 0 when there is none.
func (a *App) width() int { return a.screen().width }

// Styles, as SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	purple = "35"
	cyan   = "36"
)

func (a *App) style(sgr, text string) string {
	if text == "" || sgr == "" || !a.screen().colour {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// marked colours a line that begins at a place of the text that the marks are of: what is
// marked in one style, the rest in another.
func (a *App) marked(line string, at int, marks [][2]int, rest, mark string) string {
	var out strings.Builder
	end := 0
	for _, m := range marks {
		from, to := max(m[0]-at, end), min(m[1]-at, len(line))
		if from < to {
			out.WriteString(a.style(rest, line[end:from]) + a.style(mark, line[from:to]))
			end = to
		}
	}
	return out.String() + a.style(rest, line[end:])
}
