package hostcli

import (
	"context"
	"html"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"tape/cmd/internal/cli"
	"tape/internal/serve/host"
	"tape/internal/serve/web"
	"tape/internal/store/layout"
)

const shortestToken = 32

// Serve answers requests until it is interrupted.
func (Host) Serve(ctx context.Context, o cli.ServeOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.Token == "":
		o.Token = host.NewToken()
	case len(o.Token) < shortestToken:
		return layout.Invalid("leave it out to get a random one", "TAPE_SERVE_TOKEN has less than %d characters", shortestToken)
	}
	listeners, err := listen(ctx, o.Listen, o.Socket)
	if err != nil {
		return err
	}
	s, err := host.New(ctx, host.Options{Store: o.Store, Token: o.Token, Version: o.Version, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	url := "http://" + listeners[0].Addr().String()
	pages := web.New(ctx, web.Options{All: o.All, Store: o.Store, Write: o.Write, Path: "/v/" + s.Secret("the web view"), Note: s.Note, KeepConn: s.KeepConn,
		NewLink: func(code string) { o.Link(url + web.LinkPath(code)) }})
	defer pages.Wait()
	s.Handler = pages
	link := url + pages.Link()
	if err := o.Ready(url, o.Token, link); err != nil {
		return err
	}
	if o.Open {
		remove, err := openPage(ctx, link)
		if err != nil {
			o.Warn("no browser could be opened: " + err.Error())
		}
		defer remove()
	}
	return s.Serve(ctx, listeners...)
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
