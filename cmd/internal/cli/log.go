package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/repo"
)

type logOptions struct {
	app *App
	entryFilter
	all, allTapes, team bool
	from                string // an entry
	anchor, after       string
	commit, file        string // of the project

	cmd *cobra.Command
}

func (o *logOptions) changed(flag string) bool { return o.cmd.Flags().Changed(flag) }

// otherFlag returns a flag that was given and is not one of flags; "" if there is none.
func (o *logOptions) otherFlag(flags ...string) (other string) {
	o.cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains(flags, f.Name) {
			other = f.Name
		}
	})
	return other
}

func newLogCmd(a *App) *cobra.Command { return newLogCmdFor(&logOptions{app: a}) }

func newLogCmdFor(o *logOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "log [TAPE] [flags]",
		SuggestFor: []string{"view", "history", "cat"},
		Short:      "Show the conversation of the open phase, or of any part of the session",
		Long: `Show the entries of the open phase, oldest first, beginning with its anchor; if there are earlier
phases, the first line says so. With --all, or with any of --since, --until, --kind, --role,
--author and --all-tapes, show the whole session.

On a terminal, the output is a conversation: messages in full, each tool call with its result
on one line, and the model's thinking on one line. Events are left out, and very long messages
are shortened; --events and --full show them. Long output is paged. In a pipe or file, everything
is shown, except the middle of large results, which are artifacts; --full shows that, too.
--conversation gives a pipe what a terminal shows.

` + datesHelp + `

Anchors are named as tape anchors shows them: by name, by number (002), or as latest.
With --all-tapes, the entries of all tapes are shown in the order of their dates; with -A, those
of all workspaces, unless a tape is named.

With --commit, show what led to a commit of the project, on all tapes: everything from a
person's request to the commit. In the project, COMMIT is anything that git accepts, such as an
id, a branch or HEAD; elsewhere it is the id or its beginning. See tape blame.

With --file, show what was done with a file, on all tapes or the one that --tape names: the calls
that read or wrote it, with what the person had asked. See tape files.`,
		Example: `  tape log
  tape log --all -n 20
  tape log --since yesterday --role user
  tape log --all-tapes --since 2h
  tape log -A --since monday --role user   # of all projects
  tape log --after implement --kind message --oneline
  tape log --since "last week" --until yesterday --json
  tape log review@17                       # from that entry on
  tape log --commit HEAD
  tape log --file cmd/shop/main.go`,
		Args:              takes(0, "TAPE"),
		ValidArgsFunction: upTo(1, o.app.completeTapes()),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.cmd = cmd
			if o.team {
				q, err := o.query()
				if err != nil {
					return err
				}
				return hostcmd.TeamRun(o.app.onTeam).Log(cmd, hostcmd.TeamEntries{Tape: cmp.Or(first(args), o.app.tapeName), Query: q, Oneline: o.oneline, Full: o.full, Events: o.events})
			}
			tape, at := catalog.Entry(first(args))
			if tape == "" {
				tape, at = at, ""
			}
			o.from = cmp.Or(o.from, at)
			if err := cmp.Or(o.app.nameEntries(&o.from), o.app.nameTape(tape)); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "show the whole session")
	f.StringVar(&o.anchor, "anchor", "", "show the phase of the anchor `NAME`")
	f.StringVar(&o.from, "from", "", "begin with the `ENTRY` (@ID, or TAPE@ID)")
	f.StringVar(&o.after, "after", "", "show everything after the `ANCHOR`")
	f.BoolVar(&o.allTapes, "all-tapes", false, "show all sessions of the workspace")
	f.StringVar(&o.commit, "commit", "", "show what led to the `COMMIT` of the project")
	f.StringVar(&o.file, "file", "", "show what was done with the file or folder `PATH`")
	f.BoolVar(&o.team, "team", false, "show all of REMOTE/TAPE of your team, from the server of tape login")
	cmd.MarkFlagsMutuallyExclusive("all", "anchor", "after")
	exclude(cmd, "from", "anchor", "after", "all-tapes")
	exclude(cmd, "all-tapes", "anchor", "after")
	o.app.addAllWorkspaces(cmd)
	o.addFlags(cmd)
	return cmd
}

func (o *logOptions) query() (repo.Query, error) {
	q, err := o.entryFilter.query(o.changed, o.app.Now())
	if err != nil {
		return q, err
	}
	if o.allTapes && o.from+o.anchor+o.after != "" {
		return q, usagef("--from, --anchor and --after are for one session: name it with --tape")
	}
	q.Phase, q.After = o.anchor, o.after
	if o.from != "" {
		id, err := strconv.ParseInt(strings.TrimPrefix(o.from, "@"), 10, 64)
		if err != nil || id < 1 || o.from[0] != '@' {
			return q, usagef("--from %s is not an entry: entries are named @1, @2 …", quoted(o.from))
		}
		q.FirstID = id
		return q, nil
	}
	all, anchor, after := o.changed("all"), o.changed("anchor"), o.changed("after")
	switch {
	case all && !o.all, !all && !anchor && !after && !o.allTapes && !o.Any():
		q.Phase = repo.Latest
	}
	return q, nil
}

func (o *logOptions) run(ctx context.Context) error {
	switch {
	case o.commit != "":
		return o.runCommit(ctx)
	case o.file != "":
		return o.runFile(ctx)
	}
	o.allTapes = o.allTapes || o.app.everywhere && o.app.tapeName == ""
	q, err := o.query()
	if err != nil {
		return err
	}
	if o.allTapes {
		return o.runAll(ctx, q)
	}
	t, err := o.app.openTape(ctx)
	if err != nil {
		return err
	}
	if err := o.app.checkKnown(ctx, these(t), q); err != nil {
		return err
	}
	if q.Phase == repo.Latest && o.anchor == "" && o.app.conversation(o.entryView) != nil {
		if err := o.sayEarlier(ctx, t); err != nil {
			return err
		}
	}
	return o.app.showTape(ctx, t, q, o.entryView)
}

// sayEarlier says that the tape has phases before the open one.
func (o *logOptions) sayEarlier(ctx context.Context, t *repo.Tape) error {
	for first, err := range t.Entries(ctx, repo.Query{Phase: repo.Latest, Limit: repo.N(1)}) {
		if err != nil || first.AnchorSeq < 2 {
			return err
		}
		o.app.Page()
		before := fmt.Sprintf("phase %d of %d; %s before it: --all", first.AnchorSeq, first.AnchorSeq, display.Entries(first.ID-1))
		o.app.PrintUnlessQuiet("%s\n", o.app.Style(stdio.Dim, before))
	}
	return nil
}
