package hostcli

import (
	"context"

	"tape/cmd/internal/hostcmd"
	"tape/internal/show/prose"
)

// Publish writes the pages of sessions.
func (Host) Publish(ctx context.Context, o hostcmd.PublishOptions) error {
	return publishSessions(ctx, o, prose.New().Folded)
}
