package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"tape/internal/store/layout"
)

// The estimate of tokens.
const (
	tokensEach  = 4    // added for each message or block
	tokensMedia = 1600 // for an image, file or audio, instead of its data
)

func (p piece) tokens() int {
	ascii, other := 0, 0
	for _, c := range p.json {
		switch {
		case c < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(c):
			other++
		}
	}
	return (max(0, ascii-p.data)+3)/4 + other + p.media*tokensMedia + tokensEach
}

// conversation is a conversation cut into turns. Turn 0 is always shown.
type conversation struct {
	options Options
	items   []*item
	turn    []int // of each item
	turns   int
}

func cut(items []*item, o Options) *conversation {
	w := &conversation{options: o, items: items, turn: make([]int, len(items))}
	anchorsOnly := false // this turn has only anchors so far
	for i, it := range items {
		if i == 0 && it.anchor || it.role == roleSystem || it.role == roleDeveloper {
			continue
		}
		if w.turns == 0 || it.begins && !anchorsOnly {
			w.turns++
			anchorsOnly = true
		}
		anchorsOnly = anchorsOnly && it.anchor
		w.turn[i] = w.turns
	}
	return w
}

// from assembles turn 0 and the turns after the n-th.
func (w *conversation) from(n int) *Context {
	c := &Context{}
	a := assembly{blocks: w.options.Format == Anthropic}
	for i, it := range w.items {
		if w.turn[i] == 0 || w.turn[i] > n {
			for _, p := range it.pieces {
				a.add(p)
			}
		}
	}
	c.Messages, c.System = a.done()
	c.Tokens = a.tokens
	return c
}

// fit leaves out as few of the oldest turns as the options allow.
func (w *conversation) fit() (*Context, error) {
	o := w.options
	least := 0
	if o.Tail != nil {
		least = max(0, w.turns-*o.Tail)
	}
	fits := func(c *Context) bool {
		return (o.MaxTokens == 0 || c.Tokens <= o.MaxTokens) && (o.MaxBytes == 0 || c.size() <= o.MaxBytes)
	}
	most := max(least, w.turns-1) // the last turn must stay
	n := least
	if o.MaxTokens > 0 || o.MaxBytes > 0 {
		n += sort.Search(most-least, func(i int) bool { return fits(w.from(least + i)) })
	}
	c := w.from(n)
	if !fits(c) {
		return nil, w.tooSmall(c)
	}
	if n > 0 {
		c.LeftOut = w.leftOut(n, c)
	}
	return c, nil
}

func (w *conversation) tooSmall(c *Context) error {
	var needs []string
	if w.options.MaxTokens > 0 {
		needs = append(needs, fmt.Sprintf("about %d tokens, and %d are allowed", c.Tokens, w.options.MaxTokens))
	}
	if w.options.MaxBytes > 0 {
		needs = append(needs, fmt.Sprintf("%d bytes, and %d are allowed", c.size(), w.options.MaxBytes))
	}
	return layout.Invalid("", "the last turn with the opening anchor needs %s", strings.Join(needs, "; ")).Try(layout.AllowMore)
}

func (w *conversation) leftOut(n int, kept *Context) LeftOut {
	out := LeftOut{Turns: n, Tokens: max(0, w.from(0).Tokens-kept.Tokens)}
	shown := map[int64]bool{}
	for i, it := range w.items {
		for _, id := range it.entries {
			shown[id] = shown[id] || w.turn[i] == 0 || w.turn[i] > n
		}
	}
	for _, yes := range shown {
		if !yes {
			out.Entries++
		}
	}
	return out
}

// assembly collects pieces. Messages stay as they are, blocks are put into messages.
type assembly struct {
	blocks   bool
	messages []json.RawMessage
	system   [][]byte
	open     []byte // the message to which blocks are added
	role     string
	tokens   int
}

func (a *assembly) add(p piece) {
	a.tokens += p.tokens()
	switch {
	case !a.blocks:
		a.messages = append(a.messages, p.json)
	case p.role == roleSystem || p.role == roleDeveloper:
		a.system = append(a.system, p.json)
	default:
		if a.role == "" && p.role == roleAssistant {
			a.add(piece{role: roleUser, json: textBlock(textOpening)})
		}
		if p.role != a.role {
			a.close()
			a.role = p.role
			a.open = append([]byte(`{"role":"`+p.role+`","content":[`), p.json...)
			return
		}
		a.open = append(append(a.open, ','), p.json...)
	}
}

func (a *assembly) close() {
	if a.open != nil {
		a.messages = append(a.messages, append(a.open, "]}"...))
		a.open = nil
	}
}

func (a *assembly) done() (messages []json.RawMessage, system json.RawMessage) {
	a.close()
	if a.system != nil {
		system = slices.Concat([]byte("["), bytes.Join(a.system, []byte(",")), []byte("]"))
	}
	return a.messages, system
}
