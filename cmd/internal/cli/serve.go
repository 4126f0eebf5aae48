package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

// ServeOptions are what a server gets of the command line.
type ServeOptions struct {
	Store   *repo.Store
	Listen  string // an address of this machine
	Socket  string // "" is none
	Token   string // the admin's; "" has one made
	Version string
	Warn    func(text string)
	Ready   func(url, token string) error
}

// envServeToken is the admin's token where it has to stay the same.
const envServeToken = "TAPE_SERVE_TOKEN"

func newServeCmd(a *App) *cobra.Command {
	var o ServeOptions
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDRESS] [--socket PATH]",
		Short: "Serve the workspace over HTTP to agents in any language",
		Long: `Serve the workspace over HTTP and JSON, to an orchestrator and to the agents that it runs: runs
with tokens of their own, history by pages, search, events as they come, artifacts, state.
GET /v1/openapi.json describes all of it.

When it is ready it prints its address with the admin's token, and goes on until it is
interrupted. Only programs of this machine reach it. The token is made anew at each start,
unless TAPE_SERVE_TOKEN has one of at least 32 characters.`,
		Example: `  tape serve
  tape serve --listen 127.0.0.1:7357 --json
  tape serve --socket ~/.tape/serve.sock`,
		RunE: a.hosted(func(ctx context.Context, host Host) error {
			store, err := a.openStore(ctx)
			if err != nil {
				return err
			}
			o.Store, o.Token, o.Warn = store, a.Getenv(envServeToken), a.warn
			o.Version, _ = a.build()
			o.Ready = func(url, token string) error {
				if err := a.result(object{{"url", url}, {"token", token}}, "%s/?token=%s", url, token); err != nil {
					return err
				}
				return a.out.Flush()
			}
			return host.Serve(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "the `ADDRESS` to listen on; port 0 takes any that is free")
	f.StringVar(&o.Socket, "socket", "", "listen on the unix socket `PATH`, too")
	return cmd
}
