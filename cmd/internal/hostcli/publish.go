package hostcli

import (
	"context"

	"tape/cmd/internal/publishcmd"
	"tape/cmd/internal/publishing"
	"tape/cmd/internal/stdio"
	"tape/internal/show/prose"
	"tape/repo"
)

// Publish writes the pages of sessions.
func (Host) Publish(ctx context.Context, s *stdio.Streams, store *repo.Store, o publishcmd.Options) error {
	return publishing.Run(ctx, s, store, o, prose.New().Folded)
}
