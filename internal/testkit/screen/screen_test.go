package screen_test

import (
	"os/exec"
	"runtime"
	"testing"

	"tape/internal/testkit/screen"
)

// TestScreen: keys reach the program and its output reaches the screen, in tmux and in the built-in emulator.
func TestScreen(t *testing.T) {
	for _, emulator := range []bool{false, true} {
		if _, err := exec.LookPath("tmux"); runtime.GOOS != "linux" && (emulator || err != nil) {
			continue
		}
		s := screen.Start(t, screen.Options{Argv: []string{"sh", "-c", `printf '\033[31mname\033[m? '; read x; echo "it's $x"; stty size`}, Width: 40, Height: 10, Emulator: emulator})
		s.Until("name?")
		s.Resize(50, 12)
		s.Say("漢字", "it's 漢字", "12 50", "left 0")
	}
}
