package main

import "fmt"

// allTapes times what goes over all of a great many tapes: searches with a fresh index, and
// the two commands that look after the repository, beside git's own.
func (s *setup) allTapes() error {
	const few = 5
	ws, err := s.manyTapes()
	if err != nil {
		return err
	}
	if _, err := s.cmd(ws, "index", "sync").run(); err != nil {
		return err
	}
	git := func(args ...string) step {
		return always(command{env: s.env, argv: append([]string{"git", "-C", ws}, args...)})
	}
	for _, row := range []struct {
		name  string
		runs  int
		a, b  step
		other string
	}{
		{"search, a word of all", s.runs, always(s.cmd(ws, "search", "next", "--all-tapes")), git("--version"), "git --version"},
		{"search, a word of none", s.runs, always(s.cmd(ws, "search", "zebra", "--all-tapes")), git("--version"), "git --version"},
		{"index rebuild", few, always(s.cmd(ws, "index", "rebuild")), git("rev-list", "--objects", "--all"), "git rev-list --objects"},
		{"verify", few, always(s.cmd(ws, "verify")), git("fsck", "--strict", "--full"), "git fsck"},
		{"gc", few, always(s.cmd(ws, "gc")), git("gc", "--quiet"), "git gc"},
	} {
		if err := paired(s.out, fmt.Sprintf("%s, %d tapes", row.name, s.tapes), row.runs, row.a, row.b, row.other); err != nil {
			return err
		}
	}
	return nil
}
