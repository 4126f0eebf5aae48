package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/sessions/importer"
)

func newHookCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook NAME [ARG…] | AGENT [--push] [--recall]",
		Short: "Run a git hook or an agent hook",
		Long: `Do the work of hooks: those that tape git install, tape init and tape record install have
written call this command.

With the name of an agent, ` + strings.Join(importer.All().WithHooks().Names(), ", ") + `, store what the agent
writes to standard input, and let a process in the background read the session's transcript;
see tape record. Nothing is printed, and the exit code is always 0, so that the agent is not
disturbed. With --push, the session's tape is pushed when the session ends. With --recall, a
new Claude Code session is told about the last handoff in its project.

With the name of a git hook, ARG are the arguments that git passes to it:

  pre-commit     refuses a commit on the branch of a tape or fork that changes or removes
                 committed entries
  pre-push       refuses a push that rewrites what the remote has of a tape, moves an
                 anchor's tag, or deletes a tape
  post-merge, post-checkout, post-commit, post-rewrite
                 complete a merge of tapes that git has made, and update an existing
                 index in the background
  pre-receive    refuses the same as pre-push, except secrets, in the repository that is
                 pushed to; any refused ref stops the push
  update         the same for a single ref, REF OLD NEW: it does not see that the tags of a
                 purged tape come with its branch
  sync           is what the post- hooks start in the background

Exit code 4 refuses. Other exit codes should not stop git, so write in a hook of your own:

  tape hook pre-commit "$@" || [ $? -ne 4 ] || exit 1`,
		Example: `  tape hook pre-commit
  git push --dry-run && tape hook pre-push origin
  tape hook claude-code <payload.json
  echo "$old $new refs/heads/tape/main" | tape hook pre-receive`,
		Hidden: true,
		Args:   takes(1, "NAME", "ARG…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := importer.All().WithHooks().Find(args[0]); f != nil {
				a.agentHook(cmd.Context(), f, args[1:])
				return nil
			}
			return a.runHook(cmd.Context(), args[0], args[1:])
		},
	}
	// Options after NAME are for the hook: agents' settings have --push and --recall there.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *App) runHook(ctx context.Context, name string, args []string) error {
	switch name {
	case "pre-receive":
		return Receive(ctx, a.Stdin)
	case "update":
		if len(args) != 3 {
			return usagef("tape hook update takes REF, OLD and NEW")
		}
		return Receive(ctx, strings.NewReader(args[1]+" "+args[2]+" "+args[0]))
	case "sync":
		store, err := a.openStore(ctx)
		if err != nil {
			return err
		}
		return Sync(ctx, store)
	case "pre-commit", "pre-push", "post-merge", "post-checkout", "post-commit", "post-rewrite":
		return Hook(ctx, name, first(args), a.Stdin, *a.storeOptions())
	}
	return usagef("there is no hook %s", quoted(name))
}
