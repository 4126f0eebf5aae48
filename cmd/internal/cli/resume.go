package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/importer/record"
	"tape/internal/show/plain"
	"tape/repo"
)

func newResumeCmd(a *App) *cobra.Command {
	show, in := false, agentside.Target{}
	cmd := &cobra.Command{
		Use:   "resume [TAPE] [--in AGENT [--from ANCHOR]] [--print]",
		Short: "Go on with a session, in the agent that made it or in another one",
		Long:  agentside.Help,
		Example: `  tape resume
  tape resume 3          # in the list of tape tapes
  tape resume --in codex # go on in Codex
  tape resume --print    # only show the command
  tape context --brief   # only the page`,
		Args:              takes(0, "TAPE"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			t, err := a.sessionToResume(ctx, args)
			if err != nil {
				return err
			}
			user, err := a.userSettings()
			if err != nil {
				return err
			}
			code, err := agentside.Continue(ctx, &a.Streams, t, user, in, show, a.aboutTape, a.brief)
			if errors.Is(err, record.ErrPacked) && a.Host == nil {
				return a.startHost(cmd.Name(), os.Args[1:])
			}
			if err != nil {
				return err
			}
			return exited(code)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&show, "print", false, "show the command; start and write nothing")
	f.StringVar(&in.Agent, "in", "", "go on in another `agent`: "+strings.Join(agentside.Agents(), ", "))
	f.StringVar(&in.From, "from", "", "with --in, the `anchor` to begin with")
	a.addAllWorkspaces(cmd)
	return cmd
}

// sessionToResume opens the tape that an argument or a flag names. If none does, it opens the current tape
// or, if that is empty, the newest.
func (a *App) sessionToResume(ctx context.Context, args []string) (*repo.Tape, error) {
	if len(args) > 0 {
		if err := a.nameTape(args[0]); err != nil {
			return nil, err
		}
	}
	t, err := a.openTape(ctx)
	if err != nil || a.wantedTape() != "" {
		return t, err
	}
	list, err := a.listTapes(ctx)
	used := func(l listedTape) bool { return l.Name == t.Name() && !l.Empty() }
	if err != nil || len(list) == 0 || t.IsFork() || slices.ContainsFunc(list, used) {
		return t, err
	}
	return t.Store().Tape(ctx, list[0].Name)
}

// brief writes what another agent needs to go on with a session.
func (a *App) brief(ctx context.Context, t *repo.Tape) (string, error) {
	facts, err := a.aboutTape(ctx, t)
	if err != nil {
		return "", err
	}
	names, err := catalog.OfSession(ctx, t)
	if err != nil {
		return "", err
	}
	return withIndex(a, t.Store(), func(x *index.Index) (string, error) {
		files, err := x.Files(ctx, index.FileFilter{Tapes: names})
		if err != nil {
			return "", err
		}
		return plain.ForAgent(ctx, t, facts, files, "tape log --all --tape "+shellWord(t.Name()))
	})
}
