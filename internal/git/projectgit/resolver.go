package projectgit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// MaxFiles is how many files of a commit are listed at most.
const MaxFiles = 1000

// answerLimit is how long git may take to answer about one commit.
const answerLimit = 10 * time.Second

// Resolver asks the git repositories of projects about commits, one project after another. It
// starts at most two processes for a project, which answer all questions about it. Close it when
// done.
type Resolver struct {
	dir        string
	ids, trees *process
}

// Resolved is a commit and what it changed.
type Resolved struct {
	ID    string
	Files []string // changed files, at most MaxFiles; none for a merge, or if git cannot list them
	More  int      // how many more it changed
}

// Resolve finds a commit by a prefix of its id in the repository of a directory. ok is false if it
// is not there, the prefix is ambiguous, or git cannot be run there. The end of the first ctx for a
// directory also ends the processes that answer the later questions about it.
func (r *Resolver) Resolve(ctx context.Context, dir, id string) (c Resolved, ok bool) {
	if r.dir != dir {
		r.Close()
		r.dir = dir
		if st, err := os.Stat(dir); err == nil && st.IsDir() && filepath.IsAbs(dir) {
			r.ids = begin(ctx, dir, "cat-file", "--batch-check=%(objectname)")
		}
	}
	err := r.ids.ask(id+"^{commit}", func(out *bufio.Reader) (err error) {
		c.ID, err = out.ReadString('\n')
		return err
	})
	c.ID = strings.TrimSuffix(c.ID, "\n")
	if err != nil || !strings.HasPrefix(c.ID, id) || strings.Contains(c.ID, " ") { // missing, or ambiguous
		return Resolved{}, false
	}
	if r.trees == nil {
		r.trees = begin(ctx, dir, "diff-tree", "--stdin", "-r", "--root", "-z", "--name-only", "--no-commit-id", "--no-renames")
	}
	if err := r.trees.ask(c.ID+"\n/", c.read); err != nil {
		c.Files, c.More = nil, 0
	}
	return c, true
}

// read reads the paths that a commit changed. The question was the id and a line with a slash. Git
// echoes that line, because it is not an id: it marks the end of the list, since no path begins with a
// slash.
func (c *Resolved) read(out *bufio.Reader) error {
	for {
		if next, err := out.Peek(1); err != nil {
			return err
		} else if next[0] == '/' {
			_, err := out.ReadString('\n')
			return err
		}
		path, err := out.ReadString(0)
		if err != nil {
			return err
		}
		if len(c.Files) == MaxFiles {
			c.More++
			continue
		}
		c.Files = append(c.Files, strings.ToValidUTF8(strings.TrimSuffix(path, "\x00"), "\ufffd"))
	}
}

// Close ends the processes.
func (r *Resolver) Close() {
	r.ids.end()
	r.trees.end()
	*r = Resolver{}
}

// process is a git that answers one question after another. A nil process answers none.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	abort context.CancelFunc
}

var errNotRunning = errors.New("git cannot be run there")

func begin(ctx context.Context, dir string, args ...string) *process {
	ctx, abort := context.WithCancel(ctx)
	d := &process{cmd: command(ctx, dir, nil, args...), abort: abort}
	in, err1 := d.cmd.StdinPipe()
	out, err2 := d.cmd.StdoutPipe()
	if err1 != nil || err2 != nil || d.cmd.Start() != nil {
		abort()
		return nil
	}
	d.in, d.out = in, bufio.NewReader(out)
	return d
}

// ask asks a question and reads the answer. A git that takes longer than answerLimit is killed, and
// answers nothing more.
func (d *process) ask(question string, read func(*bufio.Reader) error) error {
	if d == nil {
		return errNotRunning
	}
	defer time.AfterFunc(answerLimit, d.abort).Stop()
	if _, err := io.WriteString(d.in, question+"\n"); err != nil {
		return err
	}
	return read(d.out)
}

func (d *process) end() {
	if d == nil {
		return
	}
	_ = d.in.Close()
	d.abort()
	_ = d.cmd.Wait()
}
