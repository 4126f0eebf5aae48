package hostcli

import (
	"context"

	"tape/cmd/internal/publishcmd"
	"tape/cmd/internal/publishing"
	"tape/internal/show/prose"
)

// Publish writes the pages of sessions.
func (Host) Publish(ctx context.Context, o publishcmd.Options) error {
	return publishing.Run(ctx, o, prose.New().Folded)
}
