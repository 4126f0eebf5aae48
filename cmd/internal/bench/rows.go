package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// batch times a stream of entries, and prints how much memory it took.
func (s *setup) batch() error {
	for _, n := range []int{s.big / 10, s.big} {
		ws := filepath.Join(s.dir, fmt.Sprintf("batch-%d", n))
		if err := os.RemoveAll(ws); err != nil {
			return err
		}
		if _, err := s.cmd(ws, "init", ws).run(); err != nil {
			return err
		}
		file := filepath.Join(s.dir, "entries.jsonl")
		size, err := writeFile(file, func(w io.Writer) error { return newGen(2).entries(w, n) })
		if err != nil {
			return err
		}
		fill := s.cmd(ws, "append", "--stdin")
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		fill.stdin = func() io.Reader { return in }
		r, err := fill.run()
		if err := in.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		s.rate(fmt.Sprintf("append --stdin, %d entries", n), size, r)
		_ = os.RemoveAll(ws)
		_ = os.Remove(file)
	}
	return nil
}

func (s *setup) rate(name string, size int64, r run) {
	mb := float64(size) / 1e6
	fmt.Fprintf(s.out, "%-34s %7.0f MB in %s: %.0f MB/s, %d MB of memory\n", name, mb, r.wall.Round(time.Millisecond), mb/r.wall.Seconds(), r.rss>>20)
}

func writeFile(path string, fill func(io.Writer) error) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := fill(f); err != nil {
		return 0, err
	}
	st, err := f.Stat()
	return st.Size(), err
}

// appends pairs the append of one entry with git --version, on a short and on a long
// tape.
func (s *setup) appends() error {
	for _, n := range []int{1000, s.big} {
		ws, err := s.workspace(n)
		if err != nil {
			return err
		}
		add := func(int) []command {
			return []command{s.cmd(ws, "append", "--role", "user", "--text", "what did the last test say?", "--quiet")}
		}
		version := func(int) []command { return []command{{env: s.env, argv: []string{"git", "--version"}}} }
		if err := paired(s.out, fmt.Sprintf("append, %d entries", n), 4*s.runs, add, version, "git --version"); err != nil {
			return err
		}
	}
	return nil
}

// handoffs pairs a handoff after ten entries with git add, commit and tag of the same
// files in a repository of the same history.
func (s *setup) handoffs() error {
	for _, n := range []int{1000, s.big} {
		ws, err := s.workspace(n)
		if err != nil {
			return err
		}
		plain := filepath.Join(s.dir, fmt.Sprintf("git-%d", n))
		if err := os.RemoveAll(plain); err != nil {
			return err
		}
		git := func(args ...string) command {
			return command{env: s.env, argv: append([]string{"git", "-C", plain, "-c", "core.fsync=all", "-c", "gc.auto=0"}, args...)}
		}
		if _, err := (command{env: s.env, argv: []string{"git", "clone", "-q", ws, plain}}).run(); err != nil {
			return err
		}
		var ten bytes.Buffer
		if err := newGen(3).entries(&ten, 10); err != nil {
			return err
		}
		handoff := func(i int) []command {
			fill := s.cmd(ws, "append", "--stdin", "--quiet")
			fill.stdin = func() io.Reader { return bytes.NewReader(ten.Bytes()) }
			if _, err := fill.run(); err != nil {
				return []command{{argv: []string{"false"}}}
			}
			return []command{s.cmd(ws, "handoff", fmt.Sprintf("phase-%d", i), "--summary", "ten entries on", "--quiet")}
		}
		byHand := func(i int) []command {
			if err := plainPhase(plain, i, ten.Bytes()); err != nil {
				return []command{{argv: []string{"false"}}}
			}
			name := fmt.Sprintf("phase-%d", i)
			return []command{git("add", "-A"), git("commit", "-q", "-m", "handoff: "+name), git("tag", "-a", "-m", name, name)}
		}
		if err := paired(s.out, fmt.Sprintf("handoff, %d entries", n), s.runs, handoff, byHand, "git add, commit, tag"); err != nil {
			return err
		}
	}
	return nil
}

// plainPhase changes the files of a plain repository as a handoff after ten entries
// does.
func plainPhase(repo string, i int, entries []byte) error {
	last := filepath.Join(repo, "anchors", fmt.Sprintf("%03d_plain", 900+i-1))
	if err := os.MkdirAll(last, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"messages.jsonl", "tool_calls.jsonl", "events.jsonl"} {
		if err := os.WriteFile(filepath.Join(last, name), entries, 0o600); err != nil {
			return err
		}
	}
	next := filepath.Join(repo, "anchors", fmt.Sprintf("%03d_plain", 900+i))
	if err := os.MkdirAll(next, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(next, "anchor.json"), []byte(fmt.Sprintf("{\"n\":%d}\n", i)), 0o600)
}

// imports times the import of a long transcript.
func (s *setup) imports() error {
	file := filepath.Join(s.dir, "session.jsonl")
	for _, mb := range []int{max(s.mb/10, 1), s.mb} {
		ws := filepath.Join(s.dir, "import")
		if err := os.RemoveAll(ws); err != nil {
			return err
		}
		if _, err := s.cmd(ws, "init", ws).run(); err != nil {
			return err
		}
		size, err := writeFile(file, func(w io.Writer) error { return newGen(4).transcript(w, mb<<20) })
		if err != nil {
			return err
		}
		r, err := s.cmd(ws, "import", "claude-code", file).run()
		if err != nil {
			return err
		}
		s.rate(fmt.Sprintf("import claude-code, %d MB", mb), size, r)
	}
	return nil
}
