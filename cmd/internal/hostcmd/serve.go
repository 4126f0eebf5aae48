package hostcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/repo"
)

// ServeHost is what the command needs of tape-host.
type ServeHost interface {
	Serve(ctx context.Context, o ServeOptions) error
}

// ServeApp is what the commands need of the command line.
type ServeApp struct {
	*stdio.Streams
	Store   *repo.Store
	All     bool   // the pages show all of the user's workspaces together
	Token   string // the admin's; "": a new one is made
	Version string
	Find    func(ctx context.Context, store *repo.Store, name string) (*repo.Tape, error)
}

// AnyPort is a free port of this machine.
const AnyPort = "127.0.0.1:0"

// ServeOptions say what is served, and how it can be reached.
type ServeOptions struct {
	ServeApp
	Listen  string   // an address of this machine or, with Proxies, any
	Socket  string   // "" is none
	Hosts   []string // names of the server in public addresses
	Base    string   // the path of its public address
	Proxies []string // addresses and networks of trusted proxies
	Write   bool     // pages have forms that write
	Open    bool     // open the page in a browser
	Start   string   // the page that the link leads to: a path and a query, such as /review?range=HEAD; "" is the list
	Project string   // the folder of the project whose commits are reviewed; "": that of the workspace
}

// Ready says how the server can be reached: by programs at url, by a browser once with a link to its public address.
func (o ServeOptions) Ready(url, public, link string) error {
	if err := o.Result(stdio.Object{{"url", url}, {"token", o.Token}, {"link", link}},
		"%s\nThe link works once, within a minute; whoever opens %s/ later gets a new one here.\nFor programs: %s/v1 with the token %s", link, public, url, o.Token); err != nil {
		return err
	}
	return o.Flush()
}

// NewLink shows a new link for a browser.
func (o ServeOptions) NewLink(link string) {
	if o.JSON {
		fmt.Fprintf(o.Stderr, "%s\n", stdio.Marshal(stdio.Object{{"link", link}}))
		return
	}
	fmt.Fprintf(o.Stderr, "A new link, which works once, within a minute: %s\n", link)
}

// ServeRun is how the command line runs the commands.
type ServeRun struct {
	Host  func(run func(ctx context.Context, h ServeHost, in ServeApp) error) func(*cobra.Command, []string) error // in tape-host
	Store func(run func(ctx context.Context, in ServeApp) error) func(*cobra.Command, []string) error              // in any program
}

// NewServe returns tape serve.
func NewServe(run ServeRun) *cobra.Command {
	var o ServeOptions
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDRESS] [--socket PATH] [--open] [--write] [--host NAME]… [--base-path PATH] [--trusted-proxy ADDRESS]…",
		Short: "Serve sessions to a browser, and over HTTP to agents in any language",
		Long: `Serve the sessions of all your workspaces as web pages, or, with --workspace, those of one. Serve
the current directory's workspace, or that one, as an HTTP API below /v1 for an orchestrator and the
agents that it runs: runs with their own tokens, history by pages, search, events as they are
appended, artifacts, state. GET /v1/openapi.json describes the API. The pages are read-only
unless --write is given; the API's admin can always write.

When it is ready, it prints a link for a browser and, for programs, its address and the admin's
token. It runs until it is interrupted. The link works once, within a minute. It starts a
session of that browser, which ends with "Log out", when the server stops, or after a week. If
a browser without a session asks for a page, the server prints a new link. tape serve link add
makes a link to a single session, for somebody else.

Only programs on this machine can reach it, and proxies that --trusted-proxy names. They say in
X-Forwarded-Host, -Proto and -For what the browser asked for; from anybody else these headers do
not count. --host names the server as browsers call it; it does not answer to other names.
--base-path is the path of its public address, if it has one. docs/web.md has examples for nginx
and Caddy.

Each start creates a new token, unless TAPE_SERVE_TOKEN has one of at least 32 characters.`,
		Example: `  tape serve --open
  tape serve --listen 127.0.0.1:7357 --json
  tape serve --socket ~/.tape/serve.sock
  tape serve --listen 127.0.0.1:7357 --host tape.example.org --base-path /me --trusted-proxy 127.0.0.1`,
		Args: cobra.NoArgs,
		RunE: run.Host(func(ctx context.Context, h ServeHost, in ServeApp) error {
			o.ServeApp = in
			return h.Serve(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", AnyPort, "the `ADDRESS` to listen on; port 0 takes any that is free")
	f.StringVar(&o.Socket, "socket", "", "listen on the unix socket `PATH`, too")
	f.BoolVar(&o.Open, "open", false, "open the page in a browser")
	f.BoolVar(&o.Write, "write", false, "pages can hand off, fork, merge and rename")
	f.StringArrayVar(&o.Hosts, "host", nil, "the server is called `NAME` in browsers; can be repeated")
	f.StringVar(&o.Base, "base-path", "", "the `PATH` of the server's public address, such as /tape")
	f.StringArrayVar(&o.Proxies, "trusted-proxy", nil, "believe what the proxy at `ADDRESS`, or in this network, says about requests; can be repeated")
	cmd.AddCommand(newLink(run))
	return cmd
}
