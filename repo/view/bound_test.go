package view

import (
	"errors"
	"strings"
	"testing"

	"tape/repo"
)

// A turn begins with a message of the user, or with an anchor followed by one; the opening anchor and
// system messages belong to no turn.
func TestTail(t *testing.T) {
	entries := tape(`anchor {"name":"first"}`, `message {"role":"assistant","content":"0"}`, `message {"role":"user","content":"1"}`,
		`message {"role":"system","content":"sys"}`, callsF, `message {"role":"user","content":"2"}`, results(`["late"]`)+"\t"+`{"call_ids":["c1"]}`,
		`anchor {"name":"second"}`, `message {"role":"user","content":"3"}`, `message {"role":"assistant","content":"4"}`)
	const opening = "[Anchor created: first]: null | sys"
	for n, want := range []string{
		opening,
		opening + " | [Anchor created: second]: null | 3 | 4",
		opening + " | 2 | [Anchor created: second]: null | 3 | 4",
		"[Anchor created: first]: null | 1 | sys |  | late | 2 | [Anchor created: second]: null | 3 | 4",
		"[Anchor created: first]: null | 0 | 1 | sys |  | late | 2 | [Anchor created: second]: null | 3 | 4",
		"[Anchor created: first]: null | 0 | 1 | sys |  | late | 2 | [Anchor created: second]: null | 3 | 4",
	} {
		c := mustMessages(t, entries, Options{Tail: &n})
		var texts []string
		for _, m := range c.Messages {
			_, text, _ := strings.Cut(string(m), `"content":"`)
			text, _, _ = strings.Cut(text, `"`)
			texts = append(texts, text)
		}
		if got := strings.Join(texts, " | "); got != want {
			t.Errorf("Tail %d: got %s, want %s", n, got, want)
		}
		left := []LeftOut{{Turns: 4, Entries: 8}, {Turns: 3, Entries: 5}, {Turns: 2, Entries: 4}, {Turns: 1, Entries: 1}, {}, {}}[n]
		if got := c.LeftOut; got.Turns != left.Turns || got.Entries != left.Entries || (got.Tokens > 0) != (left.Turns > 0) {
			t.Errorf("Tail %d: left out %+v, want %+v", n, got, left)
		}
	}
}

// Text that comes with a result, or that the view adds, does not begin a turn.
func TestTurnsBegin(t *testing.T) {
	entries := tape(`anchor {"name":"a"}`, hello, callsF, `message {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"},{"type":"text","text":"a reminder"}]}`,
		results(`["an orphan"]`))
	one := 1
	for _, format := range Formats() {
		if c := mustMessages(t, entries, Options{Format: format, Tail: &one}); c.LeftOut.Turns != 0 {
			t.Errorf("%s: left out %+v, want nothing; shown %s", format, c.LeftOut, c.JSON())
		}
	}
}

func TestTooSmall(t *testing.T) {
	entries := tape(`anchor {"name":"a"}`, hello, `message {"role":"user","content":"`+strings.Repeat("long ", 100)+`"}`)
	for _, o := range []Options{{MaxTokens: 100}, {MaxBytes: 500}} {
		_, err := Messages(entries, o)
		if !errors.Is(err, repo.ErrInvalid) || len(repo.Hints(err)) == 0 || !strings.Contains(err.Error(), "00 are allowed") {
			t.Errorf("%+v: error %v with the hints %s, want ErrInvalid with a hint and the limit", o, err, repo.Hints(err))
		}
	}
	c := mustMessages(t, entries, Options{MaxTokens: mustMessages(t, entries, Options{}).Tokens - 1})
	if c.LeftOut.Turns != 1 || len(c.Messages) != 2 {
		t.Errorf("one token too few: left out %+v, want one turn; shown %s", c.LeftOut, c.JSON())
	}
	if exact := mustMessages(t, entries, Options{MaxTokens: c.Tokens, MaxBytes: len(c.JSON())}); len(exact.Messages) != 2 {
		t.Errorf("bounds that fit exactly: got %s, want %s", exact.JSON(), c.JSON())
	}
}

// The estimate counts 4 ASCII bytes as one token, any other character as one, and an image as 1,600
// whatever its size.
func TestTokens(t *testing.T) {
	tokens := func(lines ...string) int { return mustMessages(t, tape(lines...), Options{}).Tokens }
	user := func(text string) string { return `message {"role":"user","content":"` + text + `"}` }
	base := tokens(user(""))
	if got := tokens(user(strings.Repeat("a", 400))) - base; got != 100 {
		t.Errorf("400 letters are %d tokens, want 100", got)
	}
	if got := tokens(user(strings.Repeat("数", 100))) - base; got != 100 {
		t.Errorf("100 Chinese characters are %d tokens, want 100", got)
	}
	if got := tokens(user(""), user("")); got != 2*base {
		t.Errorf("two messages are %d tokens, want %d, twice one", got, 2*base)
	}
	image := func(n int) int {
		data := strings.Repeat("AAAA", n)
		return tokens(`message {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]}`)
	}
	if small, large := image(1), image(100_000); small != large || small < 1600 || small > 1700 {
		t.Errorf("a small image is %d tokens, a large one %d, want the same, about 1,600", small, large)
	}
}
