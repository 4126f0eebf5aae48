package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sharing is a tape that is shared, and the same repository for plain git.
type sharing struct {
	*setup
	dir   string
	ws    string // the workspace
	plain string // a copy of it, in which only git works
}

// shared makes a workspace with one long session as its tape: a real one where there is
// one, else one as long.
func (s *setup) shared() (*sharing, error) {
	file := filepath.Join(s.transcripts, "claude-code", "long-4mb.jsonl")
	ws, err := s.kept("shared", func(ws string) error {
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(s.dir, "long.jsonl")
			if _, err := writeFile(file, func(w io.Writer) error { return newGen(4).transcript(w, 4<<20) }); err != nil {
				return err
			}
		}
		_, err := s.cmd(ws, "import", "claude-code", file, "--tape", "main", "--quiet").run()
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.sharing(ws)
}

// sharing sets the copy beside a workspace.
func (s *setup) sharing(ws string) (*sharing, error) {
	h := &sharing{setup: s, dir: ws + ".shares", ws: ws, plain: filepath.Join(ws+".shares", "plain")}
	if err := os.RemoveAll(h.dir); err != nil {
		return nil, err
	}
	program, err := filepath.Abs(s.tape)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(h.path("bin"), 0o700); err != nil {
		return nil, err
	}
	if err := os.Symlink(program, filepath.Join(h.path("bin"), "tape")); err != nil {
		return nil, err
	}
	return h, os.CopyFS(h.plain, os.DirFS(ws))
}

// path is the address of something in the scratch folder.
func (h *sharing) path(name string) string { return filepath.Join(h.dir, name) }

// url makes both sides go through a transport: of a path, git clone would link the files.
func (h *sharing) url(name string) string { return "file://" + filepath.ToSlash(h.path(name)) }

// tapeIn is the program, which git's hooks find as well: under the name tape.
func (h *sharing) tapeIn(ws string, args ...string) command {
	c := h.cmd(ws, args...)
	c.env = append(c.env, "PATH="+h.path("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return c
}

func (h *sharing) git(args ...string) command {
	return command{env: h.env, argv: append([]string{"git"}, args...)}
}

// all runs commands that are not counted, and gives one that fails if one of them did.
func all(commands ...command) []command {
	for _, c := range commands {
		if _, err := c.run(); err != nil {
			return []command{{argv: []string{"sh", "-c", `echo "$0" >&2; exit 1`, err.Error()}}}
		}
	}
	return nil
}

// then runs commands that are not counted before one that is.
func then(c command, before ...command) []command {
	if failed := all(before...); failed != nil {
		return failed
	}
	return []command{c}
}

// empty makes a bare repository with nothing in it.
func (h *sharing) empty(name string) command {
	_ = os.RemoveAll(h.path(name))
	return h.git("init", "-q", "--bare", h.path(name))
}

// forget makes the remote one that nothing is known of.
func (h *sharing) forget(name string) []command {
	var out []command
	if _, err := h.cmd(h.ws, "remote", "remove", "origin", "--quiet").run(); err != nil {
		out = append(out, h.cmd(h.ws, "remote", "list")) // there was none yet
	}
	return append(out, h.empty(name), h.cmd(h.ws, "remote", "add", "origin", h.path(name), "--quiet"))
}

// pushed is the push of everything to an empty repository.
func (h *sharing) pushed(int) []command {
	return then(h.tapeIn(h.ws, "push", "--quiet"), h.forget("tape.git")...)
}

// pushedByGit is the push of the same refs to another empty one.
func (h *sharing) pushedByGit(int) []command {
	return then(h.gitPush("refs/heads/tape/*:refs/heads/tape/*", "refs/tags/anchor/*:refs/tags/anchor/*"), h.empty("git.git"))
}

// gitPush is a push past the workspace's hooks.
func (h *sharing) gitPush(refs ...string) command {
	return h.git(append([]string{"-C", h.plain, "push", "-q", "--no-verify", h.path("git.git")}, refs...)...)
}

// cloned is a clone of what tape push has sent.
func (h *sharing) cloned(url string) step {
	return func(int) []command {
		_ = os.RemoveAll(h.path("clone"))
		c := h.tapeIn(h.path("clone"), "clone", url, h.path("clone"), "--quiet")
		return []command{c}
	}
}

// clonedByGit is git's clone of the same, with its own settings or others.
func (h *sharing) clonedByGit(url string, settings ...string) step {
	return func(int) []command {
		_ = os.RemoveAll(h.path("copy"))
		var args []string
		for _, s := range settings {
			args = append(args, "-c", s)
		}
		return []command{h.git(append(append([]string{"clone", "-q"}, args...), url, h.path("copy"))...)}
	}
}

// asTapeSyncs makes git sync all that it writes, as tape does before it says that a clone is
// there: packs with their indexes, refs, and the index of the working tree. By itself git
// syncs packs and leaves the rest to the system.
const asTapeSyncs = "core.fsync=all"

// remotes compares sharing with what plain git does with the same repository.
func (s *setup) remotes() error {
	h, err := s.shared()
	if err != nil {
		return err
	}
	if err := h.compare(); err != nil {
		return err
	}
	if err := h.tenMore(); err != nil {
		return err
	}
	if err := s.scanned(); err != nil {
		return err
	}
	ws, err := s.manyTapes()
	if err != nil {
		return err
	}
	if h, err = s.sharing(ws); err != nil {
		return err
	}
	return h.compareMany()
}

// compare times a first push, a clone, and looking for news where there are none. It
// leaves a clone of each side.
func (h *sharing) compare() error {
	row := func(name string, a, b step, other string) error { return paired(h.out, name, h.runs, a, b, other) }
	if err := row("push", h.pushed, h.pushedByGit, "git push"); err != nil {
		return err
	}
	// A small push lies in the remote as loose objects, which each clone has packed first;
	// a host packs them once.
	url := h.url("tape.git")
	clones := []struct {
		name, other string
		b           step
	}{
		{"clone", "git clone of a path, linked", h.clonedByGit(h.path("tape.git"))},
		{"clone", "git clone, synced alike", h.clonedByGit(url, asTapeSyncs)},
		{"clone", "git clone", h.clonedByGit(url)},
		{"clone, packed", "git clone", h.clonedByGit(url)},
	}
	for i, c := range clones {
		if i == len(clones)-1 {
			if _, err := h.git("-C", h.path("tape.git"), "repack", "-a", "-d", "-q").run(); err != nil {
				return err
			}
		}
		if err := row(c.name, h.cloned(url), c.b, c.other); err != nil {
			return err
		}
	}
	return row("pull, nothing new", always(h.tapeIn(h.path("clone"), "pull", "--quiet")),
		always(h.git("-C", h.path("copy"), "fetch", "-q", "origin")), "git fetch")
}

// tenMore times getting ten entries that somebody else has pushed.
func (h *sharing) tenMore() error {
	var ten bytes.Buffer
	if err := newGen(3).entries(&ten, 10); err != nil {
		return err
	}
	fill := h.cmd(h.ws, "append", "--stdin", "--quiet")
	fill.stdin = func() io.Reader { return bytes.NewReader(ten.Bytes()) }
	pull := func(int) []command {
		return then(h.tapeIn(h.path("clone"), "pull", "--quiet"), fill, h.tapeIn(h.ws, "push", "--quiet"))
	}
	return paired(h.out, "pull of ten entries", h.runs, pull, always(h.git("-C", h.path("copy"), "pull", "-q", "--ff-only")), "git pull")
}

// scanned times a push that sends nothing, of a long tape: looking for secrets is nearly
// all of it.
func (s *setup) scanned() error {
	ws, err := s.workspace(s.big / 10)
	if err != nil {
		return err
	}
	h := &sharing{setup: s, dir: ws + ".shares", ws: ws}
	if failed := all(h.forget("scan.git")...); failed != nil {
		_, err := failed[0].run()
		return err
	}
	pairs, err := alternate(1, min(s.runs, 5), always(h.tapeIn(ws, "push", "--dry-run", "--quiet")), nil)
	if err != nil {
		return err
	}
	size, err := entryBytes(ws)
	if err != nil {
		return err
	}
	s.rate("push --dry-run, secrets looked for", size, run{wall: medianOf(pairs, pair.wallA), rss: pairs[0].a.rss})
	return nil
}

// entryBytes is the size of the entry files of a working tree.
func entryBytes(ws string) (size int64, err error) {
	err = filepath.WalkDir(filepath.Join(ws, "anchors"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			size += st.Size()
		}
		return err
	})
	return size, err
}
