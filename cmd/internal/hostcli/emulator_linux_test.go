package hostcli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// emulator shows what a program writes to a pseudo-terminal.
type emulator struct {
	screen *vt.SafeEmulator
	pty    *os.File
	cmd    *exec.Cmd
}

func inEmulator(o screenOptions) (terminal, error) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	e := &emulator{screen: vt.NewSafeEmulator(o.Width, o.Height), pty: pty}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = e.resize(o.Width, o.Height)
	}
	var tty *os.File
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = pty.Close()
		return nil, err
	}
	defer tty.Close()
	e.cmd = exec.Command("sh", "-c", command(o))
	e.cmd.Dir, e.cmd.Env = o.Dir, append(append(os.Environ(), "TERM=xterm-256color"), o.Env...)
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = tty, tty, tty
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := e.cmd.Start(); err != nil {
		_ = pty.Close()
		return nil, err
	}
	go func() { _, _ = io.Copy(e.screen, pty) }() // until the program ends
	go func() { _, _ = io.Copy(pty, e.screen) }() // what the terminal answers
	return e, nil
}

func (e *emulator) seen() (string, error) { return ansi.Strip(e.screen.Render()), nil }

func (e *emulator) write(text string) error {
	_, err := e.pty.WriteString(text)
	return err
}

func (e *emulator) key(name string) error {
	keys := map[string]string{"Enter": "\r", "Tab": "\t", "BSpace": "\x7f", "Escape": "\x1b", "Up": "\x1b[A", "Down": "\x1b[B"}
	text, ok := keys[name]
	if letter, isCtrl := strings.CutPrefix(name, "C-"); isCtrl {
		text, ok = string(rune(letter[0]&0x1f)), true
	}
	if !ok {
		return fmt.Errorf("the emulator has no key %s", name)
	}
	return e.write(text)
}

func (e *emulator) resize(width, height int) error {
	e.screen.Resize(width, height)
	return unix.IoctlSetWinsize(int(e.pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
}

func (e *emulator) close() {
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	_ = e.cmd.Wait()
	_ = e.pty.Close()
}
