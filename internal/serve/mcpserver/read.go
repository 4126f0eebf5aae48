package mcpserver

import (
	"context"
	"slices"
	"time"

	"tape/internal/sessions/filter"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/repo"
)

type readArgs struct {
	Tape        string   `json:"tape"`
	Around      *entryID `json:"around"`
	AfterAnchor string   `json:"after_anchor"`
	From        *entryID `json:"from"`
	Before      *int     `json:"before"`
	After       *int     `json:"after"`
	Kinds       []string `json:"kinds"`
	Limit       int      `json:"limit"`
	MaxChars    int      `json:"max_chars"`
	Cursor      string   `json:"cursor"`
	Project     string   `json:"project"`
	Scope       string   `json:"scope"`
}

const (
	beside     = 5   // entries before and after one that is asked for, by default
	eventChars = 300 // of an event, unless kinds are given: agents record many events
)

// entryPage is a page of entries.
type entryPage struct {
	from, to int64 // ids
	kinds    []string
	limit    int
	chars    int // of an entry
	project  string
}

// read shows entries.
func (s *server) read(ctx context.Context, c call, a readArgs) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	switch a.Scope {
	case "", scopeWorkspace:
	case scopeTeam:
		return s.readTeam(ctx, a)
	default:
		return "", wrongScope(a.Scope)
	}
	r := entryPage{from: 1, limit: a.Limit, chars: a.MaxChars, kinds: a.Kinds, project: a.Project}
	_, t, err := s.openIn(ctx, a.Project, a.Tape)
	if err != nil {
		return "", err
	}
	sum, err := t.Summary(ctx)
	if err != nil {
		return "", err
	}
	if err := r.setRange(ctx, t, a, sum.Entries); err != nil {
		return "", err
	}
	return r.show(ctx, c, t, sum.Entries)
}

// check fills in defaults, takes the arguments of the cursor if there is one, and checks all.
func (a *readArgs) check() error {
	a.Limit, a.MaxChars = filter.Capped(a.Limit, 20, 100), filter.Capped(a.MaxChars, 2_000, 20_000)
	if a.Cursor != "" {
		at, err := parseCursor(a.Cursor, "tape_read")
		if err != nil {
			return err
		}
		from := entryID(max(1, at.From))
		*a = readArgs{Tape: at.Tape, From: &from, Kinds: at.Kinds, Limit: a.Limit, MaxChars: a.MaxChars, Project: at.Project, Scope: at.Scope}
	}
	if _, err := (filter.Params{Kinds: a.Kinds}).Query(filter.InJSON, time.Now()); err != nil {
		return err
	}
	n := 0
	for _, set := range []bool{a.Around != nil, a.AfterAnchor != "", a.From != nil} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return layout.Invalid("give one of the three, or none for the newest entries", "around, after_anchor and from exclude each other")
	case a.Around == nil && (a.Before != nil || a.After != nil):
		return layout.Invalid("give around, too; or use from, with limit for how many entries", "before and after need around")
	}
	return nil
}

// setRange finds the range of ids that was asked for. last is the tape's last entry.
func (r *entryPage) setRange(ctx context.Context, t *repo.Tape, a readArgs, last int64) (err error) {
	r.to = last
	switch {
	case a.Around != nil:
		at := int64(*a.Around)
		if at > last {
			return layout.NotFound("", "tape %q has no entry @%d", t.Name(), at).Try(layout.ShowEntryCount)
		}
		r.from, r.to = max(1, at-count(a.Before)), min(last, at+count(a.After))
	case a.AfterAnchor != "":
		r.from, _, err = query.Range(ctx, (*workspace.Tape)(t), repo.Query{After: a.AfterAnchor})
	case a.From != nil:
		r.from = int64(*a.From)
	case len(r.kinds) == 0:
		r.from = max(1, last-int64(r.limit)+1)
	default: // the newest of these kinds
		for e, err := range t.Entries(ctx, repo.Query{Kinds: r.kinds, Tail: repo.N(r.limit), Limit: repo.N(1)}) {
			if err != nil {
				return err
			}
			r.from = e.ID
		}
	}
	return err
}

// count returns before or after, capped; nil means beside.
func count(n *int) int64 {
	if n == nil {
		return beside
	}
	return int64(min(max(0, *n), 100))
}

// show shows entries until the answer is full. The cursor continues after them, also with
// entries that are appended later.
func (r *entryPage) show(ctx context.Context, c call, t *repo.Tape, last int64) (string, error) {
	rev, err := t.Store().Revision(ctx, t, "")
	if err != nil {
		return "", err
	}
	room := max(r.chars+2*cutNote, usualChars)
	out := newAnswer(room, "tape %s: entries @%d to @%d of %d", line(t.Name(), 100), min(r.from, last), r.to, last)
	next, shown, tell := r.from, 0, c.progress(ctx, "reading")
	for e, err := range rev.Entries(ctx, r.from) {
		if err != nil {
			return "", err
		}
		tell(e.ID - r.from)
		if e.ID > r.to || shown == r.limit {
			break
		}
		if len(r.kinds) == 0 || slices.Contains(r.kinds, e.Kind) {
			chars := r.chars
			if e.Kind == repo.KindEvent && len(r.kinds) == 0 {
				chars = min(chars, eventChars)
			}
			text, err := entryText(ctx, t, e, chars)
			if err != nil {
				return "", err
			}
			if !out.add(text) {
				break
			}
			shown++
		}
		next = e.ID + 1
	}
	if shown == 0 {
		out.end("no entries here; the tape ends with @%d", last)
	}
	if next <= last {
		out.end("next_cursor: %s", cursor{Of: "tape_read", Tape: t.Name(), From: next, Kinds: r.kinds, Project: r.project})
	}
	return out.String(), nil
}
