package projectgit

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// FileDiff is what a commit changed in a file.
type FileDiff struct {
	Path, Former   string // see FilePatch
	New, Deleted   bool
	Binary         bool
	Added, Removed int // lines, also of those that are left out
	Hunks          []DiffHunk
	Left           int // lines that are left out
}

// DiffHunk is a run of changed lines with three lines around them. New is the number of its first line after the commit.
// A line begins with its sign: a blank, + or -.
type DiffHunk struct {
	New   int
	Lines []string
}

// Diff returns what a commit changed, file by file, with at most most lines in all. Of a merge, it returns nothing.
func (r Repo) Diff(ctx context.Context, commit string, most int) (out []FileDiff, err error) {
	err = stream(ctx, r.Top, []string{"core.quotePath", "false", "log.diffMerges", "off", "diff.orderFile", os.DevNull}, func(in *bufio.Reader) (err error) {
		out, err = readDiff(in, most)
		return err
	}, "log", "-1", "--no-walk", "--format=", "--no-show-signature", "--no-color", "-p", "-U3", "-M", "--inter-hunk-context=0", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", commit, "--")
	return out, err
}

// readDiff reads a patch as git writes it.
func readDiff(in *bufio.Reader, most int) (out []FileDiff, err error) {
	var file *FileDiff
	var names FilePatch
	before, after := 0, 0 // lines of the hunk that are still to come
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case (before > 0 || after > 0) && line != "" && strings.ContainsRune(" +-", rune(line[0])):
			if line[0] != '+' {
				before--
			}
			if line[0] != '-' {
				after--
			}
			file.add(line, &most)
		case strings.HasPrefix(line, "diff --git "):
			out, names = append(out, FileDiff{Path: sameName(line)}), FilePatch{}
			file, before, after = &out[len(out)-1], 0, 0
		case file == nil || strings.HasPrefix(line, `\`): // no newline at the end of the file
		case strings.HasPrefix(line, "@@ "):
			before, after = hunkSize(line)
			file.Hunks = append(file.Hunks, DiffHunk{New: hunkBegin(line)})
		default:
			names.header(line)
			file.Path, file.Former = cmp.Or(names.Path, file.Path), names.Former
			file.New = file.New || strings.HasPrefix(line, "new file ")
			file.Deleted = file.Deleted || strings.HasPrefix(line, "deleted file ")
			file.Binary = file.Binary || strings.HasPrefix(line, "Binary files ")
		}
	}
}

func (f *FileDiff) add(line string, most *int) {
	switch line[0] {
	case '+':
		f.Added++
	case '-':
		f.Removed++
	}
	if *most <= 0 {
		f.Left++
		return
	}
	*most--
	h := &f.Hunks[len(f.Hunks)-1]
	h.Lines = append(h.Lines, strings.ToValidUTF8(strings.TrimSuffix(line, "\r"), "\ufffd"))
}

// hunkBegin reads the number of the first line after the commit in the head of a hunk, such as "@@ -3,2 +4,5 @@".
func hunkBegin(line string) int {
	_, rest, _ := strings.Cut(line, " +")
	n, _ := strconv.Atoi(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]) // git writes a number
	return n
}

// sameName reads the name in "diff --git a/x b/x", which is all that git says of some files; "" if there are two.
func sameName(line string) string {
	both := strings.TrimPrefix(line, "diff --git ")
	was, is := both[:len(both)/2], both[(len(both)+1)/2:]
	for _, name := range []*string{&was, &is} {
		if plain, err := strconv.Unquote(*name); err == nil && (*name)[0] == '"' {
			*name = plain
		}
	}
	if name, ok := strings.CutPrefix(was, "a/"); ok && is == "b/"+name {
		return name
	}
	return ""
}

// Branch is a branch of a project.
type Branch struct {
	Name    string // as a person would write it
	Changed time.Time
	Subject string // of its newest commit
}

// Branches returns the branches, here and of remotes, that were changed last, at most most.
func (r Repo) Branches(ctx context.Context, most int) (out []Branch, err error) {
	text, err := run(ctx, r.Top, nil, "for-each-ref", "--sort=-committerdate", "--count="+strconv.Itoa(most),
		"--format=%(refname:short)%00%(symref)%00%(committerdate:unix)%00%(subject)", "refs/heads", "refs/remotes")
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 4)
		if len(f) == 4 && f[1] == "" { // not origin/HEAD
			out = append(out, Branch{f[0], seconds(f[2]), strings.ToValidUTF8(f[3], "\ufffd")})
		}
	}
	return out, err
}
