package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// randomTape returns n random entries as agents record them, some of them with mistakes.
func randomTape(r *rand.Rand, n int) []repo.Entry {
	var lines []string
	id := func() string { return fmt.Sprintf("c%d", r.IntN(6)) }
	for i := range n {
		text := fmt.Sprintf("text %d", r.IntN(n))
		add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		switch r.IntN(14) {
		case 0, 1:
			add(`message {"role":"user","content":%q}`, text)
		case 2:
			add(`message {"role":"assistant","content":%q}`, []string{text, "", " ", text + " \\n"}[r.IntN(4)])
		case 3, 4:
			call := func() string {
				return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f%d","arguments":"{}"}}`, id(), r.IntN(3))
			}
			add(`tool_call {"calls":[%s]}`, strings.Join([]string{call(), call(), call()}[:r.IntN(4)], ","))
		case 5, 6, 7:
			add(`tool_result {"results":[%s]}`, strings.Join([]string{fmt.Sprintf(`"result %d"`, i), fmt.Sprintf(`{"result": %d}`, i), `[{"type":"text","text":"t"}]`}[:1+r.IntN(3)], ","))
		case 8:
			add("tool_result {\"results\":[\"result %d\",\"\"]}\t{\"call_ids\":[%q,%q]}", i, id(), id())
		case 9:
			add(`message {"role":"tool","tool_call_id":%q,"content":"result %d"}`, []string{id(), ""}[r.IntN(2)], i)
		case 10:
			add(`message {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"f","input":{"a":1}}]}`, text, id())
		case 11:
			add(`message {"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"result %d"},{"type":"text","text":%q}]}`, id(), i, text)
		case 12:
			add(`message {"role":"system","content":"system %d"}`, r.IntN(2))
		case 13:
			add(`%s {"name":"n%d"}`, []string{"anchor", "event"}[r.IntN(2)], i)
		}
	}
	return tape(append([]string{`anchor {"name":"first"}`}, lines...)...)
}

// eachTape runs a test on random tapes, in both formats.
func eachTape(t *testing.T, check func(t *testing.T, r *rand.Rand, entries []repo.Entry, o Options)) {
	for seed := range uint64(160) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := Options{Format: Formats()[seed%2], NoAnchor: r.IntN(3) == 0}
		entries := randomTape(r, 1+r.IntN(40))
		check(t, r, entries, o)
		if t.Failed() {
			t.Logf("seed %d, %+v", seed, o)
			for _, e := range entries {
				t.Logf("%d %s %s %s", e.ID, e.Kind, e.Payload, e.Meta)
			}
			t.FailNow()
		}
	}
}

// Whatever was recorded, no provider refuses it, and no result is lost.
func TestRules(t *testing.T) {
	eachTape(t, func(t *testing.T, _ *rand.Rand, entries []repo.Entry, o Options) {
		c := mustMessages(t, entries, o)
		wantRules(t, c, o.Format)
		for _, e := range entries {
			for r := range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
				text, _ := jsonl.String(r)
				if !bytes.Contains(c.JSON(), []byte(text)) {
					t.Errorf("the result %q is not in the messages", text)
				}
			}
		}
	})
}

// Appending extends the array, unless a call still waits for its result.
func TestPrefix(t *testing.T) {
	compared := 0
	eachTape(t, func(t *testing.T, _ *rand.Rand, entries []repo.Entry, o Options) {
		for i := range entries {
			before, after := mustMessages(t, entries[:i], o), mustMessages(t, entries[:i+1], o)
			if again := mustMessages(t, entries[:i+1], o); !bytes.Equal(again.JSON(), after.JSON()) {
				t.Fatal("the same entries give different bytes")
			}
			if bytes.Contains(before.JSON(), []byte(textInterrupted)) {
				continue
			}
			compared++
			open := bytes.TrimSuffix(before.JSON(), []byte("]"))
			if o.Format == Anthropic {
				open = bytes.TrimSuffix(open, []byte("]}"))
			}
			if !bytes.HasPrefix(after.JSON(), open) {
				t.Fatalf("entry %d does not only extend the array:\n%s\n%s", entries[i].ID, before.JSON(), after.JSON())
			}
			if !bytes.HasPrefix(after.System, bytes.TrimSuffix(before.System, []byte("]"))) {
				t.Fatalf("the system parameter %s becomes %s, which does not only extend it", before.System, after.System)
			}
		}
	})
	if compared < 500 {
		t.Errorf("only %d appends were compared", compared)
	}
}

// The result is within the bounds. It has the opening anchor and as many whole turns from the end as
// possible.
func TestBounds(t *testing.T) {
	cuts := 0
	eachTape(t, func(t *testing.T, r *rand.Rand, entries []repo.Entry, o Options) {
		all := mustMessages(t, entries, o)
		bounded := o
		if r.IntN(2) == 0 {
			bounded.MaxTokens = 1 + r.IntN(all.Tokens+8)
		} else {
			bounded.MaxBytes = 1 + r.IntN(len(all.JSON())+8)
		}
		c, err := Messages(entries, bounded)
		if err != nil {
			one := 1
			o.Tail = &one
			last := mustMessages(t, entries, o)
			if bounded.MaxTokens > 0 && last.Tokens <= bounded.MaxTokens || bounded.MaxBytes > 0 && len(last.JSON()) <= bounded.MaxBytes {
				t.Errorf("%v, though the last turn fits", err)
			}
			return
		}
		wantRules(t, c, o.Format)
		if bounded.MaxTokens > 0 && c.Tokens > bounded.MaxTokens || bounded.MaxBytes > 0 && len(c.JSON()) > bounded.MaxBytes {
			t.Errorf("the result exceeds %+v: %d tokens, %d bytes", bounded, c.Tokens, len(c.JSON()))
		}
		if c.Tokens+c.LeftOut.Tokens != all.Tokens && c.LeftOut.Turns == 0 {
			t.Errorf("nothing is left out, but only %d of %d tokens are there", c.Tokens, all.Tokens)
		}
		if !o.NoAnchor && !strings.Contains(string(c.Messages[0]), "[Anchor created: first]") {
			t.Errorf("the opening anchor is not there: %s", c.JSON())
		}
		if c.LeftOut.Turns == 0 {
			return
		}
		cuts++
		if tail := len(c.Messages); c.LeftOut.Entries == 0 || tail >= len(all.Messages)+1 {
			t.Errorf("%d messages of %d, left out %+v", tail, len(all.Messages), c.LeftOut)
		}
		// One turn more would be too much.
		turns := cut(collect(entries, o), o).turns - c.LeftOut.Turns + 1
		o.Tail = &turns
		more := mustMessages(t, entries, o)
		if bounded.MaxTokens > 0 && more.Tokens <= bounded.MaxTokens || bounded.MaxBytes > 0 && len(more.JSON()) <= bounded.MaxBytes {
			t.Errorf("%+v leaves out more than it must", bounded)
		}
		last := func(c *Context) json.RawMessage { return c.Messages[len(c.Messages)-1] }
		if o.Format == OpenAI && !bytes.Equal(last(c), last(all)) {
			t.Errorf("the last message is %s, want %s", last(c), last(all))
		}
	})
	if cuts < 30 {
		t.Errorf("only %d tapes were cut", cuts)
	}
}

// FuzzMessages: any entries give valid JSON that follows the rules.
func FuzzMessages(f *testing.F) {
	f.Add(`{"kind":"message","payload":{"role":"assistant","content":[{"type":"tool_use","id":"x","input":[]}],"tool_calls":[{"id":7}]}}` + "\n" +
		`{"kind":"tool_result","payload":{"results":{"a":1}},"meta":{"call_ids":[null,"x"],"is_error":["x"]}}`)
	f.Add(`{"kind":"tool_call","payload":{"calls":[1,{"function":{"name":"\u0000","arguments":[]}},{"custom":{"input":{}}}]}}` + "\n" +
		`{"kind":"message","payload":{"role":"tool","content":[{"type":"image"},{"type":"thinking"},"x",{"text":"y"}]}}`)
	f.Add(`{"kind":"message","payload":{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,"},{"type":"document","source":{"type":"text","data":"d"}}]}}`)
	f.Add(`{"kind":"message","payload":{"role":"user","parts":[{"type":"tool_result","content":[{"type":"tool_use"}]},{"type":"file","file":{"file_data":"\ud800"}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var entries []repo.Entry
		for line := range strings.SplitSeq(text, "\n") {
			if d, err := repo.ParseDraft([]byte(line)); err == nil {
				entries = append(entries, repo.Entry{ID: int64(len(entries) + 1), Kind: d.Kind, Payload: d.Payload, Meta: d.Meta})
			}
		}
		for _, format := range Formats() {
			wantRules(t, mustMessages(t, entries, Options{Format: format}), format)
		}
		if raw := mustMessages(t, entries, Options{Raw: true}); !json.Valid(raw.JSON()) {
			t.Errorf("raw messages are not valid JSON: %s", raw.JSON())
		}
	})
}
