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

// Why git knows no commit for a line.
var (
	ErrNotInGit = errors.New("no commit has the file")
	ErrNoLine   = errors.New("the file has fewer lines")
)

// Run is a range of lines of a file that come from one commit.
type Run struct {
	First, Last int // from 1
	Commit      *Commit
	Path        string // of the file in the commit, from the project's folder
	Boundary    bool   // the history begins with the commit, or is cut off there
}

// Committed reports whether the lines are in a commit.
func (r Run) Committed() bool { return strings.Trim(r.Commit.ID, "0") != "" }

// Blame returns the commits that the lines of a file in the working tree come from: of all lines,
// or, if first is not 0, of those from first to last. Errors: ErrNotInGit, ErrNoLine.
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
	if failed, ok := errors.AsType[*gitError](err); ok && strings.Contains(failed.stderr, "could not open object name list") {
		// blame.ignoreRevsFile, set for all repositories, names a file that this one lacks.
		out, err = run(ctx, dir, settings, append(args, "--no-ignore-revs-file", "--", name)...)
	}
	if failed, ok := errors.AsType[*gitError](err); ok {
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

// parseBlame reads the output of git blame --incremental: for each run the commit and the line
// numbers, then, the first time, the commit's details, and at the end a line that begins with
// "filename".
func parseBlame(out []byte) (runs []Run, err error) {
	commits := map[string]*Commit{}
	boundaries := map[*Commit]bool{}
	var current Run
	for line := range strings.Lines(string(bytes.ToValidUTF8(out, []byte("\ufffd")))) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if current.Commit == nil {
			f := strings.Fields(value)
			if len(f) != 3 {
				return nil, fmt.Errorf("unexpected output of git blame: %q", line)
			}
			start, err1 := strconv.Atoi(f[1])
			count, err2 := strconv.Atoi(f[2])
			if err := cmp.Or(err1, err2); err != nil {
				return nil, err
			}
			if commits[key] == nil {
				commits[key] = &Commit{ID: key}
			}
			current = Run{First: start, Last: start + count - 1, Commit: commits[key]}
			continue
		}
		switch key {
		case "author":
			current.Commit.Author = value
		case "author-time":
			current.Commit.Authored = seconds(value)
		case "committer-time":
			current.Commit.Committed = seconds(value)
		case "previous":
			current.Commit.Previous, _, _ = strings.Cut(value, " ")
		case "summary":
			current.Commit.Subject = value
		case "boundary":
			boundaries[current.Commit] = true
		case "filename":
			current.Path = value
			runs = append(runs, current)
			current = Run{}
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.First, b.First) })
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

// withoutFilters returns settings that disable the repository's filters. Git would run them to
// compare the file with what is committed.
func withoutFilters(ctx context.Context, dir string) (settings []string, err error) {
	out, err := run(ctx, dir, nil, "config", "--null", "--name-only", "--get-regexp", `^filter\..*\.(clean|process|required)$`)
	var failed *gitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err // git fails silently if there are none
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
