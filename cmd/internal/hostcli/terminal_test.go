package hostcli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
)

// screenOptions say what runs in a terminal.
type screenOptions struct {
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

// screen is a terminal with a program: tmux where it is installed, else a pseudo-terminal whose output a terminal emulator
// shows. After the program, it shows "left" and the exit code.
type screen struct {
	t    testing.TB
	term terminal
}

// startScreen starts a program, which ends with the test.
func startScreen(t testing.TB, o screenOptions) *screen {
	t.Helper()
	s := &screen{t: t}
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
func (s *screen) Seen() string {
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
func (s *screen) Until(texts ...string) {
	s.t.Helper()
	s.UntilIt(fmt.Sprintf("shows %q", texts), func(seen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) })
	})
}

// UntilIt waits until is accepts what the screen shows. what completes "the terminal never ...".
func (s *screen) UntilIt(what string, is func(seen string) bool) {
	s.t.Helper()
	seen := ""
	if !testkit.Eventually(func() bool { seen = s.Seen(); return is(seen) }) {
		s.t.Fatalf("the terminal never %s; it shows\n%s", what, seen)
	}
}

// Type types a text.
func (s *screen) Type(text string) {
	s.t.Helper()
	if err := s.term.write(text); err != nil {
		s.t.Fatalf("type %q: %v", text, err)
	}
}

// Keys presses keys, by the names that tmux has for them.
func (s *screen) Keys(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.term.key(name); err != nil {
			s.t.Fatalf("press %s: %v", name, err)
		}
	}
}

// Say types a line, and waits for texts.
func (s *screen) Say(line string, want ...string) {
	s.t.Helper()
	s.Type(line)
	s.Keys("Enter")
	s.Until(want...)
}

// Resize changes the terminal's size.
func (s *screen) Resize(width, height int) {
	s.t.Helper()
	if err := s.term.resize(width, height); err != nil {
		s.t.Fatalf("resize: %v", err)
	}
}

// command runs a program and says how it ended.
func command(o screenOptions) string {
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

func inTmux(t testing.TB, o screenOptions) (*tmux, error) {
	x := &tmux{socket: filepath.Join(t.TempDir(), "tmux"), env: append(os.Environ(), o.Env...), dir: o.Dir}
	_, err := x.run("new-session", "-d", "-x", fmt.Sprint(o.Width), "-y", fmt.Sprint(o.Height), command(o))
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

// TestScreen: keys reach the program and its output reaches the screen, in tmux and in the built-in emulator.
func TestScreen(t *testing.T) {
	for _, emulator := range []bool{false, true} {
		if _, err := exec.LookPath("tmux"); runtime.GOOS != "linux" && (emulator || err != nil) {
			continue
		}
		s := startScreen(t, screenOptions{Argv: []string{"sh", "-c", `printf '\033[31mname\033[m? '; read x; echo "it's $x"; stty size`}, Width: 40, Height: 10, Emulator: emulator})
		s.Until("name?")
		s.Resize(50, 12)
		s.Say("漢字", "it's 漢字", "12 50", "left 0")
	}
}
