package hostcli

import (
	"context"
	"os"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/hostcmd"
	"tape/index"
	"tape/internal/serve/mcpserver"
	"tape/internal/serve/team/find"
	"tape/repo"
)

// MCP serves an agent until standard input ends.
func (Host) MCP(ctx context.Context, o cli.MCPOptions) error {
	with := mcpserver.Options{Open: o.Open, OpenDir: o.OpenDir, Tape: o.Tape, Write: o.Write, Hint: o.Hint, Version: o.Version}
	if _, err := openTeam(os.Getenv); err == nil {
		with.Team, with.TeamEntries = searchTeam, teamEntries
	}
	return mcpserver.Serve(ctx, with, o.In, o.Out)
}

// searchTeam searches on the team's server.
func searchTeam(ctx context.Context, s index.Search) (hits []find.Hit, more bool, err error) {
	c, err := openTeam(os.Getenv) // the user may have logged in again
	if err != nil {
		return nil, false, err
	}
	found, more, err := c.Find(ctx, hostcmd.TeamSearch{Search: s})
	for _, h := range found {
		hits = append(hits, find.Hit{Hit: h.Hit, Title: h.Title})
	}
	return hits, more, err
}

// teamEntries reads entries of a session from the team's server.
func teamEntries(ctx context.Context, tape string, from, to int64, most int, newest bool) ([]repo.Entry, error) {
	c, err := openTeam(os.Getenv)
	if err != nil {
		return nil, err
	}
	return c.Range(ctx, tape, from, to, most, newest)
}
