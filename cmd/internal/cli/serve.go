package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tape/repo"
)

// ServeOptions are the command line's options for the server.
type ServeOptions struct {
	Store   *repo.Store
	Listen  string // an address of this machine
	Socket  string // "" is none
	All     bool   // the pages show all of the user's workspaces together
	Write   bool   // pages have forms that write
	Open    bool   // open the page in a browser
	Token   string // the admin's; "": a new one is made
	Version string
	Warn    func(text string)
	Ready   func(url, token, link string) error
	Link    func(link string) // gets each new link for a browser
}

// envServeToken is the admin's token, if it has to stay the same.
const envServeToken = "TAPE_SERVE_TOKEN"

func newServeCmd(a *App) *cobra.Command {
	var o ServeOptions
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDRESS] [--socket PATH] [--open] [--write]",
		Short: "Serve sessions to a browser, and over HTTP to agents in any language",
		Long: `Serve the sessions of all your workspaces as web pages, or, with --workspace, those of one. Serve
the current directory's workspace, or that one, as an HTTP API below /v1 for an orchestrator and the
agents that it runs: runs with their own tokens, history by pages, search, events as they are
appended, artifacts, state. GET /v1/openapi.json describes the API. The pages are read-only
unless --write is given; the API's admin can always write.

When it is ready, it prints a link for a browser and, for programs, its address and the admin's
token. It runs until it is interrupted. The link works once, within a minute. It starts a
session of that browser, which ends with "Log out", when the server stops, or after a week. If
a browser without a session asks for a page, the server prints a new link.

Only programs on this machine can reach it. Each start creates a new token, unless
TAPE_SERVE_TOKEN has one of at least 32 characters.`,
		Example: `  tape serve --open
  tape serve --listen 127.0.0.1:7357 --json
  tape serve --socket ~/.tape/serve.sock`,
		RunE: a.hosted(func(ctx context.Context, host Host) error {
			store, err := a.openStore(ctx)
			if o.All = a.workspaceDir() == ""; o.All && errors.Is(err, repo.ErrNotFound) {
				store, err = a.openNewest(ctx, err)
			}
			if err != nil {
				return err
			}
			o.Store, o.Token, o.Warn = store, a.Getenv(envServeToken), a.Warn
			o.Version, _ = a.build()
			o.Ready = func(url, token, link string) error {
				if err := a.Result(object{{"url", url}, {"token", token}, {"link", link}},
					"%s\nThe link works once, within a minute; whoever opens %s/ later gets a new one here.\nFor programs: %s/v1 with the token %s", link, url, url, token); err != nil {
					return err
				}
				return a.Flush()
			}
			o.Link = func(link string) {
				if a.JSON {
					fmt.Fprintf(a.Stderr, "%s\n", marshal(object{{"link", link}}))
					return
				}
				fmt.Fprintf(a.Stderr, "A new link, for once and a minute: %s\n", link)
			}
			return host.Serve(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "the `ADDRESS` to listen on; port 0 takes any that is free")
	f.StringVar(&o.Socket, "socket", "", "listen on the unix socket `PATH`, too")
	f.BoolVar(&o.Open, "open", false, "open the page in a browser")
	f.BoolVar(&o.Write, "write", false, "pages can hand off, fork, merge and rename")
	return cmd
}
