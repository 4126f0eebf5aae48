package hostcli

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"tape/cmd/internal/hostcmd"
	"tape/internal/serve/front"
	"tape/internal/serve/host"
	"tape/internal/serve/links"
	"tape/internal/serve/web"
	"tape/internal/show/prose"
	"tape/internal/store/layout"
	"tape/repo"
)

const shortestToken = 32

// Serve answers requests until it is interrupted.
func (Host) Serve(ctx context.Context, o hostcmd.ServeOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.Token == "":
		o.Token = host.NewToken()
	case len(o.Token) < shortestToken:
		return layout.Invalid("leave it out to get a random one", "TAPE_SERVE_TOKEN has less than %d characters", shortestToken)
	}
	entrance, err := front.New(front.Options{Hosts: o.Hosts, Path: o.Base, Proxies: o.Proxies, Near: "name it with --trusted-proxy", Hint: "tape serve --host adds a name"})
	if err != nil {
		return layout.Wrap(err, "--host, --base-path and --trusted-proxy")
	}
	listeners, err := listen(ctx, o.Listen, o.Socket, len(o.Proxies) > 0)
	if err != nil {
		return err
	}
	s, err := host.New(ctx, host.Options{Store: o.Store, Token: o.Token, Version: o.Version, Front: entrance, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	url := "http://" + listeners[0].Addr().String()
	public := publicAddress(o, entrance.Path, listeners[0].Addr())
	pages := web.New(ctx, web.Options{All: o.All, Store: o.Store, Write: o.Write, Base: entrance.Path, Start: o.Start, Project: o.Project, Path: "/v/" + s.Secret("the web view"), Note: s.Note, KeepConn: s.KeepConn,
		NewLink: func(code string) { o.NewLink(public + web.LinkPath(code)) }})
	defer pages.Wait()
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle(links.Path, newLinkPages(linkPages{Store: o.Store, All: o.All, Now: time.Now, Note: s.Note,
		Write: func(ctx context.Context, w io.Writer, t *repo.Tape) error {
			return writePage(ctx, w, t, prose.New().Folded)
		}}))
	s.Handler = mux
	if err := links.SetAddress(o.Store, o.All, public); err != nil {
		return err
	}
	link := public + pages.Link()
	if err := o.Ready(url, public, link); err != nil {
		return err
	}
	if o.Open {
		opened := make(chan func(), 1) // gets what removes the page
		go func() {                    // its program may wait for the browser, which waits for this server
			remove, err := openPage(ctx, link)
			if err != nil && ctx.Err() == nil {
				o.Warn("no browser could be opened: " + err.Error())
			}
			opened <- remove
		}()
		defer func() { stop(); (<-opened)() }()
	}
	return s.Serve(ctx, listeners...)
}

// publicAddress is where browsers find the server: at its first name, by https if a proxy is in front of it.
func publicAddress(o hostcmd.ServeOptions, path string, at net.Addr) string {
	switch {
	case len(o.Hosts) == 0:
		return "http://" + at.String() + path
	case len(o.Proxies) > 0:
		return "https://" + o.Hosts[0] + path
	}
	name := o.Hosts[0]
	if _, port, err := net.SplitHostPort(at.String()); err == nil && !strings.Contains(name, ":") {
		name += ":" + port
	}
	return "http://" + name + path
}

// openPage opens a URL in the user's browser. The URL has a secret, and everybody on the machine can see
// the arguments of programs, so the browser gets a private file that redirects to it.
func openPage(ctx context.Context, url string) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "tape-open-") // only its owner can enter it
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	page := filepath.Join(dir, "open.html")
	text := `<!DOCTYPE html><meta charset="utf-8"><title>tape</title><meta http-equiv="refresh" content="0; url=` + html.EscapeString(url) + `"><a href="` + html.EscapeString(url) + `">tape</a>` + "\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		return remove, err
	}
	return remove, openFile(ctx, page)
}

// openFile opens a file in the user's program for it.
func openFile(ctx context.Context, path string) error {
	argv := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open"}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.CommandContext(ctx, argv[0], append(argv[1:], path)...).Run()
}
