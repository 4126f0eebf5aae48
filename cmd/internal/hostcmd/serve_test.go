package hostcmd_test

import (
	"bufio"
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/serve/links"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// host records the options with which the server was started.
type host struct{ got hostcmd.ServeOptions }

func (h *host) Serve(_ context.Context, o hostcmd.ServeOptions) error {
	h.got = o
	return o.Ready("http://127.0.0.1:7357", "https://tape.example.org/me", "https://tape.example.org/me/?link=x")
}

// run runs tape serve with arguments, and returns what it printed.
func run(t *testing.T, s *repo.Store, h *host, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	st := &stdio.Streams{Stdout: &out, Stderr: &out, Out: bufio.NewWriter(&out), Now: time.Now}
	in := hostcmd.ServeApp{Streams: st, Store: s, Token: "secret", Find: func(ctx context.Context, s *repo.Store, name string) (*repo.Tape, error) { return s.Tape(ctx, name) }}
	cmd := hostcmd.NewServe(hostcmd.ServeRun{
		Host: func(f func(context.Context, hostcmd.ServeHost, hostcmd.ServeApp) error) func(*cobra.Command, []string) error {
			return func(cmd *cobra.Command, _ []string) error { return f(cmd.Context(), h, in) }
		},
		Store: func(f func(context.Context, hostcmd.ServeApp) error) func(*cobra.Command, []string) error {
			return func(cmd *cobra.Command, _ []string) error { return f(cmd.Context(), in) }
		}})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	storetest.Must(t, st.Out.Flush())
	return out.String(), err
}

// TestServe: flags reach the server, and the output has the public address for people, the local one for programs.
func TestServe(t *testing.T) {
	h := &host{}
	out, err := run(t, nil, h, "--host", "a.example", "--host", "b.example", "--base-path", "/me", "--trusted-proxy", "10.0.0.0/8", "--listen", "0.0.0.0:7357")
	if err != nil || strings.Join(h.got.Hosts, " ") != "a.example b.example" || h.got.Base != "/me" || len(h.got.Proxies) != 1 || h.got.Listen != "0.0.0.0:7357" {
		t.Errorf("%+v, %v", h.got, err)
	}
	for _, want := range []string{"https://tape.example.org/me/?link=x\n", "whoever opens https://tape.example.org/me/ later", "http://127.0.0.1:7357/v1 with the token secret"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	if _, err := run(t, nil, h, "extra"); err == nil {
		t.Error("an argument is accepted")
	}
}

// TestLink: a link that only this machine can open is made with a warning.
func TestLink(t *testing.T) {
	s := storetest.New(t, nil)
	for address, warned := range map[string]bool{"http://127.0.0.1:7357/me": true, "https://tape.example.org": false} {
		storetest.Must(t, links.SetAddress(s, false, address))
		out, err := run(t, s, nil, "link", "add", "main", "--expires", "12h")
		if err != nil || !strings.Contains(out, address+"/s/") || strings.Contains(out, "Only this machine") != warned {
			t.Errorf("%s: %q, %v", address, out, err)
		}
	}
	if out, err := run(t, s, nil, "link", "list"); err != nil || strings.Count(out, "main") != 2 {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := run(t, s, nil, "link", "lost"); err == nil {
		t.Error("an unknown command is accepted")
	}
}
