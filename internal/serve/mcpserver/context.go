package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/repo"
	"tape/repo/view"
)

type contextArgs struct {
	Tape      string `json:"tape"`
	From      string `json:"from"`
	MaxTokens int    `json:"max_tokens"`
	Project   string `json:"project"`
}

// Phases of a tape of up to wholeTape bytes are read into memory completely. If the tape is longer,
// only the last bytes or entries of a phase are read.
const (
	wholeTape   = 32 << 20
	lastBytes   = 4 << 20
	lastEntries = 5_000
)

// context returns the messages that the next call of a model would get: the newest ones that fit.
func (s *server) context(ctx context.Context, _ call, a contextArgs) (string, error) {
	_, t, err := s.openIn(ctx, a.Project, a.Tape)
	if err != nil {
		return "", err
	}
	return contextOf(ctx, t, a)
}

func contextOf(ctx context.Context, t *repo.Tape, a contextArgs) (string, error) {
	o := view.Options{From: a.From, MaxTokens: filter.Capped(a.MaxTokens, 8_000, 20_000), MaxBytes: maxChars - 4*cutNote}
	c, err := build(ctx, t, o)
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("tape %s: %s, about %s", line(t.Name(), 100), display.Count(len(c.Messages), "message", "messages"),
		display.Count(c.Tokens, "token", "tokens"))
	if n := c.LeftOut.Turns; n > 0 {
		head += fmt.Sprintf("; older ones are left out (%s): tape_read shows them", display.Count(n, "turn", "turns"))
	}
	out := newAnswer(maxChars, "%s", head)
	return out.messages(c), nil
}

// messages adds the messages of a context that fit, and returns the whole answer.
func (a *answer) messages(c *view.Context) string {
	for _, m := range c.Messages {
		if !a.add(escaped(string(m)) + "\n") { // escaping made it longer than view assumed
			a.end("the rest does not fit")
			break
		}
	}
	return a.String()
}

// escaped returns JSON with unsafe characters escaped.
func escaped(text string) string {
	var b strings.Builder
	for {
		i, n, _ := display.Unsafe(text, "")
		b.WriteString(text[:i])
		if i == len(text) {
			return b.String()
		}
		r, _ := utf8.DecodeRuneInString(text[i:])
		if r > 0xffff {
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[i+max(n, utf8.RuneLen(r)):]
	}
}

// build builds the context of a tape. Of a long tape, it reads only the anchor and the last entries.
func build(ctx context.Context, t *repo.Tape, o view.Options) (*view.Context, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return nil, err
	}
	if info.Size <= wholeTape {
		return whole(ctx, t, o)
	}
	q := repo.Query{Phase: repo.Latest, Reverse: true}
	first := repo.Query{Phase: repo.Latest, Limit: repo.N(1)}
	if o.From != "" {
		q, first = repo.Query{After: o.From, Reverse: true}, repo.Query{Phase: o.From, Limit: repo.N(1)}
	}
	var entries []repo.Entry
	size := 0
	for e, err := range t.Entries(ctx, q) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
		if size += len(e.Raw); size > lastBytes || len(entries) == lastEntries {
			break
		}
	}
	for anchor, err := range t.Entries(ctx, first) {
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 || entries[len(entries)-1].ID != anchor.ID {
			entries = append(entries, anchor)
		}
	}
	slices.Reverse(entries)
	for i := range entries {
		entries[i] = quiet(entries[i])
	}
	return view.Messages(entries, o)
}

// whole is [view.Build] without what only an agent's program needs.
func whole(ctx context.Context, t *repo.Tape, o view.Options) (*view.Context, error) {
	seq := t.Context(ctx)
	if o.From != "" {
		seq = t.Entries(ctx, repo.Query{From: o.From, To: repo.Latest, Inclusive: true})
	}
	var entries []repo.Entry
	for e, err := range seq {
		if err != nil {
			return nil, err
		}
		if e.Kind == repo.KindEvent {
			continue
		}
		if e, err = view.WithArtifacts(ctx, t, e); err != nil {
			return nil, err
		}
		entries = append(entries, quiet(e))
	}
	return view.Messages(entries, o)
}
