package host

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tape/internal/serve/host/api"

	"tape/repo"
)

// TestTapesOfStrangers: a tape called host that came from elsewhere does not become the server's
// state.
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

// TestForksOfOwnTapes: a fork of a tape of the server is the server's, too.
func TestForksOfOwnTapes(t *testing.T) {
	p := newPeer(t)
	r := p.as(p.run(api.RunRequest{Conversation: "c", Actor: api.Party{ID: "ann"}, Scopes: allScopes()}).Token)
	r.want(200, "PUT", "/state/actor/k", `"v"`, nil)
	host, err := p.s.own.Find(t.Context(), hostTape)
	if err == nil {
		_, err = host.ForkAt(t.Context(), "look", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	r.fails(404, "not_found", "GET", "/events?conversation_id=host/look", nil)
	r.fails(404, "not_found", "GET", "/diff?a=c&b=host/look", nil)
	var list api.TapeList
	r.want(200, "GET", "/tapes", nil, &list)
	for _, item := range list.Items {
		if strings.HasPrefix(item.Tape, "host") {
			t.Errorf("a run sees the server's tape %+v", item)
		}
	}
	p.fails(422, "invalid_argument", "POST", "/runs", api.RunRequest{Runner: "r", Conversation: "host/look"})
}
