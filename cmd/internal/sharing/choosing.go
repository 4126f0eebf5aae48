package sharing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
)

// Session is a session that a remote does not have.
type Session struct {
	about.Tape
	New int64 // entries that would be sent
}

// mostSessions is how many sessions are listed. Those after them can be chosen by number, too.
const mostSessions = 200

// AskSessions lists sessions and returns the names of those that the person wants to push; nil means all. It returns an
// error if the person chooses none.
func AskSessions(ctx context.Context, s *stdio.Streams, remote string, list []Session) ([]string, error) {
	s.Tell("%s would be pushed to %s for the first time:", display.Count(len(list), "session", "sessions"), display.Line(remote))
	for _, line := range sessionLines(s, list[:min(mostSessions, len(list))]) {
		s.Tell("%s", line)
	}
	if len(list) > mostSessions {
		s.Tell("  … and %d more", len(list)-mostSessions)
	}
	answer, err := s.Ask(ctx, "Push which? [numbers such as 1 3-5, all, or none] ")
	if err != nil {
		return nil, err
	}
	chosen, all, err := choose(answer, len(list))
	switch {
	case err != nil:
		return nil, err
	case all:
		return nil, nil
	case len(chosen) == 0:
		return nil, errors.New("nothing was pushed")
	}
	var names []string
	for _, n := range chosen {
		names = append(names, list[n-1].Name)
	}
	return names, nil
}

// sessionLines returns the rows of the list: number, title, date, project, entries.
func sessionLines(s *stdio.Streams, list []Session) []string {
	const gap, leastTitle, mostProject = 2, 20, 20 // in cells
	var projects, dates, counts []string
	widths := [3]int{}
	for _, x := range list {
		row := [3]string{display.Truncate(display.Line(x.ProjectName()), mostProject), display.Briefly(s.Now(), x.Updated), display.Entries(x.New)}
		for i, cell := range row {
			widths[i] = max(widths[i], display.Width(cell))
		}
		projects, dates, counts = append(projects, row[0]), append(dates, row[1]), append(counts, row[2])
	}
	number := len(strconv.Itoa(len(list)))
	title := leastTitle
	catalog.TellApart(aboutOf(list))
	for _, x := range list {
		title = max(title, display.Width(display.Line(x.Label())))
	}
	if w := s.Width(); w > 0 {
		title = max(leastTitle, min(title, w-number-widths[0]-widths[1]-widths[2]-5*gap))
	} else {
		title = min(title, 60)
	}
	var out []string
	for i, x := range list {
		name := display.Pad(display.Truncate(display.Line(rows.FitLabel(x.Tape, title)), title), title)
		line := fmt.Sprintf("  %*d  %s  %s", number, i+1, name, display.Pad(dates[i], widths[1]))
		if widths[0] > 0 {
			line += "  " + display.Pad(projects[i], widths[0])
		}
		out = append(out, line+"  "+strings.Repeat(" ", widths[2]-display.Width(counts[i]))+counts[i])
	}
	return out
}

func aboutOf(list []Session) (out []*about.Tape) {
	for i := range list {
		out = append(out, &list[i].Tape)
	}
	return out
}

// choose reads an answer: numbers and ranges up to end, or a word for all or none.
func choose(answer string, end int) (chosen []int, all bool, err error) {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "all", "a", "yes", "y":
		return nil, true, nil
	case "", "none", "no", "n":
		return nil, false, nil
	}
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		first, last, isRange := strings.Cut(word, "-")
		from, err1 := strconv.Atoi(first)
		to, err2 := from, error(nil)
		if isRange {
			to, err2 = strconv.Atoi(last)
		}
		if err1 != nil || err2 != nil || from < 1 || to < from || to > end {
			return nil, false, layout.Invalid(fmt.Sprintf("answer with numbers from 1 to %d, all, or none", end), "%q is not a number in the list; nothing was pushed", word)
		}
		for n := from; n <= to; n++ {
			if !slices.Contains(chosen, n) {
				chosen = append(chosen, n)
			}
		}
	}
	return chosen, false, nil
}
