package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type resetOptions struct {
	app          *App
	archive, yes bool
}

func newResetCmd(a *App) *cobra.Command {
	o := &resetOptions{app: a}
	cmd := &cobra.Command{
		Use:   "reset [--archive] [--yes]",
		Short: "Start the tape over",
		Long: `Start the tape over, with nothing but its first anchor. With --archive the history so far
keeps a ref, and tape restore brings it back; without, only git's reflog knows of it.
It asks on a terminal, and needs --yes elsewhere.

A remote keeps what was pushed to it: the next tape pull brings that back. To begin anew with
others, make a tape of another name (tape new), which leaves this one as it is.`,
		Example: `  tape reset --archive`,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.archive, "archive", false, "keep the history so far")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *resetOptions) run(ctx context.Context) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	if err := a.warnPublished(ctx, t, "the next tape pull brings its history back; tape new begins another one"); err != nil {
		return err
	}
	if !o.yes {
		if err := o.confirm(ctx, t); err != nil {
			return err
		}
	}
	ref, err := t.Reset(ctx, o.archive)
	if err != nil {
		return err
	}
	result := struct {
		Reset    bool `json:"reset"`
		Archived any  `json:"archived"`
	}{true, orNull(ref)}
	if ref != "" {
		return a.result(result, "tape %s starts over; its history is kept as %s", quoted(t.Name()), ref)
	}
	return a.result(result, "tape %s starts over", quoted(t.Name()))
}

// warnPublished tells which remotes have what is to be given up, and what comes of that.
func (a *App) warnPublished(ctx context.Context, t *repo.Tape, outcome string) error {
	remotes, err := t.Distances(ctx)
	if err != nil {
		return err
	}
	for _, r := range remotes {
		if r.Shared {
			a.warn(fmt.Sprintf("%s has %s, too: %s", r.Remote, quoted(t.Name()), outcome))
		}
	}
	return nil
}

func (o *resetOptions) confirm(ctx context.Context, t *repo.Tape) error {
	a := o.app
	if !isTerminal(a.Stdin) || !isTerminal(a.Stderr) {
		return invalidf("tape reset --yes does it without asking", "reset asks before it starts a tape over, and there is no terminal to ask on")
	}
	s, err := t.Summary(ctx)
	if err != nil {
		return err
	}
	fate := "are given up"
	if o.archive {
		fate = "go to an archive"
	}
	return a.confirm(ctx, fmt.Sprintf("The %s of tape %s %s. Start over?", entries(s.Entries), quoted(t.Name()), fate))
}

// confirm asks on the terminal, and returns an error unless the answer is yes.
func (a *App) confirm(ctx context.Context, question string) error {
	fmt.Fprint(a.Stderr, question+" [y/N] ")
	in := newInput(ctx, a.Stdin)
	defer in.close()
	answer, err := bufio.NewReader(in).ReadString('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	if err != nil {
		fmt.Fprintln(a.Stderr)
	}
	return &cliError{msg: "nothing was changed"}
}

func newArchivesCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "archives",
		Short: "List the former histories of the tape",
		Args:  takes(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runArchives(cmd.Context()) },
	}
}

func (a *App) runArchives(ctx context.Context) error {
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	archives, err := t.Archives(ctx)
	if err != nil {
		return err
	}
	if !a.json {
		if len(archives) == 0 {
			a.say("tape %s has no archives", quoted(t.Name()))
			return nil
		}
		table := newTable("STAMP", ">ENTRIES", ">PHASES", "COMMIT")
		for _, x := range archives {
			table.add(x.Stamp, strconv.FormatInt(x.Entries, 10), strconv.Itoa(x.Anchors), fmt.Sprintf("%.12s", x.Commit))
		}
		table.write(a)
		return nil
	}
	for _, x := range archives {
		row := struct {
			Tape    string `json:"tape"`
			Stamp   string `json:"stamp"`
			Ref     string `json:"ref"`
			Commit  string `json:"commit"`
			Entries int64  `json:"entries"`
			Anchors int    `json:"anchors"`
		}{t.Name(), x.Stamp, x.Ref, x.Commit, x.Entries, x.Anchors}
		if err := a.emit(row); err != nil {
			return err
		}
	}
	return nil
}

func newRestoreCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "restore STAMP",
		Short: "Make an archive the tape's history again",
		Long: `Make an archive the tape's history again. What the tape holds now is archived in turn.
STAMP is as tape archives shows it, any unique beginning of it, or latest.`,
		Example:           `  tape restore latest`,
		Args:              takes(1, "STAMP"),
		ValidArgsFunction: a.completeArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.openTape(cmd.Context())
			if err != nil {
				return err
			}
			restored, archived, err := t.Restore(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			result := struct {
				Restored string `json:"restored"`
				Commit   string `json:"commit"`
				Entries  int64  `json:"entries"`
				Archived any    `json:"archived"`
			}{restored.Stamp, restored.Commit, restored.Entries, orNull(archived)}
			text := fmt.Sprintf("restored %s with %s", restored.Stamp, entries(restored.Entries))
			if archived != "" {
				text += "; what the tape held is kept as " + archived
			}
			return a.result(result, "%s", text)
		},
	}
}
