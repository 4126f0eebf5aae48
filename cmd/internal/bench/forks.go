package main

import (
	"bytes"
	"fmt"
	"io"
)

// forks times a fork, ten entries in it, and its merge, on the long tape against the same
// on a short one: in one phase, where each of both ends in files as long, and in many.
func (s *setup) forks() error {
	short, err := s.phased(1000)
	if err != nil {
		return err
	}
	for _, long := range []struct {
		name string
		make func(int) (string, error)
	}{{"one phase", s.workspace}, {"phases of 1,000", s.phased}} {
		ws, err := long.make(s.big)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("fork, merge; %d in %s", s.big, long.name)
		if err := paired(s.out, name, s.runs, s.forked(ws), s.forked(short), "1,000"); err != nil {
			return err
		}
		read := s.cmd(ws, "fork", "read", "--quiet")
		if _, err := read.run(); err != nil {
			return err
		}
		first := s.cmd(ws, "search", "timeout", "-n", "5", "--tape", "main/read")
		if _, err := first.run(); err != nil {
			return err
		}
		if err := paired(s.out, "search in a fork", s.runs, always(first), always(s.cmd(ws, "search", "timeout", "-n", "5")), "in the tape"); err != nil {
			return err
		}
		if _, err := s.cmd(ws, "discard", "read", "--yes", "--quiet").run(); err != nil {
			return err
		}
	}
	return nil
}

func (s *setup) forked(ws string) step {
	var ten bytes.Buffer
	err := newGen(3).entries(&ten, 10)
	return func(int) []command {
		fill := s.cmd(ws, "append", "--stdin", "--quiet", "--tape", "main/try")
		fill.stdin = func() io.Reader { return bytes.NewReader(ten.Bytes()) }
		if err != nil {
			return []command{{argv: []string{"false"}}}
		}
		return []command{s.cmd(ws, "fork", "try", "--quiet"), fill, s.cmd(ws, "merge", "try", "--quiet")}
	}
}
