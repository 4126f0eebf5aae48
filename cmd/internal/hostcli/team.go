package hostcli

import (
	"context"

	"tape/cmd/internal/hostcmd"
)

// TeamLogin remembers a team's server and a token for it.
func (Host) TeamLogin(ctx context.Context, o hostcmd.TeamOptions, url, token string) error {
	return loginToTeam(ctx, o.Streams, url, token)
}

// TeamSearch asks the team's server.
func (Host) TeamSearch(ctx context.Context, o hostcmd.TeamOptions, s hostcmd.TeamSearch) error {
	c, err := openTeam(o.Getenv)
	if err != nil {
		return err
	}
	return c.Search(ctx, o.Streams, s)
}

// TeamTapes lists the team's sessions.
func (Host) TeamTapes(ctx context.Context, o hostcmd.TeamOptions, list hostcmd.TeamList) error {
	c, err := openTeam(o.Getenv)
	if err != nil {
		return err
	}
	return c.Tapes(ctx, o.Streams, list)
}

// TeamLog shows entries of one of the team's sessions.
func (Host) TeamLog(ctx context.Context, o hostcmd.TeamOptions, e hostcmd.TeamEntries) error {
	c, err := openTeam(o.Getenv)
	if err != nil {
		return err
	}
	return c.Log(ctx, o.Streams, e)
}
