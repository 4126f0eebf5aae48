package host

import (
	"context"
	"net"
	"net/http/httptest"
	"testing"

	"tape/internal/serve/host/api"

	"tape/repo"
)

// listen lets the server listen itself, with its limits of connections, and returns where. end stops it.
func (p *peer) listen() (address string, end func()) {
	p.t.Helper()
	p.web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(p.t.Context())
	ended := make(chan error)
	go func() { ended <- p.s.Serve(ctx, l) }()
	p.web = &httptest.Server{URL: "http://" + l.Addr().String(), Config: p.web.Config}
	return l.Addr().String(), func() {
		stop()
		if err := <-ended; err != nil {
			p.t.Error(err)
		}
	}
}

// TestServeEnds stops a server that has not yet written the audit of a run.
func TestServeEnds(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	_, end := p.listen()
	p.as(run.Token).want(200, "GET", "/tapes", nil, nil)
	end()
	n := 0
	for _, err := range tapeOf(t, p.s.Store, auditTape).Entries(t.Context(), repo.Query{Kinds: []string{"audit"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 { // the start of the run, and its call
		t.Errorf("the audit has %d records, want 2", n)
	}
}
