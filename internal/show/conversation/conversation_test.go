package conversation

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/repo"
)

// tape makes the entries of a tape.
type tape struct {
	entries []repo.Entry
	seq     int
}

func (t *tape) add(kind, payload, meta string) int64 {
	e := repo.Entry{ID: int64(len(t.entries) + 1), Kind: kind, Payload: []byte(payload), Meta: []byte(meta), Tape: "main"}
	if kind == repo.KindAnchor {
		t.seq++
	}
	e.AnchorSeq = t.seq
	e.Date = time.Date(2026, 11, 20, 9, 0, int(e.ID), 0, time.UTC).Format(time.RFC3339)
	e.Raw = []byte(payload + meta)
	t.entries = append(t.entries, e)
	return e.ID
}

func (t *tape) calls(ids ...string) int64 {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%q,"function":{"name":"tool-%s","arguments":"{\"command\":\"run %s\"}"}}`, id, id, id))
	}
	return t.add(repo.KindToolCall, `{"calls":[`+strings.Join(list, ",")+`]}`, `{}`)
}

func all(entries []repo.Entry) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// asLines writes a conversation with one line per item: kind, entry, and content.
func asLines(t *testing.T, entries []repo.Entry) string {
	t.Helper()
	var b strings.Builder
	err := Each(t.Context(), all(entries), func(it *Item) error {
		fmt.Fprintf(&b, "%s @%d", [...]string{"phase", "message", "calls", "results", "events", "failure"}[it.Kind], it.Entry.ID)
		var speaker Speaker
		if it.Kind == Message {
			speaker = it.Speaker()
		}
		for _, s := range []string{string(speaker), it.Summary, it.Details, it.Typed} {
			if s != "" {
				fmt.Fprintf(&b, " [%s]", s)
			}
		}
		for _, p := range it.Parts {
			fmt.Fprintf(&b, " %s%q", p.Kind, p.Text)
		}
		for _, c := range it.Calls {
			fmt.Fprintf(&b, " %s(%s)%v", c.Name, c.Brief(), results(c.Results))
		}
		if len(it.Results) > 0 {
			fmt.Fprintf(&b, " %v", results(it.Results))
		}
		for _, ev := range it.Events {
			fmt.Fprintf(&b, " %s:%s%s", ev.Name(), ev.Data(), ev.Thinking())
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func results(list []Result) []string {
	var out []string
	for _, r := range list {
		s := fmt.Sprintf("@%d", r.Entry.ID)
		if r.Of != nil {
			s += " of " + r.Of.Name
		}
		for _, p := range r.Parts {
			s += " " + p.Text
		}
		if r.Failed {
			s += " failed"
		}
		out = append(out, s)
	}
	return out
}

func TestConversation(t *testing.T) {
	for name, c := range map[string]struct {
		record func(*tape)
		want   string
	}{
		"who speaks": {func(r *tape) {
			r.add("message", `{"role":"user","content":"please"}`, `{}`)
			r.add("message", `{"role":"user","content":"<system-reminder>be brief</system-reminder>"}`, `{}`)
			r.add("message", `{"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"citation","of":1}]}`, `{}`)
			r.add("system", `{"content":"rules"}`, `{}`)
			r.add("message", `{"role":"narrator","content":"so","mood":"calm"}`, `{}`)
		}, "message @2 [user] \"please\"\nmessage @3 [system] \"<system-reminder>be brief</system-reminder>\"\n" +
			"message @4 [assistant] \"yes\" citation\"type: citation\\nof: 1\"\nmessage @5 [system] \"rules\"\nmessage @6 [other] \"so\" more\"mood: calm\"\n"},
		"results by position": {func(r *tape) {
			r.calls("a", "b")
			r.add("event", `{"name":"tick"}`, `{}`)
			r.add("tool_result", `{"results":["one","two"]}`, `{}`)
		}, "calls @2 tool-a(run a)[@4 of tool-a one] tool-b(run b)[@4 of tool-b two]\nevents @3 tick:\n"},
		"results by id, one failed": {func(r *tape) {
			r.calls("a", "b")
			r.add("tool_result", `{"results":["two","one"]}`, `{"call_ids":["b","a"],"is_error":["a"]}`)
		}, "calls @2 tool-a(run a)[@3 of tool-a one failed] tool-b(run b)[@3 of tool-b two]\n"},
		"results in entries of their own": {func(r *tape) {
			r.calls("a", "b")
			r.add("tool_result", `{"results":["two"]}`, `{"call_ids":["b"]}`)
			r.add("message", `{"role":"user","content":"wait"}`, `{}`)
			r.add("tool_result", `{"results":["one"]}`, `{"call_ids":["a"]}`)
		}, "calls @2 tool-a(run a)[@5 of tool-a one] tool-b(run b)[@3 of tool-b two]\nmessage @4 [user] \"wait\"\n"},
		"results as messages": {func(r *tape) {
			r.add("message", `{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{}`)
			r.add("message", `{"role":"tool","tool_call_id":"a","content":"done"}`, `{}`)
		}, "message @2 [assistant] \"\" f({})[@3 of f done]\n"},
		"a call that was recorded twice is one": {func(r *tape) {
			r.add("message", `{"role":"assistant","content":"I look","tool_calls":[{"id":"a","function":{"name":"tool-a","arguments":"{\"command\":\"run a\"}"}}]}`, `{}`)
			r.calls("a")
			r.add("tool_result", `{"results":["one"]}`, `{}`)
		}, "message @2 [assistant] \"I look\" tool-a(run a)[@4 of tool-a one]\ncalls @3\n"},
		"a result in the next phase, and one of no call": {func(r *tape) {
			r.calls("a")
			r.add("anchor", `{"name":"next","state":{"summary":"so far","files":["x"]}}`, `{}`)
			r.add("tool_result", `{"results":["late"]}`, `{"call_ids":["a"]}`)
			r.add("tool_result", `{"results":["nobody asked"]}`, `{}`)
			r.add("tool_result", `{"results":[],"note":"none"}`, `{}`)
		}, "calls @2 tool-a(run a)[]\nphase @3 [so far] [files: [\"x\"]]\nresults @4 [@4 of tool-a late]\nresults @5 [@5 nobody asked]\nresults @6 more\"note: none\"\n"},
		"events, thinking and failures": {func(r *tape) {
			r.add("event", `{"name":"run","data":{"tokens":7}}`, `{}`)
			r.add("event", `{"name":"thinking","data":{"thinking":"hm"}}`, `{}`)
			r.add("my/kind", `{"x":1}`, `{}`)
			r.add("error", `{"kind":"net","message":"no route","tries":3}`, `{}`)
		}, "events @2 run:tokens: 7 thinking:thinking: hmhm my/kind:x: 1\nfailure @5 [net: no route] [tries: 3]\n"},
	} {
		r := &tape{}
		r.add("anchor", `{"name":"start","state":{}}`, `{}`)
		c.record(r)
		if got := strings.TrimPrefix(asLines(t, r.entries), "phase @1\n"); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, c.want)
		}
	}
}

// Whatever was recorded, in any order: each entry is in the conversation exactly once, items come
// in the order of their first entries, and a result is with the call that it names.
func TestEveryEntryOnce(t *testing.T) {
	rng := testkit.Random(t)
	for range 300 {
		entries := randomTape(rng)
		seen := map[int64]int{}
		count := func(list []Result) {
			for _, r := range list {
				if r.Index == 0 {
					seen[r.Entry.ID]++
				}
				if want := strings.TrimPrefix(r.Parts[0].Text, "result of "); r.Of != nil && want != r.Of.ID {
					t.Errorf("@%d %q is with the call %q of @%d", r.Entry.ID, r.Parts[0].Text, r.Of.ID, r.Of.Entry)
				}
			}
		}
		var order []int64
		err := Each(t.Context(), all(entries), func(it *Item) error {
			switch {
			case it.Kind == Phase && it.Entry.Kind != repo.KindAnchor:
				return nil // it only tells the phase
			case it.Kind == Events:
				for _, ev := range it.Events {
					seen[ev.Entry.ID]++
				}
			case it.Kind == Results && len(it.Results) > 0:
				count(it.Results)
			default:
				seen[it.Entry.ID]++
			}
			for _, c := range it.Calls {
				if c.Entry != it.Entry.ID {
					t.Errorf("the call %s of @%d is in the item of @%d", c.ID, c.Entry, it.Entry.ID)
				}
				count(c.Results)
			}
			order = append(order, it.Entry.ID)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if seen[e.ID] != 1 {
				t.Errorf("@%d %s %s %s is there %d times", e.ID, e.Kind, e.Payload, e.Meta, seen[e.ID])
			}
		}
		if !slices.IsSorted(order) {
			t.Errorf("the items are not in the order of their entries: %v", order)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// randomTape has calls by position and by id, answered at once, later, twice or never.
func randomTape(rng *rand.Rand) []repo.Entry {
	r := &tape{}
	if rng.IntN(2) == 0 {
		r.add("anchor", `{"name":"start"}`, `{}`)
	}
	var open, latest []string
	for i := range 80 {
		switch rng.IntN(8) {
		case 0:
			if rng.IntN(3) == 0 {
				r.add("anchor", `{"name":"next","state":{"n":1}}`, `{}`)
			}
		case 1:
			r.add("message", `{"role":"user","content":"hello"}`, `{}`)
		case 2, 3:
			latest = nil
			for j := range 1 + rng.IntN(3) {
				latest = append(latest, fmt.Sprintf("c%d-%d", i, j))
			}
			open = append(open, latest...)
			r.calls(latest...)
		case 4: // by position
			if len(latest) > 0 {
				texts := `"result of ` + strings.Join(latest, `","result of `) + `"`
				r.add("tool_result", `{"results":[`+texts+`]}`, `{}`)
				open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(latest, id) })
				latest = nil
			}
		case 5, 6: // by id
			if len(open) > 0 {
				id := open[rng.IntN(len(open))]
				if rng.IntN(2) == 0 {
					r.add("tool_result", `{"results":["result of `+id+`"]}`, `{"call_ids":["`+id+`"]}`)
				} else {
					r.add("message", `{"role":"tool","tool_call_id":"`+id+`","content":"result of `+id+`"}`, `{}`)
				}
				latest = nil
				if rng.IntN(4) > 0 {
					open = slices.DeleteFunc(open, func(have string) bool { return have == id })
				}
			}
		default:
			r.add([]string{"event", "error", "my/kind"}[rng.IntN(3)], `{"name":"tick"}`, `{}`)
		}
	}
	return r.entries
}

// A call without a result holds little back: what follows is passed on, and a later result is an
// item of its own.
func TestLittleIsHeldBack(t *testing.T) {
	r := &tape{}
	r.add("anchor", `{"name":"start"}`, `{}`)
	call := r.calls("a")
	for range 2 * maxHeld {
		r.add("message", `{"role":"user","content":"hello"}`, `{}`)
	}
	r.add("tool_result", `{"results":["at last"]}`, `{}`)
	read, passed, most := 0, 0, 0
	reading := func(yield func(repo.Entry, error) bool) {
		for _, e := range r.entries {
			read++
			most = max(most, read-passed)
			if !yield(e, nil) {
				return
			}
		}
	}
	var last string
	err := Each(t.Context(), reading, func(it *Item) error {
		passed++
		if last = ""; it.Kind == Results {
			last = fmt.Sprintf("%v of @%d", results(it.Results), it.Results[0].Of.Entry)
		}
		return nil
	})
	if want := fmt.Sprintf("[@%d of tool-a at last] of @%d", len(r.entries), call); err != nil || last != want {
		t.Errorf("the last item is %q, not %q: %v", last, want, err)
	}
	if most > maxHeld+2 {
		t.Errorf("%d entries were held back, not at most %d", most, maxHeld+2)
	}
}

// Each ends with the first error of reading, or of the function that gets the items.
func TestErrorsEndIt(t *testing.T) {
	broken := errors.New("broken")
	r := &tape{}
	r.add("message", `{"role":"user","content":"hello"}`, `{}`)
	failing := func(yield func(repo.Entry, error) bool) {
		_ = yield(r.entries[0], nil) && yield(repo.Entry{}, broken)
	}
	if err := Each(t.Context(), failing, func(*Item) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("after an error of reading, the error is %v", err)
	}
	if err := Each(t.Context(), all(r.entries), func(*Item) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("after an error of the function, the error is %v", err)
	}
}

// How long a call took is known once it has a result.
func TestTook(t *testing.T) {
	r := &tape{}
	r.calls("a", "b")
	r.add("event", `{"name":"tick"}`, `{}`)
	r.add("tool_result", `{"results":["x"]}`, `{"call_ids":["a"]}`)
	err := Each(t.Context(), all(r.entries), func(it *Item) error {
		if it.Kind == Calls && (it.Calls[0].Took() != 2*time.Second || it.Calls[1].Took() != 0) {
			t.Errorf("the calls took %s and %s, not 2s and 0s", it.Calls[0].Took(), it.Calls[1].Took())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
