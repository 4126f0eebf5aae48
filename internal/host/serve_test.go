package host

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"tape/repo"
)

// TestServeEnds stops a server that has not written yet what a run did.
func TestServeEnds(t *testing.T) {
	p := newPeer(t)
	run := p.run(RunRequest{Conversation: "c"})
	p.web.Close()
	ctx, stop := context.WithCancel(t.Context())
	socket := filepath.Join(t.TempDir(), "sock")
	l, err := Listen(ctx, "127.0.0.1:0", socket)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	if _, err := Listen(ctx, "0.0.0.0:0", ""); err == nil {
		t.Error("an address that others reach was taken")
	}
	done := make(chan error)
	go func() { done <- p.s.Serve(ctx, l...) }()
	p.web = &httptest.Server{URL: "http://" + l[0].Addr().String(), Config: p.web.Config}
	p.as(run.Token).want(200, "GET", "/tapes", nil, nil)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range tapeOf(t, p.s.Store, auditTape).Entries(t.Context(), repo.Query{Kinds: []string{"audit"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}
