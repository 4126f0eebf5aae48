// Package screen runs a program in a terminal for tests: in tmux where it is installed, else in a
// pseudo-terminal whose output a terminal emulator shows.
package screen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit/wait"
)

// Options of a screen.
type Options struct {
	Argv          []string
	Dir           string
	Env           []string // besides the test's own
	Width, Height int
	Emulator      bool // not tmux, even if it is installed
}

// terminal is where the program runs.
type terminal interface {
	seen() (string, error) // the screen, in lines
	write(text string) error
	key(name string) error // as tmux names it: Enter, C-c, BSpace
	resize(width, height int) error
	close()
}

// Screen is a terminal with a program. After the program, it shows "left" and the exit code.
type Screen struct {
	t    testing.TB
	term terminal
}

// Start starts a program, which ends with the test.
func Start(t testing.TB, o Options) *Screen {
	t.Helper()
	s := &Screen{t: t}
	var err error
	if _, noTmux := exec.LookPath("tmux"); noTmux == nil && !o.Emulator {
		s.term, err = inTmux(t, o)
	} else {
		s.term, err = inEmulator(o)
	}
	if err != nil {
		t.Fatalf("start %v in a terminal: %v", o.Argv, err)
	}
	t.Cleanup(s.term.close)
	return s
}

// Seen is what the screen shows, without spaces at the ends of lines.
func (s *Screen) Seen() string {
	s.t.Helper()
	text, err := s.term.seen()
	if err != nil {
		s.t.Fatalf("read the screen: %v", err)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Until waits until the screen shows all of some texts.
func (s *Screen) Until(texts ...string) {
	s.t.Helper()
	s.UntilIt(fmt.Sprintf("shows %q", texts), func(seen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) })
	})
}

// UntilIt waits until is accepts what the screen shows. what completes "the terminal never ...".
func (s *Screen) UntilIt(what string, is func(seen string) bool) {
	s.t.Helper()
	seen := ""
	if !wait.Eventually(func() bool { seen = s.Seen(); return is(seen) }) {
		s.t.Fatalf("the terminal never %s; it shows\n%s", what, seen)
	}
}

// Type types a text.
func (s *Screen) Type(text string) {
	s.t.Helper()
	if err := s.term.write(text); err != nil {
		s.t.Fatalf("type %q: %v", text, err)
	}
}

// Keys presses keys, by the names that tmux has for them.
func (s *Screen) Keys(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.term.key(name); err != nil {
			s.t.Fatalf("press %s: %v", name, err)
		}
	}
}

// Say types a line, and waits for texts.
func (s *Screen) Say(line string, want ...string) {
	s.t.Helper()
	s.Type(line)
	s.Keys("Enter")
	s.Until(want...)
}

// Resize changes the terminal's size.
func (s *Screen) Resize(width, height int) {
	s.t.Helper()
	if err := s.term.resize(width, height); err != nil {
		s.t.Fatalf("resize: %v", err)
	}
}

// script runs a program and says how it ended.
func script(o Options) string {
	words := make([]string, len(o.Argv))
	for i, word := range o.Argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ") + "; echo left $?; exec sleep 1000"
}

// tmux is a server of tmux with one window.
type tmux struct {
	socket string
	env    []string
	dir    string
}

func inTmux(t testing.TB, o Options) (*tmux, error) {
	x := &tmux{socket: filepath.Join(t.TempDir(), "tmux"), env: append(os.Environ(), o.Env...), dir: o.Dir}
	_, err := x.run("new-session", "-d", "-x", fmt.Sprint(o.Width), "-y", fmt.Sprint(o.Height), script(o))
	return x, err
}

func (x *tmux) run(arg ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", x.socket, "-f", os.DevNull, "-u"}, arg...)...)
	cmd.Dir, cmd.Env = x.dir, x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", arg[0], err, out)
	}
	return string(out), nil
}

func (x *tmux) seen() (string, error) { return x.run("capture-pane", "-p") }

func (x *tmux) write(text string) error {
	_, err := x.run("send-keys", "-l", "--", text)
	return err
}

func (x *tmux) key(name string) error {
	_, err := x.run("send-keys", name)
	return err
}

func (x *tmux) resize(width, height int) error {
	_, err := x.run("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
	return err
}

func (x *tmux) close() { _, _ = x.run("kill-server") }
