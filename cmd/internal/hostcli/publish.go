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
	return publishing.Run(ctx, s, store, publishing.Options{Dir: o.Dir, File: o.File, Branch: o.Branch, Push: o.Push, Tapes: o.Tapes, About: o.About, Named: o.Named,
		Remove: o.Remove, Allow: o.Allow, Refuse: o.Refuse, Prose: prose.New().Folded, Version: o.Build, Open: o.Open})
}
