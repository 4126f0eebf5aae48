package reports

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/touched"
	"tape/internal/sessions/trace"
)

// slack is how much later than its commit an edit may be dated: git drops fractions of seconds.
const slack = time.Second

// credited splits runs of lines by the edits that wrote them. A line that says little, such as a bracket, is credited
// with the line before it. Runs without edits have no turns.
func credited(ctx context.Context, f *trace.Finder, project projectgit.Repo, name string, runs []projectgit.Run, now time.Time) ([]blamed, error) {
	file, err := touched.Find(ctx, name)
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
	dates := map[string]time.Time{}
	for _, r := range runs {
		dates[r.Commit.ID] = r.Commit.Authored
	}
	var out []blamed
	for _, r := range runs {
		since, err := previousDate(ctx, project, r, dates)
		if err != nil {
			return nil, err
		}
		parts, err := creditedRun(ctx, edits, r, lines, since, now)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	return out, nil
}

// previousDate returns the author date of the file's commit before the one of a run; zero if there is none.
func previousDate(ctx context.Context, project projectgit.Repo, r projectgit.Run, dates map[string]time.Time) (time.Time, error) {
	id := r.Commit.Previous
	if _, known := dates[id]; id != "" && !known {
		c, _, err := project.Commit(ctx, id)
		if err != nil {
			return time.Time{}, err
		}
		dates[id] = c.Authored
	}
	return dates[id], nil
}

// creditedRun splits one run. Edits count from since, the date of the file's commit before it. For lines that are not
// committed, they count until now.
func creditedRun(ctx context.Context, edits *trace.Edits, r projectgit.Run, lines []string, since, now time.Time) (out []blamed, err error) {
	until, authored := r.Commit.Committed.Add(slack), r.Commit.Authored.Add(slack)
	if authored.After(until) {
		until = authored
	}
	if !r.Committed() {
		until = now
	}
	fallback := -1 // the edit that lines are credited to if no edit has them
	if r.Committed() {
		fallback = edits.Last(since, authored)
	}
	last, how := fallback, trace.LastEdit
	for n := r.First; n <= r.Last; n++ {
		i := -1
		if r.Committed() {
			i = edits.WriterOf(lines[n-1], since, authored)
		}
		if i < 0 {
			i = edits.WriterOf(lines[n-1], since, until)
		}
		switch {
		case i >= 0:
			last, how = i, trace.Edited
		case trace.Telling(lines[n-1]):
			last, how = fallback, trace.LastEdit
		}
		b := blamed{Run: projectgit.Run{First: n, Last: n, Commit: r.Commit, Boundary: r.Boundary}}
		if last >= 0 {
			turn, err := edits.Turn(ctx, last, how)
			if err != nil {
				return nil, err
			}
			b.turns = []trace.Turn{turn}
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
