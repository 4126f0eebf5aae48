package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

type purgeOptions struct {
	app *App
	repo.PurgeOptions
	yes bool
}

func newPurgeCmd(a *App) *cobra.Command {
	o := &purgeOptions{app: a}
	cmd := &cobra.Command{
		Use:   "purge [@ID…] [--rule RULE]… [--fingerprint FINGERPRINT]… [--whole] [--dry-run] [--yes]",
		Short: "Remove a secret from the session's history",
		Long: `Remove a secret from a session as if it had never been recorded. This is the only command that
rewrites history. It cannot be undone.

@ID masks the secrets of that entry. With --whole the entry loses all its text, except its kind
and the link to its call; use this for a secret that the scanner does not recognize. --rule
RULE masks all secrets of one kind, --rule all those of every kind that you have not allowed.
--fingerprint masks one secret, by the fingerprint that tape push shows.

A secret is removed everywhere in the session, its forks and its archives: in earlier and later
entries, in names of anchors, in messages of commits and tags. A short secret, or one that is a
common word, is masked only where the context shows that it is a secret; purge says so. Names
of sessions and forks do not change, and neither do other sessions: purge names those that have the
secret, with the command for each.

Everything from the first affected entry on is rewritten: commits, tags, forks, archives and
reflogs. Entries keep their ids, and a final entry, tape.purged, records the purge. Then the
old commits are removed, and the index is rebuilt. If a purge is interrupted, run it again to
finish it.

Remotes, and everybody who has fetched the session, still have the secret. Purge names the known
remotes, and prints how to replace the session there. It also names the files in which the agent
itself still has the secret; importing them again does not bring it back. Revoke the secret in
any case.

Purge needs the git program. It asks on a terminal, and needs --yes elsewhere. --dry-run shows
the changes without making them.`,
		Example: `  tape purge @17
  tape purge --rule all --dry-run
  tape purge --fingerprint 0123456789abcdef --yes`,
		Args:    takes(0, "@ID…"),
		PreRunE: o.takeIDs,
		RunE:    a.onTape(o.run),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Rules, "rule", nil, "mask the secrets that this `RULE` finds, or all; can be repeated")
	f.StringArrayVar(&o.Fingerprints, "fingerprint", nil, "mask the secret with this `FINGERPRINT`; can be repeated")
	f.BoolVar(&o.Whole, "whole", false, "remove the whole text of the entries")
	f.BoolVar(&o.DryRun, "dry-run", false, "show the changes without making them")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *purgeOptions) takeIDs(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if err := o.app.nameEntries(&arg); err != nil {
			return err
		}
		id, err := strconv.ParseInt(strings.TrimPrefix(arg, "@"), 10, 64)
		if err != nil || id < 1 || !strings.HasPrefix(arg, "@") {
			return usagef("%q is not an entry: entries are named @1, @2 …", arg)
		}
		o.IDs = append(o.IDs, id)
	}
	return nil
}

func (o *purgeOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	steps := o.app.Progress("")
	defer steps.Clear()
	o.Step, o.Derived = steps.Step, o.app.rebuildIndex
	if !o.yes && !o.DryRun {
		if err := o.ask(ctx, t, steps); err != nil {
			return err
		}
	}
	done, err := t.Purge(ctx, o.PurgeOptions)
	steps.Clear()
	if err != nil {
		return err
	}
	shown := &rows.Purge{Streams: &o.app.Streams, Asked: o.PurgeOptions}
	if shown.Transcripts, err = resume.Containing(ctx, t, o.app.forgetting(t.Store()).Where, done.Has); err != nil {
		o.app.Warn("could not find out whether transcripts have it: " + err.Error())
	}
	if o.app.JSON {
		return o.app.Emit(shown.Object(done))
	}
	shown.Report(t, done)
	return nil
}

func (o *purgeOptions) ask(ctx context.Context, t *repo.Tape, steps *stdio.Progress) error {
	dry := o.PurgeOptions
	dry.DryRun = true
	plan, err := t.Purge(ctx, dry)
	steps.Clear()
	if err != nil {
		return err
	}
	if !o.app.CanAsk() {
		return layout.Invalid("tape purge --dry-run shows what it would do, tape purge --yes does it", "purge asks before it rewrites history, and there is no terminal to ask on")
	}
	shown := &rows.Purge{Streams: &o.app.Streams, Asked: dry}
	lines := append(shown.Summary(plan), shown.Others(plan)...)
	for _, line := range append(lines, plan.Left...) {
		o.app.Tell("%s", display.Line(line))
	}
	var remotes []string
	for _, r := range plan.Remotes {
		if !slices.Contains(remotes, r.Remote) {
			remotes = append(remotes, r.Remote)
		}
	}
	if len(remotes) > 0 {
		o.app.Tell("%s: %s", display.Count(len(remotes), "remote already has it", "remotes already have it"), display.Line(strings.Join(remotes, ", ")))
	}
	return o.app.Confirm(ctx, "Rewrite the history? It cannot be undone.")
}
