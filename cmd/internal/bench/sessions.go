package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// sessions times imports of many transcripts in one call: a thousand of six messages, five
// times as many, and 32 long ones, each again with nothing new.
func (s *setup) sessions() error {
	g := newGen(5)
	long := func(w io.Writer) error { return g.transcript(w, 42<<20/32) }
	for _, many := range []struct {
		files int
		write func(w io.Writer) error
	}{{1000, g.smallTalk}, {5000, g.smallTalk}, {32, long}} {
		ws, folder := filepath.Join(s.dir, "sessions"), filepath.Join(s.dir, "transcripts-in")
		for _, dir := range []string{ws, folder} {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		if _, err := s.cmd(ws, "init", ws).run(); err != nil {
			return err
		}
		total := int64(0)
		for i := range many.files {
			path := filepath.Join(folder, fmt.Sprintf("%d.jsonl", i))
			size, err := writeFile(path, many.write)
			if err != nil {
				return err
			}
			total += size
			// One that was written just now might be changing still, and is read again.
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(path, old, old); err != nil {
				return err
			}
		}
		for _, what := range []string{"import", "import again"} {
			r, err := s.cmd(ws, "import", folder, "--quiet").run()
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, "%-34s %7.0f MB in %s: %.0f MB/s, %s of processor, %d MB of memory\n", fmt.Sprintf("%s, %d sessions", what, many.files),
				float64(total)/1e6, r.wall.Round(time.Millisecond), float64(total)/1e6/r.wall.Seconds(), r.cpu.Round(time.Millisecond), r.rss>>20)
		}
	}
	return nil
}
