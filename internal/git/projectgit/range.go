package projectgit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tape/internal/git/gitrun"
)

// MaxCommits is how many commits Range reads at most.
const MaxCommits = 1000

// maxAdded is how many added lines of a file are kept, and maxLine how many bytes of one.
const (
	maxAdded = 20_000
	maxLine  = 4 << 10
)

// ErrManyCommits says that a range has more than MaxCommits commits.
var ErrManyCommits = fmt.Errorf("the range has more than %d commits", MaxCommits)

// Patch is a commit of a range with what it added.
type Patch struct {
	Commit
	Mail  string // the author's address
	Merge bool   // a merge has no files here: its parents' commits have them
	Files []FilePatch
}

// FilePatch is what a commit did with a file.
type FilePatch struct {
	Path   string // after the commit; the former path of a file that was removed
	Former string // the path before, if the commit renamed the file
	Lines  int    // how many lines were added
	Added  []string
}

// ReviewBase returns the revision that a branch is reviewed against: its upstream, unless that is the same branch at
// a remote; else the remote's main branch, or the one here; "" if there is none. branch may be "HEAD".
func (r Repo) ReviewBase(ctx context.Context, branch string) (string, error) {
	own, err := r.refName(ctx, branch)
	if err != nil {
		return "", err
	}
	short := own[strings.LastIndexByte(own, '/')+1:]
	upstream, err := r.refName(ctx, branch+"@{upstream}")
	if err != nil {
		return "", err
	}
	if upstream != "" && !strings.HasSuffix(upstream, "/"+short) {
		return upstream, nil
	}
	for _, name := range []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"} {
		base, err := r.refName(ctx, name)
		if err != nil {
			return "", err
		}
		if base != "" && base != own && !strings.HasSuffix(base, "/"+short) {
			return base, nil
		}
	}
	return upstream, nil // what is not pushed yet
}

// refName returns the whole name of the ref that a word means; "" if it means none.
func (r Repo) refName(ctx context.Context, word string) (string, error) {
	out, err := run(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", word)
	if _, ok := errors.AsType[*gitError](err); ok {
		return "", nil
	}
	name := strings.TrimSpace(string(out))
	if i := strings.LastIndexByte(name, '\n'); i >= 0 { // git before 2.30 repeats --end-of-options
		name = name[i+1:]
	}
	return name, err
}

// IsBranch reports whether a word names a branch, here or of a remote, or the head of a pull request; not a commit
// or a tag.
func (r Repo) IsBranch(ctx context.Context, word string) (bool, error) {
	if word == "HEAD" || strings.HasPrefix(word, "-") {
		return false, nil
	}
	name, err := r.refName(ctx, word)
	return name == "FETCH_HEAD" || word == "FETCH_HEAD" || strings.HasPrefix(name, "refs/") && !strings.HasPrefix(name, "refs/tags/"), err
}

// Range returns the commits that are in head and not in base, the earliest first; if base is "", head alone. Errors:
// ErrManyCommits, ErrSlow.
func (r Repo) Range(ctx context.Context, base, head string) ([]Patch, error) {
	args := []string{"log", "--topo-order", "--reverse", "--no-show-signature", "--encoding=UTF-8", "--no-color",
		"--max-count=" + strconv.Itoa(MaxCommits+1), "--format=%x00%H%x00%P%x00%at%x00%ct%x00%an%x00%ae%x00%s",
		"-p", "-U0", "-M", "--inter-hunk-context=0", "--no-ext-diff", "--no-textconv", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"}
	if base == "" {
		args = append(args, "--no-walk", "--end-of-options", head)
	} else {
		args = append(args, "--end-of-options", head, "^"+base)
	}
	var out []Patch
	err := stream(ctx, r.Top, []string{"core.quotePath", "false", "log.diffMerges", "off", "diff.orderFile", os.DevNull}, func(in *bufio.Reader) (err error) {
		out, err = readPatches(in)
		return err
	}, append(args, "--")...)
	if err == nil && len(out) > MaxCommits {
		err = ErrManyCommits
	}
	return out, err
}

// readPatches reads the output of git log with the format of Range. A line of it that begins with NUL is a commit's:
// the lines of a patch begin with something else.
func readPatches(in *bufio.Reader) (out []Patch, err error) {
	var file *FilePatch
	added, removed := 0, 0 // lines of the hunk that are still to come
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case added > 0 && strings.HasPrefix(line, "+"):
			added--
			if file.Lines++; len(file.Added) < maxAdded {
				file.Added = append(file.Added, strings.ToValidUTF8(strings.TrimSuffix(line[1:], "\r"), "\ufffd"))
			}
		case removed > 0 && strings.HasPrefix(line, "-"):
			removed--
		case strings.HasPrefix(line, "\x00"):
			c, ok := patchOf(line)
			if !ok {
				return nil, fmt.Errorf("unexpected output of git log: %q", line)
			}
			out, file = append(out, c), nil
		case len(out) == 0:
		case strings.HasPrefix(line, "diff --git "):
			c := &out[len(out)-1]
			c.Files = append(c.Files, FilePatch{})
			file = &c.Files[len(c.Files)-1]
		case file == nil:
		case strings.HasPrefix(line, "@@ "):
			removed, added = hunkSize(line)
		default:
			file.header(line)
		}
	}
}

// readLine reads a line without its end. The rest of a long line is left out.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, more, err := in.ReadLine()
		if err != nil {
			return "", err
		}
		line = append(line, part[:min(len(part), maxLine-len(line))]...)
		if !more {
			return string(line), nil
		}
	}
}

func patchOf(line string) (Patch, bool) {
	f := strings.SplitN(line[1:], "\x00", 7)
	if len(f) < 7 {
		return Patch{}, false
	}
	return Patch{Commit: Commit{ID: f[0], Authored: seconds(f[2]), Committed: seconds(f[3]), Author: f[4], Subject: f[6]},
		Mail: f[5], Merge: strings.Contains(f[1], " ")}, true
}

// hunkSize reads the head of a hunk, such as "@@ -3,2 +4 @@".
func hunkSize(line string) (removed, added int) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return 0, 0
	}
	count := func(s string) int {
		_, size, ok := strings.Cut(s, ",")
		if !ok {
			return 1
		}
		n, _ := strconv.Atoi(size) // git writes numbers
		return n
	}
	return count(f[1]), count(f[2])
}

// header reads a line before the hunks of a file.
func (f *FilePatch) header(line string) {
	name := func(prefix, before string) (string, bool) {
		text, ok := strings.CutPrefix(line, prefix)
		if !ok {
			return "", false
		}
		text = strings.TrimSuffix(text, "\t") // git ends a name that has blanks with a tab
		if plain, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
			text = plain
		}
		return strings.CutPrefix(text, before)
	}
	if was, ok := name("rename from ", ""); ok {
		f.Former = was
	}
	if is, ok := name("rename to ", ""); ok {
		f.Path = is
	}
	if was, ok := name("--- ", "a/"); ok && f.Path == "" {
		f.Path = was
	}
	if is, ok := name("+++ ", "b/"); ok {
		f.Path = is
	}
}

// LastChange returns when the newest commit that is in a revision and changed a file was authored; zero if there is
// none.
func (r Repo) LastChange(ctx context.Context, revision, path string) (time.Time, error) {
	out, err := run(ctx, r.Top, nil, "log", "-1", "--no-show-signature", "--format=%at", "--end-of-options", revision, "--", path)
	if _, ok := errors.AsType[*gitError](err); ok { // the revision is not there
		return time.Time{}, nil
	}
	return seconds(strings.TrimSpace(string(out))), err
}

// Bare returns a line without white space, so that it is the same after a formatter.
func Bare(line string) string { return strings.Join(strings.Fields(line), "") }

// Lines returns the lines that a file has in a revision, see Bare; none if it is not there.
func (r Repo) Lines(ctx context.Context, revision, path string) (map[string]bool, error) {
	out, err := run(ctx, r.Top, nil, "cat-file", "blob", revision+":"+path)
	if _, ok := errors.AsType[*gitError](err); ok {
		return nil, nil
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		lines[strings.ToValidUTF8(Bare(line), "\ufffd")] = true
	}
	return lines, err
}

// stream runs git, and reads what it writes as it comes.
func stream(ctx context.Context, dir string, settings []string, read func(*bufio.Reader) error, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := command(limited, dir, settings, args...)
	said := &strings.Builder{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return failed(ctx, limited, err, said.String())
	}
	err = read(bufio.NewReaderSize(out, 64<<10))
	if err != nil {
		cancel()
		_ = cmd.Wait()
		return err
	}
	return failed(ctx, limited, cmd.Wait(), said.String())
}

// failed says why a git command failed; nil if it did not. limited is ctx with the limit of time.
func failed(ctx, limited context.Context, err error, said string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return gitrun.ErrNoGit
	case limited.Err() != nil:
		return ErrSlow
	}
	return &gitError{said, err}
}
