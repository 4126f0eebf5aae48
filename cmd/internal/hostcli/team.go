package hostcli

import (
	"context"

	"tape/cmd/internal/teamclient"
	"tape/cmd/internal/teamcmd"
)

// TeamLogin remembers a team's server and a token for it.
func (Host) TeamLogin(ctx context.Context, o teamcmd.Options, url, token string) error {
	return teamclient.Login(ctx, o.Streams, url, token)
}

// TeamSearch asks the team's server.
func (Host) TeamSearch(ctx context.Context, o teamcmd.Options, s teamcmd.Search) error {
	c, err := teamclient.Open(o.Getenv)
	if err != nil {
		return err
	}
	return c.Search(ctx, o.Streams, s)
}

// TeamTapes lists the team's sessions.
func (Host) TeamTapes(ctx context.Context, o teamcmd.Options, list teamcmd.List) error {
	c, err := teamclient.Open(o.Getenv)
	if err != nil {
		return err
	}
	return c.Tapes(ctx, o.Streams, list)
}

// TeamLog shows entries of one of the team's sessions.
func (Host) TeamLog(ctx context.Context, o teamcmd.Options, e teamcmd.Entries) error {
	c, err := teamclient.Open(o.Getenv)
	if err != nil {
		return err
	}
	return c.Log(ctx, o.Streams, e)
}
