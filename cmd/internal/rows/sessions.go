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

// SessionOf is the same for all entries of a session, and for no others.
func SessionOf(e repo.Entry) string { return e.Workspace + "\x00" + e.Tape }

// BySession puts the hits of a session together, in the order of their first ones.
func BySession(hits []index.Hit) []index.Hit {
	first := map[string]int{}
	for i, h := range hits {
		if _, known := first[SessionOf(h.Entry)]; !known {
			first[SessionOf(h.Entry)] = i
		}
	}
	hits = slices.Clone(hits)
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return first[SessionOf(a.Entry)] - first[SessionOf(b.Entry)] })
	return hits
}

// More says how many matches are not shown; "" if all are.
func More(res *index.Result) string {
	shown := 0
	for _, h := range res.Hits {
		shown += 1 + h.Similar
	}
	if shown >= res.Matches {
		return ""
	}
	of := strconv.Itoa(res.Matches)
	if !res.Exact {
		of = "more than " + of
	}
	return fmt.Sprintf("%d of %s matches; -n shows more", shown, of)
}

// HitsOfSessions shows the sessions with matches, each with the entries that match.
func HitsOfSessions(s *stdio.Streams, res *index.Result, names, titles map[string]string) error {
	type session struct {
		repo.Entry
		ids []int64
	}
	var list []*session
	at := map[string]*session{}
	for _, h := range res.Hits {
		of := at[SessionOf(h.Entry)]
		if of == nil {
			of = &session{Entry: h.Entry}
			at[SessionOf(h.Entry)], list = of, append(list, of)
		}
		of.ids = append(of.ids, h.ID)
	}
	for _, of := range list {
		slices.Sort(of.ids)
		if s.JSON {
			if err := s.Emit(append(stdio.Object{{"tape", of.Tape}}.With("workspace", of.Workspace), stdio.Object{{"matches", len(of.ids)}, {"entries", of.ids}}...).With("instead", res.Instead)); err != nil {
				return err
			}
			continue
		}
		Session(s, titles[SessionOf(of.Entry)])
		name := display.Line(cmp.Or(names[of.Tape], of.Tape))
		ids := display.Entries(len(of.ids)) + "  " + display.IDs(of.ids)
		s.Line(s.Style(stdio.Bold+";"+stdio.Yellow, name) + "  " + s.Fit(ids, max(12, s.Width()-display.Width(name)-2)))
	}
	return nil
}

// Hits shows hits to people. With named, each has the name of its tape, short if names has it; hits of a session
// stand below its title, by [SessionOf], if titles has it.
func Hits(s *stdio.Streams, hits []index.Hit, named bool, names, titles map[string]string) error {
	last := ""
	for i, h := range hits {
		if i > 0 {
			s.Line("")
		}
		of := ""
		if named {
			of = cmp.Or(names[h.Tape], h.Tape)
		}
		if session := SessionOf(h.Entry); session != last && titles[session] != "" {
			Session(s, titles[session])
			last = session
		}
		Hit(s, h, of)
		if err := s.Written(); err != nil {
			return err
		}
	}
	return nil
}
