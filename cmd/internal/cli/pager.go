package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// pager is a program that shows long output page by page.
type pager struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) { return p.in.Write(b) }

// close waits until the user has left the pager.
func (p *pager) close() error {
	err := p.in.Close()
	if waitErr := p.cmd.Wait(); waitErr != nil && err == nil {
		// That a pager was interrupted is no failure of ours.
		var exit *exec.ExitError
		if !errors.As(waitErr, &exit) {
			err = waitErr
		}
	}
	return err
}

// page sends what follows through a pager when results go to a terminal.
func (a *App) page() {
	if a.json || !a.screen().out || a.pager != nil {
		return
	}
	name := a.pagerCommand()
	if len(name) == 0 {
		return
	}
	// What the user names is split at spaces; it does not pass through a shell.
	cmd := exec.Command(name[0], name[1:]...)
	cmd.Stdout, cmd.Stderr = a.Stdout, a.Stderr
	cmd.Env = os.Environ()
	for key, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if a.Getenv(key) == "" {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return // output without paging is better than none
	}
	a.pager = &pager{cmd: cmd, in: in}
	a.out.Reset(a.pager)
}

func (a *App) pagerCommand() []string {
	for _, key := range []string{"TAPE_PAGER", "PAGER"} {
		if value, ok := a.lookup(key); ok {
			if value == "cat" {
				return nil
			}
			return strings.Fields(value)
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return nil
	}
	return []string{"less"}
}

// lookup tells a variable that is set to nothing from one that is not set.
func (a *App) lookup(key string) (string, bool) {
	if value := a.Getenv(key); value != "" {
		return value, true
	}
	_, set := os.LookupEnv(key)
	return "", set
}
