package hostcli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"tape/cmd/internal/cli"
	"tape/internal/host"
	"tape/internal/layout"
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
	listeners, err := host.Listen(ctx, o.Listen, o.Socket)
	if err != nil {
		return err
	}
	s, err := host.New(ctx, host.Options{Store: o.Store, Token: o.Token, Version: o.Version, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	if err := o.Ready("http://"+listeners[0].Addr().String(), o.Token); err != nil {
		return err
	}
	return s.Serve(ctx, listeners...)
}
