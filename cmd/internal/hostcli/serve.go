package hostcli

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"tape/cmd/internal/cli"
	"tape/internal/host"
	"tape/internal/layout"
	"tape/internal/web"
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
		return layout.Invalid("leave it out, and one is made", "TAPE_SERVE_TOKEN has less than %d characters", shortestToken)
	}
	listeners, err := listen(ctx, o.Listen, o.Socket)
	if err != nil {
		return err
	}
	pages, wait := web.New(ctx, web.Options{Home: o.Home, Store: o.Store, Write: o.Write, Token: o.Token})
	defer wait()
	s, err := host.New(ctx, host.Options{Store: o.Store, Token: o.Token, Version: o.Version, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Handler: pages})
	if err != nil {
		return err
	}
	url := "http://" + listeners[0].Addr().String()
	if err := o.Ready(url, o.Token); err != nil {
		return err
	}
	if o.Open {
		if err := openPage(ctx, url+"/?token="+o.Token); err != nil {
			o.Warn("no browser could be opened: " + err.Error())
		}
	}
	return s.Serve(ctx, listeners...)
}

// openPage has the system open an address in the person's browser.
func openPage(ctx context.Context, url string) error {
	argv := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open"}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.CommandContext(ctx, argv[0], append(argv[1:], url)...).Run()
}
