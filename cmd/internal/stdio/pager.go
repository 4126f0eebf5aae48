package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tape/internal/show/display"
	"tape/internal/store/layout"
)

type pager struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) { return p.in.Write(b) }

// close waits until the user has left the pager. An interrupted pager is not an error; one that
// the shell could not run is, because nobody has seen the output.
func (p *pager) close() error {
	err := p.in.Close()
	waited := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(waited, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127):
		return &layout.Error{Msg: fmt.Sprintf("the pager %s cannot be run", display.Quoted(p.name)), Way: layout.Words(pagerHint)}
	case waited != nil && exit == nil && err == nil:
		return waited
	}
	return err
}

const pagerHint = "set TAPE_PAGER or PAGER to a program that exists, or give --no-pager"

// Page sends the results through a pager, as git does, if they go to a terminal.
func (s *Streams) Page() {
	if s.JSON || s.NoPager || s.pager != nil || !s.Screen().Out {
		return
	}
	name := s.pagerName()
	cmd := pagerCommand(name)
	if cmd == nil {
		return
	}
	cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
	cmd.Env = os.Environ()
	// FRX: quit if everything fits on one screen, show colours, keep the screen. Output is always
	// UTF-8, which less does not know without a locale.
	for key, value := range map[string]string{"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8"} {
		if _, set := os.LookupEnv(key); !set {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // output without paging is better than none
		s.Warn(fmt.Sprintf("the pager %s cannot be run: %v; %s", display.Quoted(name), err, pagerHint))
		return
	}
	s.pager = &pager{name, cmd, in}
	s.Out.Reset(s.pager)
}

// PagesWithLess reports whether results on a terminal go through less.
func (s *Streams) PagesWithLess() bool {
	name := s.pagerName()
	return !s.NoPager && pagerCommand(name) != nil && filepath.Base(strings.Fields(name)[0]) == "less"
}

// pagerName is the user's setting of the pager; "" and cat mean none. On a terminal where pagers warn and wait, there is
// one only if it was set for tape.
func (s *Streams) pagerName() string {
	for _, key := range []string{"TAPE_PAGER", "PAGER"} {
		if _, set := os.LookupEnv(key); set || s.Getenv(key) != "" {
			return s.Getenv(key)
		}
		if IsDumb(s.Getenv) {
			return ""
		}
	}
	return "less"
}

// pagerCommand is nil if there is no pager.
func pagerCommand(name string) *exec.Cmd {
	switch strings.TrimSpace(name) {
	case "cat":
		return nil
	case "less":
		if _, err := exec.LookPath("less"); err != nil {
			return nil // less may be only the default
		}
	}
	return display.Program(context.Background(), name)
}

// Fit shortens a text on a screen to a number of cells. In a pipe it stays whole.
func (s *Streams) Fit(text string, cells int) string {
	if s.Width() == 0 {
		return text
	}
	return display.Truncate(text, cells)
}
