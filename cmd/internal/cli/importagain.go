package cli

import (
	"context"
	"strings"

	"tape/cmd/internal/importing"
	"tape/internal/sessions/transcripts"
)

// runAgain makes a tape anew from its transcript.
func (o *importOptions) runAgain(ctx context.Context, m *importing.Import) error {
	if o.app.tapeName != "" || o.everything || len(o.files) > 1 {
		return usagef("--again takes the tape, and at most one FILE")
	}
	store, err := o.app.openStore(ctx)
	if err != nil {
		return err
	}
	t, err := o.app.findTape(ctx, store, o.again)
	if err != nil {
		return err
	}
	var at transcripts.Where
	at.Recorder, _ = o.app.places() // without a home directory there are no transcripts
	at.User, _ = o.app.userSettings()
	return m.Again(ctx, t, strings.Join(o.files, ""), at)
}
