package cli

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tape/internal/store/layout"
	"tape/repo"
)

type handoffOptions struct {
	app            *App
	summary, state string
	given          bool // --state was given
}

func newHandoffCmd(a *App) *cobra.Command {
	o := &handoffOptions{app: a}
	cmd := &cobra.Command{
		Use:   "handoff NAME [--summary TEXT] [--state JSON]",
		Short: "Close the phase and open the next one",
		Long: `Write an anchor: the open phase is committed and tagged, and the next one begins. The anchor's
state is what the next phase starts from. The summary is stored in it as state.summary, and in
the commit message, so that git log shows it.`,
		Example: `  tape handoff implement --summary "the plan is agreed"
  tape handoff review --state '{"branch":"fix-upload","tests":"green"}'`,
		Args: takes(1, "NAME"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if o.given = cmd.Flags().Changed("state"); !utf8.ValidString(o.summary) {
				return layout.Invalid("", "--summary is not valid UTF-8")
			}
			return nil
		},
		RunE: a.onTape(o.run),
	}
	cmd.Flags().StringVar(&o.summary, "summary", "", "a `TEXT` that sums up the closed phase")
	cmd.Flags().StringVar(&o.state, "state", "", "what the next phase starts from, a `JSON` object")
	return cmd
}

func (o *handoffOptions) run(ctx context.Context, t *repo.Tape, args []string) error {
	anchor := repo.Anchor{Name: args[0], Summary: o.summary}
	if o.given {
		anchor.State = json.RawMessage(o.state)
	}
	h, err := t.Handoff(ctx, anchor)
	if err != nil {
		return err
	}
	return o.app.Result(object{{"anchor", h.Anchor}, {"anchor_seq", h.Seq}, {"entry", h.Entry}, {"commit", h.Commit}, {"tag", h.Tag}},
		"phase %03d %s opened at @%d; commit %.12s, tag %s", h.Seq, quoted(h.Anchor), h.Entry, h.Commit, h.Tag)
}
