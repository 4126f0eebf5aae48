package repo_test

import (
	"errors"
	"slices"
	"strings"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestKnownKinds: every way of adding entries refuses misspelled kinds, and entries of known kinds that
// readers could not use.
func TestKnownKinds(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	refused := []string{
		"message {}", `message {"role":"user"}`, `message {"content":"x"}`, `message {"role":"","content":"x"}`, `message {"role":1,"content":"x"}`,
		`message {"role":"user","content":{}}`, `message {"role":"user","content":null}`, `message {"role":"assistant","content":null,"tool_calls":null}`,
		"system {}", `system {"role":"system"}`, `system {"content":["x"]}`,
		"tool_call {}", `tool_call {"calls":{}}`, `tool_call {"calls":["x"]}`, "tool_result {}", `tool_result {"results":"x"}`,
		"event {}", `event {"name":""}`, `event {"name":"x","data":3}`, "error {}", `error {"kind":"x"}`, `error {"message":"x"}`,
		`error {"kind":"x","message":"x","details":[]}`,
		"mesage {}", "Message {}", "messages {}", "toolcall {}", "tool-calls {}", "tool_reslut {}", "EVENT {}", "errors {}", "sytsem {}", "anchors {}", "eevnet {}",
	}
	accepted := []string{
		`message {"role":"user","content":""}`, `message {"role":"x","content":[]}`, `message {"role":"assistant","content":null,"tool_calls":[{}]}`,
		`message {"role":"assistant","refusal":"no"}`, `message {"content":1,"role":"user","content":"the last counts"}`,
		`system {"content":""}`, `tool_call {"calls":[]}`, `tool_call {"calls":[{}]}`, `tool_result {"results":[]}`,
		`event {"name":"x"}`, `event {"name":"x","data":null}`, `error {"kind":"x","message":""}`,
		"agent {}", "note {}", "x {}", "my.event {}", "tool {}", "step {}", "session {}",
	}
	draft := func(c string) repo.Draft {
		kind, payload, _ := strings.Cut(c, " ")
		return repo.Draft{Kind: kind, Payload: []byte(payload)}
	}
	ways := map[string]func(c string) error{
		"append": func(c string) error {
			_, err := tp.Append(t.Context(), nil, draft(c))
			return err
		},
		"append several": func(c string) error {
			_, err := tp.Append(t.Context(), nil, repo.Message("user", "x"), draft(c))
			return err
		},
		"in a transaction": func(c string) error {
			_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
				_, err := tx.AppendEntry(t.Context(), draft(c))
				return err
			})
			return err
		},
		"as a line": func(c string) error {
			kind, payload, _ := strings.Cut(c, " ")
			_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
				return tx.AppendLine(t.Context(), []byte(`{"kind":"`+kind+`","payload":`+payload+`}`))
			})
			return err
		},
	}
	for way, add := range ways {
		for _, c := range slices.Concat(refused, accepted) {
			before := len(storetest.Entries(t, tp, repo.Query{}))
			err := add(c)
			after := len(storetest.Entries(t, tp, repo.Query{}))
			if ok := slices.Contains(accepted, c); ok && (err != nil || after == before) {
				t.Errorf("%s: %s is refused: %v", way, c, err)
			} else if !ok && (!errors.Is(err, repo.ErrInvalid) || after != before || len(repo.Hints(err)) == 0) {
				t.Errorf("%s: %s: error %v, and %d entries became %d; want ErrInvalid with a hint, and no new entry", way, c, err, before, after)
			}
		}
	}
}
