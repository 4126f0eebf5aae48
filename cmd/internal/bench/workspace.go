package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// workspaceSeed is that of the entries in all workspaces.
const workspaceSeed = 1

// workspace creates a workspace with a tape of n entries and returns its folder.
func (s *setup) workspace(n int) (string, error) {
	return s.kept(fmt.Sprintf("ws-%d", n), func(ws string) error {
		fill := s.cmd(ws, "append", "--stdin", "--json")
		fill.stdin = s.entries(n)
		if _, err := fill.run(); err != nil {
			return err
		}
		_, err := s.cmd(ws, "handoff", "filled").run()
		return err
	})
}

// phased creates a workspace with a tape of n entries in phases of 1,000, named phase-1
// and so on.
func (s *setup) phased(n int) (string, error) {
	return s.kept(fmt.Sprintf("phased-%d", n), func(ws string) error {
		g := newGen(workspaceSeed)
		var entries bytes.Buffer
		for i := range n / 1000 {
			entries.Reset()
			if err := g.entries(&entries, 1000); err != nil {
				return err
			}
			if i > 0 {
				if _, err := s.cmd(ws, "handoff", fmt.Sprintf("phase-%d", i), "--quiet").run(); err != nil {
					return err
				}
			}
			fill := s.cmd(ws, "append", "--stdin", "--quiet")
			fill.stdin = func() io.Reader { return bytes.NewReader(entries.Bytes()) }
			if _, err := fill.run(); err != nil {
				return err
			}
		}
		_, err := s.cmd(ws, "handoff", "filled").run()
		return err
	})
}

// kept gives the workspace of that name that an earlier run in the same folder left, or
// makes it. One that was not finished is made anew.
func (s *setup) kept(name string, fill func(ws string) error) (string, error) {
	ws := filepath.Join(s.dir, name)
	if _, err := os.Stat(ws); !errors.Is(err, fs.ErrNotExist) {
		return ws, err
	}
	partial := ws + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return ws, err
	}
	if _, err := s.cmd(partial, "init", partial).run(); err != nil {
		return ws, err
	}
	if err := fill(partial); err != nil {
		return ws, err
	}
	return ws, os.Rename(partial, ws)
}

// entries streams n generated entries.
func (s *setup) entries(n int) func() io.Reader {
	return func() io.Reader {
		r, w := io.Pipe()
		go func() { w.CloseWithError(newGen(workspaceSeed).entries(w, n)) }()
		return r
	}
}

// searched is the long tape with a fresh index, and what to look for in it.
func (s *setup) searched() (ws string, n *needles, err error) {
	if s.needles == nil {
		if s.needles, err = pickNeedles(); err != nil {
			return "", nil, err
		}
	}
	if ws, err = s.workspace(s.big); err != nil {
		return "", nil, err
	}
	_, err = s.cmd(ws, "index", "sync").run()
	return ws, s.needles, err
}

func (s *setup) cmd(ws string, args ...string) command {
	argv := append([]string{s.tape, args[0]}, args[1:]...)
	env := append(s.env[:len(s.env):len(s.env)], "TAPE_WORKSPACE="+ws)
	if args[0] == "init" {
		env = s.env
	}
	return command{env: env, argv: argv}
}
