package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"tape/cmd/internal/sharing"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

type rmOptions struct {
	app                         *App
	purgeArchive, yes           bool
	forget, remote, transcripts bool
	dryRun                      bool
}

func newRmCmd(a *App) *cobra.Command {
	o := &rmOptions{app: a}
	cmd := &cobra.Command{
		Use:        "rm NAME [--purge-archive] [--forget [--remote] [--transcripts] [--dry-run]] [--yes]",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Remove a session",
		Long: `Remove a session with its files, branch and tags. Its history becomes an archive, and tape restore
brings it back. With --purge-archive no archive is made, and the session's earlier archives are
removed, too. The command asks on a terminal, and needs --yes elsewhere. It refuses a session with
open forks, and the current session. With --purge-archive and --yes, NAME must be the whole name.

A remote keeps what was pushed to it: the next tape pull brings that back. To take a secret
out of the history, use tape purge.

With --forget the session goes for good, with its forks, archives and subagents, out of git's
objects and the index, and stays away: imports, recordings and pulls leave it out, until tape
new NAME begins it again. The command names the files in which the agent itself still has the
text, and asks whether to delete them, too; --transcripts deletes them without asking. --remote
also deletes the session at all remotes; others are asked at their next pull. An interrupted
--forget is finished by the same command. With --dry-run it says what would go, and removes nothing.`,
		Example: `  tape rm review
  tape restore latest --tape review   # brings it back
  tape rm 2 --forget --dry-run
  tape rm 2 --forget --remote`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE:              a.inStoreOf(o.run),
	}
	cmd.Flags().BoolVar(&o.purgeArchive, "purge-archive", false, "keep no archive, and remove the former ones")
	cmd.Flags().BoolVar(&o.forget, "forget", false, "remove it for good, and keep it away")
	cmd.Flags().BoolVar(&o.remote, "remote", false, "with --forget: delete it at the remotes, too")
	cmd.Flags().BoolVar(&o.transcripts, "transcripts", false, "with --forget: delete the agent's own files of the session, too")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "with --forget: say what would go, and remove nothing")
	cmd.MarkFlagsMutuallyExclusive("forget", "purge-archive")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *rmOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	if (o.remote || o.transcripts || o.dryRun) && !o.forget {
		return usagef("--remote, --transcripts and --dry-run go with --forget")
	}
	o.app.reads = o.dryRun
	t, err := o.app.findTape(ctx, store, args[0])
	if known, listErr := projects.ReadForgotten((*workspace.Store)(store)); o.forget && errors.Is(err, repo.ErrNotFound) && known.Has(args[0]) {
		return cmp.Or(listErr, o.runForget(ctx, store, args[0])) // finish an interrupted one
	}
	if err != nil {
		return err
	}
	if o.yes && !o.dryRun && (o.purgeArchive || o.forget) && t.Name() != args[0] {
		return layout.Invalid("name it whole: "+shellWord(t.Name()), "%s is short for tape %s: --yes needs the whole name here", quoted(args[0]), quoted(t.Name()))
	}
	if o.forget {
		return o.runForget(ctx, store, t.Name())
	}
	facts, err := o.app.aboutTape(ctx, t)
	if err != nil {
		return err
	}
	if err := o.app.warnPublished(ctx, t, "the next tape pull brings it back"); err != nil {
		return err
	}
	if !o.yes {
		if !o.app.CanAsk() {
			return layout.Invalid("tape rm "+shellWord(t.Name())+o.app.inWorkspaceFlag()+" --yes does it without asking", "rm asks before it removes a tape, and there is no terminal to ask on")
		}
		fate := "will be archived"
		if o.purgeArchive {
			fate = "will be removed"
		}
		err := o.app.Confirm(ctx, "The %s of tape %s %s. Remove it?", display.Entries(facts.Entries), quoted(t.Name()), fate)
		if err != nil {
			return err
		}
	}
	ref, err := t.Remove(ctx, !o.purgeArchive)
	if err != nil {
		return err
	}
	text := "removed tape " + quoted(t.Name()) + " with " + display.Entries(facts.Entries)
	if ref != "" {
		text += "; tape restore latest --tape " + shellWord(t.Name()) + o.app.inWorkspaceFlag() + " brings it back"
	}
	return o.app.Result(object{{"removed", t.Name()}, {"entries", facts.Entries}, {"archived", orNull(ref)}}, "%s", text)
}

func (o *rmOptions) runForget(ctx context.Context, store *repo.Store, name string) error {
	f := o.app.forgetting(store)
	f.Name, f.Yes, f.AtRemotes, f.Transcripts, f.DryRun = name, o.yes, o.remote, o.transcripts, o.dryRun
	if t, err := store.Tape(ctx, name); err == nil && !o.yes {
		facts, err := o.app.aboutTape(ctx, t)
		if err != nil {
			return err
		}
		f.Title = facts.Title
	}
	return f.Run(ctx)
}

// forgetting returns what all commands that forget sessions share.
func (a *App) forgetting(store *repo.Store) sharing.Forgetting {
	f := sharing.Forgetting{Streams: &a.Streams, Store: store, Derived: a.rebuildIndex}
	f.Where.Recorder, _ = a.places() // without a home directory there are no transcripts
	f.Where.User, _ = a.userSettings()
	return f
}
