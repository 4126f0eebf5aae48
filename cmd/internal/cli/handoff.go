package cli

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tape/repo"
)

type handoffOptions struct {
	app     *App
	name    string
	summary string
	state   string
	given   bool // --state was
}

func newHandoffCmd(a *App) *cobra.Command {
	o := &handoffOptions{app: a}
	cmd := &cobra.Command{
		Use:   "handoff NAME [--summary TEXT] [--state JSON]",
		Short: "Close the phase and open the next one",
		Long: `Write an anchor: the open phase is committed and tagged, and the next one begins. The
anchor's state is what the next phase starts from. The summary is kept in it as
state.summary.`,
		Example: `  tape handoff implement --summary "the plan is agreed"
  tape handoff review --state '{"branch":"fix-upload","tests":"green"}'`,
		Args: takes(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.given = args[0], cmd.Flags().Changed("state")
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.summary, "summary", "", "what the closed phase came to, a `TEXT`")
	cmd.Flags().StringVar(&o.state, "state", "", "what the next phase starts from, a `JSON` object")
	return cmd
}

func (o *handoffOptions) run(ctx context.Context) error {
	a := o.app
	if !utf8.ValidString(o.summary) {
		return invalidf("", "--summary is not valid UTF-8")
	}
	anchor := repo.Anchor{Name: o.name, Summary: o.summary}
	if o.given {
		anchor.State = json.RawMessage(o.state)
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	h, err := t.Handoff(ctx, anchor)
	if err != nil {
		return err
	}
	return a.result(struct {
		Anchor string `json:"anchor"`
		Seq    int    `json:"anchor_seq"`
		Entry  int64  `json:"entry"`
		Commit string `json:"commit"`
		Tag    string `json:"tag"`
	}{h.Anchor, h.Seq, h.Entry, h.Commit, h.Tag},
		"phase %03d %s opened at @%d; commit %.12s, tag %s", h.Seq, quoted(h.Anchor), h.Entry, h.Commit, h.Tag)
}

func newCommitCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "commit",
		Short: "Commit what was appended since the last commit",
		Long: `Make a checkpoint: a commit without a new anchor. Entries are safe as soon as they are
appended; a commit makes them visible to git. Where nothing is new, it says so.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := a.openTape(cmd.Context())
			if err != nil {
				return err
			}
			commit, n, err := t.Checkpoint(cmd.Context())
			if err != nil {
				return err
			}
			result := struct {
				Commit  string `json:"commit"`
				Entries int64  `json:"entries"`
			}{commit, n}
			if n == 0 {
				return a.result(result, "nothing new since commit %.12s", commit)
			}
			return a.result(result, "committed %s: %.12s", entries(n), commit)
		},
	}
}
