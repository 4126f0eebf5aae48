package mcpserver

import (
	"context"
	"slices"
	"strings"

	"tape/internal/store/layout"
	"tape/repo"
)

// readTeam shows entries of a session of the team, as its server has them: with secrets masked.
func (s *server) readTeam(ctx context.Context, a readArgs) (string, error) {
	switch {
	case s.TeamEntries == nil:
		return "", layout.NotFound("the user logs in with tape login URL", "no team server is known")
	case !strings.Contains(a.Tape, "/"):
		return "", layout.Invalid("give tape as REMOTE/TAPE, as hits of the team show it", "%q is not the name of a session of the team", a.Tape)
	case a.AfterAnchor != "":
		return "", layout.Invalid("give around or from", "after_anchor is for sessions of the workspace")
	}
	from, to, newest := int64(1), int64(0), false
	switch {
	case a.Around != nil:
		from, to = max(1, int64(*a.Around)-count(a.Before)), int64(*a.Around)+count(a.After)
	case a.From != nil:
		from = int64(*a.From)
	default:
		newest = true
	}
	list, err := s.TeamEntries(ctx, a.Tape, from, to, a.Limit+1, newest)
	if err != nil {
		return "", err
	}
	if around := func(e repo.Entry) bool { return e.ID == int64(*a.Around) }; a.Around != nil && !slices.ContainsFunc(list, around) {
		return "", layout.NotFound("", "%s has no entry @%d", a.Tape, *a.Around)
	}
	if newest {
		list = list[max(0, len(list)-a.Limit):]
	}
	out := newAnswer(max(a.MaxChars+2*cutNote, usualChars), "tape %s of the team", line(a.Tape, 100))
	shown := 0
	for _, e := range list {
		if len(a.Kinds) > 0 && !slices.Contains(a.Kinds, e.Kind) {
			continue
		}
		chars := a.MaxChars
		if e.Kind == repo.KindEvent && len(a.Kinds) == 0 {
			chars = min(chars, eventChars)
		}
		if shown == a.Limit || !out.add(formatEntry(e, chars)) {
			out.end("next_cursor: %s", cursor{Of: "tape_read", Tape: a.Tape, From: e.ID, Kinds: a.Kinds, Scope: scopeTeam})
			break
		}
		shown++
	}
	if shown == 0 {
		out.end("no entries here")
	}
	return out.String(), nil
}
