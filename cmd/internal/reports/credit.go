package reports

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/trace"
)

// slack is how much later than its commit an edit may be dated: git drops fractions of seconds.
const slack = time.Second

// credited splits runs of lines by the edits that wrote them. A line that says little, such as a bracket, is credited
// with the line before it. Runs without edits have no turns.
func credited(ctx context.Context, f *trace.Finder, project projectgit.Repo, name string, runs []projectgit.Run, now time.Time) ([]blamed, error) {
	file, err := trace.FileNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	found, err := f.Edits(ctx, file)
	if err != nil {
		return nil, err
	}
	edits := found[0]
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(bytes.ToValidUTF8(raw, []byte("\ufffd"))), "\n")
	for len(runs) > 0 && len(lines) < runs[len(runs)-1].Last { // the file has changed meanwhile
		lines = append(lines, "")
	}
	c := &crediting{ctx: ctx, project: project, edits: edits, lines: lines, now: now, by: make([]int, len(lines)), dates: map[string]time.Time{}, known: map[string]bool{}}
	for _, r := range runs {
		c.dates[r.Commit.ID] = r.Commit.Authored
	}
	for _, r := range runs {
		if err := c.find(r); err != nil {
			return nil, err
		}
	}
	var out []blamed
	for _, r := range runs {
		parts, err := c.run(r)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	return out, nil
}

// crediting finds the edits that wrote the lines of a file.
type crediting struct {
	ctx     context.Context
	project projectgit.Repo
	edits   *trace.Edits
	lines   []string
	now     time.Time
	by      []int                // for each line the index of the edit that wrote it, or -1
	dates   map[string]time.Time // of commits
	known   map[string]bool      // commits with lines of which an edit is known
}

// previous returns the author date of the file's commit before the one of a run; zero if there is none.
func (c *crediting) previous(r projectgit.Run) (time.Time, error) {
	id := r.Commit.Previous
	if _, known := c.dates[id]; id != "" && !known {
		before, _, err := c.project.Commit(c.ctx, id)
		if err != nil {
			return time.Time{}, err
		}
		c.dates[id] = before.Authored
	}
	return c.dates[id], nil
}

// find finds the edits that wrote the lines of a run. They count from the date of the file's commit before it; for lines
// that are not committed, until now.
func (c *crediting) find(r projectgit.Run) error {
	since, err := c.previous(r)
	if err != nil {
		return err
	}
	until, authored := r.Commit.Committed.Add(slack), r.Commit.Authored.Add(slack)
	if authored.After(until) {
		until = authored
	}
	if !r.Committed() {
		until, authored = c.now, c.now
	}
	for n := r.First; n <= r.Last; n++ {
		i := c.edits.WriterOf(c.lines[n-1], since, authored)
		if i < 0 {
			i = c.edits.WriterOf(c.lines[n-1], since, until)
		}
		if c.by[n-1] = i; i >= 0 {
			c.known[r.Commit.ID] = true
		}
	}
	return nil
}

// fallback returns the edit to which lines of a commit are credited that no edit has, or -1. As in trace's Review, there
// is none if the commit has lines of an edit: then these were written by hand, or by a program such as a formatter.
func (c *crediting) fallback(r projectgit.Run) (int, error) {
	if !r.Committed() || c.known[r.Commit.ID] {
		return -1, nil
	}
	since, err := c.previous(r)
	authored := r.Commit.Authored.Add(slack)
	if err != nil || c.edits.Last(since, authored) < 0 {
		return -1, err
	}
	patches, err := c.project.Range(c.ctx, "", r.Commit.ID)
	if err != nil {
		return -1, err
	}
	former := r.Path
	for _, p := range patches {
		for _, file := range p.Files {
			if file.Path != r.Path {
				continue
			}
			former = cmp.Or(file.Former, former)
			for _, line := range file.Added { // lines that are gone by now may have been of an edit
				if c.edits.WriterOf(line, since, authored) >= 0 {
					c.known[r.Commit.ID] = true
					return -1, nil
				}
			}
		}
	}
	has, err := c.project.Lines(c.ctx, r.Commit.ID, r.Path)
	if err != nil {
		return -1, err
	}
	had, err := c.project.Lines(c.ctx, r.Commit.ID+"^", former)
	if err != nil {
		return -1, err
	}
	return c.edits.LastIn(has, had, since, authored), nil
}

// run splits one run. A line that tells nothing goes with the one before it, or else with the one after it.
func (c *crediting) run(r projectgit.Run) (out []blamed, err error) {
	fallback, err := c.fallback(r)
	if err != nil {
		return nil, err
	}
	first := r.First // a line of which there is something to say
	for first <= r.Last && !trace.Telling(c.lines[first-1]) {
		first++
	}
	b := blamed{Run: r}
	if first > r.Last {
		if r.Committed() && c.known[r.Commit.ID] {
			b.unknown = unknownCommit{"says_little", "too short to say who wrote it"}
		}
		return []blamed{b}, nil
	}
	for n := first; n <= r.Last; n++ {
		if n == first || trace.Telling(c.lines[n-1]) {
			b = blamed{Run: projectgit.Run{Commit: r.Commit, Boundary: r.Boundary, Path: r.Path}}
			i, how := c.by[n-1], trace.Edited
			if i < 0 {
				i, how = fallback, trace.LastEdit
			}
			if i >= 0 {
				turn, err := c.edits.Turn(c.ctx, i, how)
				if err != nil {
					return nil, err
				}
				b.turns = []trace.Turn{turn}
			} else if r.Committed() && c.known[r.Commit.ID] {
				b.unknown = unknownCommit{"no_edit", "by hand or unknown: no recorded edit has them"}
			}
		}
		if b.First, b.Last = n, n; n == first {
			b.First = r.First
		}
		if k := len(out) - 1; k >= 0 && sameTurn(out[k].turns, b.turns) {
			out[k].Last = n
			out[k].turns = later(out[k].turns, b.turns)
		} else {
			out = append(out, b)
		}
	}
	return out, nil
}

// sameTurn reports whether two lines are credited to one turn in the same way.
func sameTurn(a, b []trace.Turn) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return a[0].Tape == b[0].Tape && a[0].First == b[0].First && a[0].How == b[0].How
}

// later returns the longer of a and b, which have one turn up to different edits.
func later(a, b []trace.Turn) []trace.Turn {
	if len(a) > 0 && b[0].Last > a[0].Last {
		return b
	}
	return a
}
