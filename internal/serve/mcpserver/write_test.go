package mcpserver_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/serve/mcpserver"
	"tape/repo"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	p := connect(t, newStore(t), mcpserver.Options{Write: true})
	for range 2 {
		contains(t, p.ok("tape_append", args{"text": "done", "role": "assistant", "idempotency_key": "k1"}), "@2 on tape main")
	}
	p.fails("tape_append", args{"text": "other", "idempotency_key": "k1"}, "which is a different entry", "hint: use another key")
	contains(t, p.ok("tape_append", args{"kind": "note", "payload": args{"a": 1}}), "@3 on tape main")
	for range 2 {
		contains(t, p.ok("tape_handoff", args{"name": "next", "summary": "s", "state": args{"todo": "x"}, "idempotency_key": "k2"}), "anchor 002 next at @4")
	}
	p.fails("tape_handoff", args{"name": "other", "idempotency_key": "k2"}, "belongs to @4")
	contains(t, p.ok("tape_fork", args{"name": "try"}), "fork main/try begins after @4")
	contains(t, p.ok("tape_append", args{"tape": "main/try", "text": "tried"}), "@5 on tape main/try")
	contains(t, p.ok("tape_merge", args{"fork": "try"}), "merged 1 entry into main: @5 to @5")
	contains(t, p.ok("tape_merge", args{"fork": "try"}), "the fork main/try is merged already")
	contains(t, p.ok("tape_fork", args{"name": "no", "at": "next"}), "main/no")
	contains(t, p.ok("tape_discard", args{"fork": "main/no"}), "discarded main/no")
	contains(t, p.ok("tape_discard", args{"fork": "main/no"}), "the fork main/no is discarded already")
	p.fails("tape_merge", args{"fork": "no"}, "the fork main/no is discarded")
	p.fails("tape_append", args{"tape": "mai", "text": "x"}, `there is no tape "mai"`, "did you mean main?")
	p.fails("tape_append", args{}, "there is nothing to append")
	p.fails("tape_append", args{"kind": "note", "text": "x"}, "give a payload")
	p.fails("tape_append", args{"kind": "anchor", "payload": args{"name": "x"}}, "hint: tape_handoff")
	p.fails("tape_merge", args{"fork": "gone"}, "hint: ")
	p.fails("tape_discard", args{"fork": "main"}, "error: ")
	p.fails("tape_handoff", args{}, "error: ")
}

// A model may read the tapes that tape serve keeps for itself, but not change them.
func TestTapesOfTheHostAreNotWritten(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	p := connect(t, store, mcpserver.Options{Write: true})
	host, err := store.CreateTape(t.Context(), "host")
	if err != nil {
		t.Fatal(err)
	}
	state := repo.Draft{Kind: "state", Payload: []byte(`{"scope":"actor","owner":"ann","key":"k","value":"hers"}`)}
	if _, err := host.Append(t.Context(), nil, state); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Fork(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	contains(t, p.ok("tape_read", args{"tape": "host"}), "hers")
	for tool, a := range map[string]args{
		"tape_append":  {"tape": "host", "kind": "state", "payload": args{"scope": "actor", "owner": "ann", "key": "k", "value": "forged"}},
		"tape_handoff": {"tape": "host", "name": "n"}, "tape_fork": {"tape": "host", "name": "g"},
		"tape_merge": {"fork": "host/f"}, "tape_discard": {"fork": "host/f"},
	} {
		p.fails(tool, a, "that the server keeps for itself", "hint: ")
	}
}

// Clients may send requests at the same time, and repeat those that got no answer.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	p := connect(t, newStore(t), mcpserver.Options{Write: true})
	var calls sync.WaitGroup
	for i := range 20 {
		for tool, a := range map[string]args{
			"tape_append": {"text": "zebra", "idempotency_key": fmt.Sprint(i % 10)}, "tape_search": {"query": "zebra"}, "tape_read": {}, "tape_list": {}, "tape_info": {},
		} {
			calls.Go(func() {
				res, err := p.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
				if err != nil || res.IsError {
					t.Errorf("%s fails: %v, %s", tool, err, mustJSON(t, res))
				}
			})
		}
	}
	calls.Wait()
	contains(t, p.ok("tape_search", args{"query": "zebra"}), "of 10 matches")
	contains(t, p.ok("tape_info", args{}), "entries: 11, ")
}
