package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/repo"
)

type infoArgs struct {
	Tape    string `json:"tape"`
	Project string `json:"project"`
}

const stateChars = 6_000 // of an anchor's payload

// info describes a tape.
func (s *server) info(ctx context.Context, _ call, a infoArgs) (string, error) {
	store, t, err := s.openIn(ctx, a.Project, a.Tape)
	if err != nil {
		return "", err
	}
	return infoOf(ctx, store, t)
}

func infoOf(ctx context.Context, store *repo.Store, t *repo.Tape) (string, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return "", err
	}
	facts, err := aboutOf(ctx, store, t)
	if err != nil {
		return "", err
	}
	forks, err := t.Forks(ctx)
	if err != nil {
		return "", err
	}
	out := newAnswer(usualChars, "tape %s", line(t.Name(), 200))
	for _, p := range [][2]string{{"title", facts.Title}, {"agent", strings.TrimSpace(facts.Agent + " " + facts.AgentVersion)}, {"model", facts.Model},
		{"project", facts.Project}, {"fork of", t.Parent()}, {"open forks", strings.Join(catalog.Names(forks), ", ")}} {
		if p[1] != "" {
			out.add(p[0] + ": " + line(p[1], summaryChars) + "\n")
		}
	}
	own := ""
	if t.IsFork() {
		own = " of its own"
	}
	out.add(fmt.Sprintf("entries: %d, %d since the last anchor; %d messages and %d tool calls%s; %s\n", info.Entries, info.EntriesSinceLastAnchor,
		facts.Messages, facts.ToolCalls, own, display.Bytes(info.Size)))
	out.add(fmt.Sprintf("from %s to %s\n", minute(facts.Started), minute(facts.Updated)))
	for e, err := range t.Entries(ctx, repo.Query{Phase: repo.Latest, Limit: repo.N(1)}) {
		if err != nil {
			return "", err
		}
		out.add(fmt.Sprintf("last anchor: %03d ", info.Anchors) + anchorText(e))
	}
	return out.String(), nil
}

// anchorText returns an anchor with the first stateChars characters of its payload.
func anchorText(e repo.Entry) string {
	return fmt.Sprintf("%s @%d %s %s\n", line(e.Anchor, 100), e.ID, when(e), clip(escaped(string(withoutNoise(e.Payload))), stateChars))
}

// aboutOf returns the facts about a tape; for a fork, only about its own entries.
func aboutOf(ctx context.Context, store *repo.Store, t *repo.Tape) (about.Tape, error) {
	x := index.New(store, nil)
	defer x.Close()
	facts, damaged, err := catalog.About(ctx, x, store, []*repo.Tape{t})
	return facts[t.Branch()], cmp.Or(err, errors.Join(damaged...))
}
