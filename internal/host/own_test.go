package host

import (
	"encoding/json"
	"os"
	"testing"

	"tape/internal/host/api"
	"tape/repo"
)

// TestTapesOfStrangers: a tape host that came from elsewhere does not become the server's state.
func TestTapesOfStrangers(t *testing.T) {
	p := newPeer(t)
	theirs, err := p.s.Store.CreateTape(t.Context(), hostTape)
	if err != nil {
		t.Fatal(err)
	}
	d := repo.Draft{Kind: "state", Payload: json.RawMessage(`{"scope":"actor","owner":"ann","key":"k","value":"of a stranger"}`)}
	if _, err := theirs.Append(t.Context(), nil, d); err != nil {
		t.Fatal(err)
	}
	token := p.run(api.RunRequest{Conversation: "c", Actor: api.Party{ID: "ann"}}).Token
	p.as(token).fails(404, "not_found", "GET", "/state/actor/k", nil)
	p.as(token).want(200, "PUT", "/state/actor/mine", "1", nil)
	p.start(p.s.Store)
	a := p.as(token)
	a.want(200, "GET", "/state/actor/mine", nil, nil)
	a.fails(404, "not_found", "GET", "/state/actor/k", nil)
	a.fails(404, "not_found", "GET", "/history?conversation_id=host-2", nil)
	a.fails(404, "not_found", "GET", "/history?conversation_id=host", nil)
	p.fails(422, "invalid_argument", "POST", "/runs", api.RunRequest{Runner: "r", Conversation: "host-2"})
	tapeOf(t, p.s.Store, "host-2")

	// A server of a former version did not note its tapes: they are still its own.
	if err := os.Remove(p.s.private("tapes.json")); err != nil {
		t.Fatal(err)
	}
	p.start(p.s.Store)
	p.as(token).want(200, "GET", "/state/actor/k", nil, nil)
}
