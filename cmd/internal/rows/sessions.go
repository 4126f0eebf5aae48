package rows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/display"
	"tape/repo"
)

// SessionKey returns a key that all entries of a session have in common, and no others.
func SessionKey(e repo.Entry) string { return e.Workspace + "\x00" + e.Tape }

// HitKey is [SessionKey] for a hit: the hits of forks and subagents have that of their session.
func HitKey(h index.Hit) string {
	e := h.Entry
	e.Tape = cmp.Or(h.Session, e.Tape)
	return SessionKey(e)
}

// BySession puts the hits of each session together. The sessions are in the order of their first hits.
func BySession(hits []index.Hit) []index.Hit {
	first := map[string]int{}
	for i, h := range hits {
		if _, known := first[HitKey(h)]; !known {
			first[HitKey(h)] = i
		}
	}
	hits = slices.Clone(hits)
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return first[HitKey(a)] - first[HitKey(b)] })
	return hits
}

// More says how many of the matches are shown; "" if all are.
func More(res *index.Result) string {
	shown, flag := 0, "-n shows more"
	for _, h := range res.Hits {
		if shown += 1 + h.Similar; h.More > 0 {
			flag = "-n and --entries show more"
		}
	}
	if shown >= res.Matches {
		return ""
	}
	total := strconv.Itoa(res.Matches)
	if !res.Exact {
		total = "more than " + total
	}
	return fmt.Sprintf("%d of %s matches; %s", shown, total, flag)
}

// FirstSessions returns the hits of the first sessions, at most most, and how many sessions are left.
func FirstSessions(hits []index.Hit, most int) (shown []index.Hit, left int) {
	place := map[string]int{}
	for _, h := range hits {
		key := SessionKey(h.Entry)
		if _, known := place[key]; !known {
			place[key] = len(place)
		}
		if place[key] < most {
			shown = append(shown, h)
		}
	}
	return shown, max(0, len(place)-most)
}

// HitsOfSessions shows the sessions with matches, each with the entries that match. names are short names of tapes;
// titles are by [SessionKey].
func HitsOfSessions(s *stdio.Streams, res *index.Result, names map[string]string, titles map[string]Heading) error {
	type session struct {
		repo.Entry
		ids []int64
	}
	var list []*session
	at := map[string]*session{}
	for _, h := range res.Hits {
		found := at[SessionKey(h.Entry)]
		if found == nil {
			found = &session{Entry: h.Entry}
			at[SessionKey(h.Entry)], list = found, append(list, found)
		}
		found.ids = append(found.ids, h.ID)
	}
	for _, found := range list {
		slices.Sort(found.ids)
		if s.JSON {
			if err := s.Emit(append(stdio.Object{{"tape", found.Tape}}.With("workspace", found.Workspace), stdio.Object{{"matches", len(found.ids)}, {"entries", found.ids}}...).With("title", titles[SessionKey(found.Entry)].Title).With("project", titles[SessionKey(found.Entry)].Project).With("instead", res.Instead)); err != nil {
				return err
			}
			continue
		}
		SessionTitle(s, titles[SessionKey(found.Entry)])
		name := display.Line(cmp.Or(names[found.Tape], found.Tape))
		ids := display.Entries(len(found.ids)) + "  " + display.IDs(found.ids)
		s.Line(s.Style(stdio.Bold+";"+stdio.Yellow, name) + "  " + s.Fit(ids, max(12, s.Width()-display.Width(name)-2)))
	}
	return nil
}

// MoreOf says how many hits of a session are left out, below the last one that is shown.
func MoreOf(s *stdio.Streams, h index.Hit) {
	if h.More > 0 {
		s.Line("  " + s.Style(stdio.Dim, fmt.Sprintf("and %d more in this session", h.More)))
	}
}

// Hits shows hits to people. With named, each has the name of its tape, or the short name in names. The hits of a
// session are below its title, if titles, which is by [SessionKey], has one.
func Hits(s *stdio.Streams, hits []index.Hit, named bool, names map[string]string, titles map[string]Heading) error {
	last := ""
	for i, h := range hits {
		if i > 0 {
			s.Line("")
		}
		tape := ""
		if named {
			tape = cmp.Or(names[h.Tape], h.Tape)
		}
		if session := HitKey(h); session != last && titles[session] != (Heading{}) {
			SessionTitle(s, titles[session])
			last = session
		}
		Hit(s, h, tape)
		MoreOf(s, h)
		if err := s.Written(); err != nil {
			return err
		}
	}
	return nil
}
