package view

import (
	"context"
	"encoding/json"

	"tape/internal/store/layout"
	"tape/repo"
)

// Format is the provider's format of messages.
type Format string

// The formats.
const (
	OpenAI    Format = "openai"    // the messages of chat completions
	Anthropic Format = "anthropic" // the messages of the messages API
)

// Formats lists all formats, the default first.
func Formats() []Format { return []Format{OpenAI, Anthropic} }

// Options say which messages to make. The zero value means the whole context, for OpenAI.
type Options struct {
	// From is the anchor to begin with, in any form that repo.Query takes; "" is the latest, preceded by what
	// it does not cover. Messages ignores it.
	From string
	// NoAnchor leaves out the messages for anchors.
	NoAnchor bool
	// Raw maps entries literally, without repairs; for OpenAI only.
	Raw bool
	// Format is the format of messages; "" is OpenAI.
	Format Format

	// MaxTokens and MaxBytes limit the array; 0 is no limit. The oldest turns after the opening anchor are
	// left out until the rest fits. Tokens are estimated, see the package's documentation; bytes are those of
	// Context.JSON.
	MaxTokens, MaxBytes int
	// Tail keeps only the last N turns; nil keeps all.
	Tail *int
}

func (o Options) check() error {
	switch {
	case o.Format != "" && o.Format != OpenAI && o.Format != Anthropic:
		return layout.Invalid("the formats are: openai, anthropic", "there is no format %q", o.Format)
	case o.Raw && o.Format == Anthropic:
		return layout.Invalid("leave out raw, or the format", "the literal mapping has one format, openai")
	case o.MaxTokens < 0 || o.MaxBytes < 0 || o.Tail != nil && *o.Tail < 0:
		return layout.Invalid("", "a bound must not be negative")
	}
	return nil
}

// Context is what a model sees.
type Context struct {
	// System is Anthropic's top-level system parameter: an array with a text block for each distinct text of
	// the system and developer messages. It is nil if there are none, and for OpenAI, which has them among the
	// messages.
	System json.RawMessage
	// Messages are compact JSON objects in the order of the tape.
	Messages []json.RawMessage
	// Tokens is the estimated number of tokens of Messages and System.
	Tokens int
	// LeftOut is what the bounds left out.
	LeftOut LeftOut
	// Unusable are the ids of messages, calls and results that lack what their kind needs, as imports and
	// older programs may have left them. They are in no message.
	Unusable []int64
}

// LeftOut counts what did not fit, or came before the turns of Options.Tail.
type LeftOut struct {
	Turns   int
	Entries int
	Tokens  int // estimated
}

// JSON returns the messages as one compact array.
func (c *Context) JSON() []byte {
	out := append(make([]byte, 0, c.size()), '[')
	for i, m := range c.Messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, ']')
}

func (c *Context) size() int {
	n := len("[]") + max(0, len(c.Messages)-1)
	for _, m := range c.Messages {
		n += len(m)
	}
	return n
}

// Build makes the messages of a tape's context (repo.Tape.Context), or of the phases from Options.From on, and
// reads nothing else. Except with Options.Raw, it shows pictures of artifacts, and the beginnings of texts with how to
// read on. Errors: those of reading; repo.ErrInvalid for impossible options, including bounds in which the last turn
// does not fit.
func Build(ctx context.Context, t *repo.Tape, o Options) (*Context, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	seq := t.Context(ctx)
	if o.From != "" {
		seq = t.Entries(ctx, repo.Query{From: o.From, To: repo.Latest, Inclusive: true})
	}
	var entries []repo.Entry
	for e, err := range seq {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case repo.KindAnchor, repo.KindMessage, repo.KindToolCall, repo.KindToolResult:
			if !o.Raw {
				if e, err = WithArtifacts(ctx, t, e); err != nil {
					return nil, err
				}
			}
			entries = append(entries, e)
		}
	}
	return Messages(entries, o)
}

// Messages makes the messages of entries, given in the order of their tape. Kinds that views leave out may be
// among them. If the first one is an anchor, it is the opening one, which bounds do not leave out.
func Messages(entries []repo.Entry, o Options) (*Context, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var items []*item
	if o.Raw {
		items = literal(entries, o)
	} else {
		items = collect(entries, o)
		for _, it := range items {
			if o.Format == Anthropic {
				renderAnthropic(it)
			} else {
				renderOpenAI(it)
			}
		}
	}
	unusable := unusable(entries, items)
	c, err := cut(items, o).fit()
	if err == nil {
		c.Unusable = unusable
	}
	return c, err
}

// unusable returns the ids of entries that are in no item because they lack what their kind needs.
func unusable(entries []repo.Entry, items []*item) (ids []int64) {
	used := map[int64]bool{}
	for _, it := range items {
		for _, id := range it.entries {
			used[id] = true
		}
	}
	for _, e := range entries {
		spoken := e.Kind == repo.KindMessage || e.Kind == repo.KindToolCall || e.Kind == repo.KindToolResult
		if spoken && !used[e.ID] && !e.Hidden() && layout.CheckPayload(e.Kind, e.Payload) != nil {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
