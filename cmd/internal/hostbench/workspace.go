package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The tapes, and how many entries a phase of them has.
const (
	longTape    = "long"
	sessionTape = "session"
	phaseSize   = 10_000
)

func (s *setup) run(ctx context.Context, in io.Reader, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = s.env, s.dir, in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), args[0], err, out)
	}
	return nil
}

// workspace makes the workspace, or gives the one that an earlier run left in the folder.
func (s *setup) workspace(ctx context.Context) (string, error) {
	ws := filepath.Join(s.dir, fmt.Sprintf("ws-%d-%d-%d", s.entries, s.session, s.tapes))
	if _, err := os.Stat(ws); !errors.Is(err, fs.ErrNotExist) {
		return ws, err
	}
	began := time.Now()
	partial := ws + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return ws, err
	}
	tape := func(in io.Reader, args ...string) error {
		return s.run(ctx, in, s.tape, append(args, "--quiet", "--workspace", partial)...)
	}
	if err := s.run(ctx, nil, s.tape, "init", partial); err != nil {
		return ws, err
	}
	w := newWriter()
	for _, t := range []struct {
		name string
		n    int
	}{{longTape, s.entries}, {sessionTape, s.session}} {
		if err := tape(nil, "new", t.name); err != nil {
			return ws, err
		}
		for at := 0; at < t.n; at += phaseSize {
			if err := tape(w.lines(min(phaseSize, t.n-at), entry.json), "append", "--stdin", "--tape", t.name); err != nil {
				return ws, err
			}
			if err := tape(nil, "handoff", fmt.Sprintf("phase-%d", at/phaseSize), "--tape", t.name); err != nil {
				return ws, err
			}
		}
	}
	folder, err := s.transcripts(w)
	if err != nil {
		return ws, err
	}
	if err := tape(nil, "import", "claude-code", folder); err != nil {
		return ws, err
	}
	if err := tape(nil, "index", "sync"); err != nil {
		return ws, err
	}
	fmt.Fprintf(s.out, "made the workspace in %.0f s\n", time.Since(began).Seconds())
	return ws, os.Rename(partial, ws)
}

// transcripts writes the sessions of the small tapes, of six messages each.
func (s *setup) transcripts(w *writer) (string, error) {
	folder := filepath.Join(s.dir, "transcripts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for i := range s.tapes {
		var text []byte
		for k := range 6 {
			role := []string{"user", "assistant"}[k%2]
			e := w.entry()
			text = fmt.Appendf(text, `{"type":%q,"sessionId":"small-%d","uuid":"u%d","timestamp":%q,"cwd":"/home/dev/shop","message":{"role":%q,"id":"m%d","content":[{"type":"text","text":%q}]}}`+"\n",
				role, i, k, e.date[:19]+"Z", role, k, e.text)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("small-%d.jsonl", i)), text, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}
