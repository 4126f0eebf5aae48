package hostcli

import (
	"context"
	"time"

	"tape/cmd/internal/teamclient"
	"tape/cmd/internal/teamcmd"
	"tape/cmd/internal/teamhost"
	"tape/index"
)

// TeamSync brings the team's database up to date.
func (Host) TeamSync(ctx context.Context, o teamcmd.Options, remotes []string, watch time.Duration) error {
	return teamhost.Sync(ctx, o, remotes, watch)
}

// TeamServe answers the team's requests until it is interrupted.
func (Host) TeamServe(ctx context.Context, o teamcmd.Options) error { return teamhost.Serve(ctx, o) }

// TeamCheck tries everything that team.toml says.
func (Host) TeamCheck(ctx context.Context, o teamcmd.Options) error { return teamhost.Check(ctx, o) }

// TeamStatus shows for each remote when it was last read, and what failed.
func (Host) TeamStatus(ctx context.Context, o teamcmd.Options) error { return teamhost.Status(ctx, o) }

// TeamTokenAdd makes a token.
func (Host) TeamTokenAdd(ctx context.Context, o teamcmd.Options, name string, groups []string, expires string) error {
	return teamhost.AddToken(ctx, o, name, groups, expires)
}

// TeamTokens lists tokens.
func (Host) TeamTokens(ctx context.Context, o teamcmd.Options) error { return teamhost.Tokens(ctx, o) }

// TeamTokenRevoke makes a token void.
func (Host) TeamTokenRevoke(ctx context.Context, o teamcmd.Options, name string) error {
	return teamhost.Revoke(ctx, o, name)
}

// TeamLogin remembers a team's server and a token for it.
func (Host) TeamLogin(ctx context.Context, o teamcmd.Options, url, token string) error {
	return teamclient.Login(ctx, o.Streams, url, token)
}

// TeamSearch asks the team's server.
func (Host) TeamSearch(ctx context.Context, o teamcmd.Options, s index.Search) error {
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
