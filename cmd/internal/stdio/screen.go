package stdio

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// terminal has the properties of the screen. Screen finds them out at its first call.
type terminal struct {
	Out    bool // stdout is a terminal
	colour bool
	Width  int // 0: not a terminal
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// IsDumb reports whether the terminal understands no escape sequences, as in an Emacs shell or the log of a build. On
// Windows, TERM is not usual.
func IsDumb(getenv func(string) string) bool {
	name := getenv("TERM")
	return name == "dumb" || name == "" && runtime.GOOS != "windows"
}

// HasSize reports whether a stream is a terminal that says how large it is.
func HasSize(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0 && height > 0
}

// Screen is the terminal of the results.
func (s *Streams) Screen() *terminal {
	if s.term != nil {
		return s.term
	}
	s.term = &terminal{Out: IsTerminal(s.Stdout)}
	if s.term.Out {
		s.term.colour = s.Getenv("NO_COLOR") == "" && !IsDumb(s.Getenv)
		s.term.Width = 80
		if n, err := strconv.Atoi(s.Getenv("COLUMNS")); err == nil && n > 0 {
			s.term.Width = n
		} else if w, _, err := term.GetSize(int(s.Stdout.(*os.File).Fd())); err == nil && w > 0 {
			s.term.Width = w
		}
	}
	return s.term
}

// Width is the width of the screen in cells, 0 when there is none.
func (s *Streams) Width() int { return s.Screen().Width }

// Styles, as SGR parameters.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Blue   = "34"
	Purple = "35"
	Cyan   = "36"
)

// Style colours a text if the screen has colours.
func (s *Streams) Style(sgr, text string) string {
	if text == "" || sgr == "" || !s.Screen().colour {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Marked colours a line: marked ranges in one style, the rest in another. The marks are ranges
// of a longer text, in which the line begins at the offset at.
func (s *Streams) Marked(line string, at int, marks [][2]int, rest, mark string) string {
	var out strings.Builder
	end := 0
	for _, m := range marks {
		from, to := max(m[0]-at, end), min(m[1]-at, len(line))
		if from < to {
			out.WriteString(s.Style(rest, line[end:from]) + s.Style(mark, line[from:to]))
			end = to
		}
	}
	return out.String() + s.Style(rest, line[end:])
}
