package find_test

import (
	"fmt"
	"testing"

	"tape/index"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestDetailsOfCalls: what a program tells more about a call is found as that call, and once.
func TestDetailsOfCalls(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	call := func(id, args string) repo.Draft {
		return repo.Draft{Kind: repo.KindToolCall, Payload: fmt.Appendf(nil, `{"calls":[{"id":%q,"type":"function","function":{"name":"edit","arguments":%q}}]}`, id, args)}
	}
	result := func(id, text string) repo.Draft {
		return repo.Draft{Kind: repo.KindToolResult, Payload: fmt.Appendf(nil, `{"results":[%q]}`, text), Meta: fmt.Appendf(nil, `{"call_ids":[%q]}`, id)}
	}
	detail := func(id, text string) repo.Draft {
		return repo.Event("tool.detail", fmt.Appendf(nil, `{"call_id":%q,"originalFile":%q}`, id, text))
	}
	storetest.Append(t, tp,
		call("c1", "alpha"),                  // 2
		result("c1", "beta"),                 // 3
		detail("c1", "alpha beta gamma"),     // 4
		call("c2", "delta"),                  // 5
		detail("c9", "gamma of a lost call"), // 6
		repo.Event("progress.bash", []byte(`{"parentToolUseID":"c2","output":"epsilon"}`)), // 7
		result("c2", "done"),        // 8
		detail("c2", "delta gamma"), // 9
	)
	x := testIndex(t, s)
	for _, c := range []struct {
		text string
		kind string
		want []int64
	}{
		{"alpha", "", []int64{2}},
		{"beta", "", []int64{3}},
		{"gamma", "", []int64{2, 5, 6}},
		{"epsilon", "", []int64{5}},
		{"delta gamma", "", []int64{2, 5, 6}},
		{`"beta gamma"`, "", []int64{2}},
		{"gamma", repo.KindEvent, []int64{4, 6, 9}},
		{"gamma", repo.KindToolCall, nil},
	} {
		q := index.Search{Text: c.text, Tapes: named(tp)}
		if c.kind != "" {
			q.Query.Kinds = []string{c.kind}
		}
		res := mustSearch(t, x, q)
		wantIDs(t, c.text+" "+c.kind, res.Hits, c.want...)
		for _, h := range res.Hits {
			if len(h.Spans) == 0 {
				t.Errorf("%s: @%d has the snippet %q, without the words", c.text, h.ID, h.Snippet)
			}
		}
	}
	if res := mustSearch(t, x, index.Search{Text: "gamma", Tapes: named(tp), NoFold: true}); len(res.Hits) != 3 || res.Hits[0].Kind != repo.KindEvent {
		t.Errorf("one by one: want the three events, got %s", shown(res))
	}
}
