package projectgit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Why git tells nothing of a file's lines.
var (
	ErrNotInGit = errors.New("no commit has the file")
	ErrNoLine   = errors.New("the file has fewer lines")
)

// Run is a run of lines of a file that come from one commit.
type Run struct {
	First, Last int // from 1
	Commit      *Commit
	Boundary    bool // the history begins with the commit, or is cut off there
}

// Committed reports whether the lines are in a commit yet.
func (r Run) Committed() bool { return strings.Trim(r.Commit.ID, "0") != "" }

// Blame tells from which commits the lines of a file in the working tree come: all of them,
// or those from first to last where first is not 0.
func Blame(ctx context.Context, file string, first, last int) ([]Run, error) {
	dir, name := filepath.Split(file)
	settings, err := withoutFilters(ctx, dir)
	if err != nil {
		return nil, err
	}
	args := []string{"blame", "--incremental", "--no-textconv", "--encoding=UTF-8"}
	if first > 0 {
		args = append(args, fmt.Sprintf("-L%d,%d", first, last))
	}
	out, err := run(ctx, dir, settings, append(args, "--", name)...)
	var failed *gitError
	if errors.As(err, &failed) {
		switch {
		case strings.Contains(failed.stderr, "no such path"), strings.Contains(failed.stderr, "no such ref: HEAD"):
			err = ErrNotInGit
		case strings.Contains(failed.stderr, "has only"):
			err = ErrNoLine
		}
	}
	if err != nil {
		return nil, err
	}
	return parseBlame(out)
}

// parseBlame reads what git says of each run: the commit, where the run is, and, the first
// time, what the commit is. A line that begins with filename ends it.
func parseBlame(out []byte) (runs []Run, err error) {
	commits := map[string]*Commit{}
	boundaries := map[*Commit]bool{}
	var at Run
	for line := range strings.Lines(string(bytes.ToValidUTF8(out, []byte("\ufffd")))) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if at.Commit == nil {
			f := strings.Fields(value)
			if len(f) != 3 {
				return nil, fmt.Errorf("git blame says %q, which is not understood", line)
			}
			start, err1 := strconv.Atoi(f[1])
			count, err2 := strconv.Atoi(f[2])
			if err := cmp.Or(err1, err2); err != nil {
				return nil, err
			}
			if commits[key] == nil {
				commits[key] = &Commit{ID: key}
			}
			at = Run{First: start, Last: start + count - 1, Commit: commits[key]}
			continue
		}
		switch key {
		case "author":
			at.Commit.Author = value
		case "author-time":
			at.Commit.Authored = seconds(value)
		case "summary":
			at.Commit.Subject = value
		case "boundary":
			boundaries[at.Commit] = true
		case "filename":
			runs = append(runs, at)
			at = Run{}
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
	joined := runs[:0]
	for _, r := range runs {
		r.Boundary = boundaries[r.Commit]
		if n := len(joined); n > 0 && joined[n-1].Commit == r.Commit && joined[n-1].Last+1 == r.First {
			joined[n-1].Last = r.Last
		} else {
			joined = append(joined, r)
		}
	}
	return joined, nil
}

// withoutFilters are settings under which git runs none of the repository's filters: it
// would, to compare the file with what is committed.
func withoutFilters(ctx context.Context, dir string) (settings []string, err error) {
	out, err := run(ctx, dir, nil, "config", "--null", "--name-only", "--get-regexp", `^filter\..*\.(clean|process|required)$`)
	var failed *gitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err // where there is none, git fails and says nothing
	}
	for key := range strings.SplitSeq(string(out), "\x00") {
		switch {
		case key == "":
		case strings.HasSuffix(key, ".required"):
			settings = append(settings, key, "false")
		default:
			settings = append(settings, key, "")
		}
	}
	return settings, nil
}
