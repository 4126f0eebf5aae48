package host

import (
	"context"
	"net"
	"net/http/httptest"
	"testing"

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/own"
	"tape/repo"
)

// TestServeEnds stops a server that has not yet written the audit of a run.
func TestServeEnds(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	p.web.Close()
	ctx, stop := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- p.s.Serve(ctx, l) }()
	p.web = &httptest.Server{URL: "http://" + l.Addr().String(), Config: p.web.Config}
	p.as(run.Token).want(200, "GET", "/tapes", nil, nil)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range tapeOf(t, p.s.Store, own.Audit).Entries(t.Context(), repo.Query{Kinds: []string{"audit"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 { // the start of the run, and its call
		t.Errorf("the audit has %d records, want 2", n)
	}
}
