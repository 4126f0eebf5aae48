package hostcli

import (
	"context"

	"tape/cmd/internal/cli"
	"tape/internal/serve/mcpserver"
)

// MCP serves an agent until standard input ends.
func (Host) MCP(ctx context.Context, o cli.MCPOptions) error {
	return mcpserver.Serve(ctx, mcpserver.Options{Open: o.Open, Tape: o.Tape, Write: o.Write, Hint: o.Hint, Version: o.Version}, o.In, o.Out)
}
