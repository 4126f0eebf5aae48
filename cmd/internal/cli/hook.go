package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/hooks/githooks"
	"tape/index"
	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
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
	// Git passes no options to hooks.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// hookWait is how long a hook keeps git waiting while another process writes to the tape. After
// that, the next command does the hook's work.
const hookWait = 2 * time.Second

func (a *App) runHook(ctx context.Context, name string, args []string) error {
	switch name {
	case "pre-receive":
		return a.hookReceive(ctx, a.Stdin)
	case "update":
		if len(args) != 3 {
			return usagef("tape hook update takes REF, OLD and NEW")
		}
		return a.hookReceive(ctx, strings.NewReader(args[1]+" "+args[2]+" "+args[0]))
	case "sync":
		return a.hookSync(ctx)
	case "pre-commit", "pre-push", "post-merge", "post-checkout", "post-commit", "post-rewrite":
	default:
		return usagef("there is no hook %s", quoted(name))
	}
	at, err := locate("")
	if err != nil {
		return err
	}
	if name == "pre-push" {
		store, err := a.hookStore(ctx, at)
		if err != nil { // what cannot be checked is not sent
			return layout.Conflict(hints.Of(err), "not pushed: %v", err)
		}
		return at.PrePush(ctx, store, cmp.Or(first(args), "the remote"), a.Stdin)
	}
	branch, err := at.Branch()
	if err != nil {
		return err
	}
	if name == "pre-commit" && !githooks.IsTapeBranch(branch) {
		return nil
	}
	a.lockWait = hookWait
	store, err := a.hookStore(ctx, at)
	if err != nil || store == nil {
		return err
	}
	if name == "pre-commit" {
		return at.PreCommit(ctx, store)
	}
	return a.hookAfter(ctx, at, store, name, branch)
}

func locate(hint string) (githooks.Repository, error) {
	at, err := githooks.Locate()
	if errors.Is(err, fs.ErrNotExist) {
		err = layout.NotFound(hint, "this is no git repository")
	}
	return at, err
}

// hookStore opens the workspace in whose repository git runs. It is nil in other repositories: a
// user may have installed the hooks for all.
func (a *App) hookStore(ctx context.Context, at githooks.Repository) (*repo.Store, error) {
	if at.Dir == "" {
		return nil, nil
	}
	store, err := repo.Open(ctx, at.Dir, a.storeOptions())
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	return store, err
}

// hookAfter does the work of the hooks that git runs after a change.
func (a *App) hookAfter(ctx context.Context, at githooks.Repository, store *repo.Store, name, branch string) error {
	var err error
	if githooks.IsTapeBranch(branch) && name != "post-checkout" {
		err = a.lookAt(ctx, at, store, branch)
	}
	program, pathErr := os.Executable()
	if pathErr != nil {
		return errors.Join(err, pathErr)
	}
	return errors.Join(err, githooks.Start(store, program, "hook", "--quiet", "--workspace", store.Dir(), "sync"))
}

// lookAt checks a commit that git has made on the branch of a tape: it completes a merge, and
// reports a commit that no hook could refuse.
func (a *App) lookAt(ctx context.Context, at githooks.Repository, store *repo.Store, branch string) error {
	merged, err := at.PostCommit(ctx, store)
	if err != nil || !merged {
		return err
	}
	t, err := store.ByBranch(ctx, branch)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = join.Complete(ctx, (*workspace.Tape)(t))
	}
	if errors.Is(err, repo.ErrBusy) {
		return nil // the process that holds the tape does it
	}
	return err
}

// hookSync updates the index. Another hookSync that starts meanwhile leaves the work to this one,
// so this one checks again before it ends.
func (a *App) hookSync(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	const rounds = 3
	for range rounds {
		unlock, ok, err := githooks.Background(store)
		if err != nil || !ok {
			return err
		}
		x := index.New(store, nil)
		_, err = x.Sync(ctx)
		if err := errors.Join(err, x.Close(), unlock()); err != nil {
			return err
		}
		st, err := index.New(store, nil).Status(ctx)
		if err != nil || st.Fresh() {
			return err
		}
	}
	return nil
}

// hookReceive checks a push on the receiving side, which need not be a workspace.
func (a *App) hookReceive(ctx context.Context, in io.Reader) error {
	at, err := locate("git sets GIT_DIR for its hooks")
	if err != nil {
		return err
	}
	return githooks.PreReceive(ctx, at.CommonDir, in)
}

// installHooks installs git's hooks in a new workspace. It works without them, so a failure only
// warns.
func (a *App) installHooks(ctx context.Context, store *repo.Store) {
	report, err := githooks.Install(ctx, store)
	if err != nil {
		a.Warn("git commits and pushes are not checked until tape git install has been run: " + err.Error())
		return
	}
	for _, line := range outsideLines(report) {
		a.StderrIfVerbose("%s", line)
	}
}

func hookNames(names []string) []string {
	return namesOf(names, func(name string) string { return "hooks/" + name })
}

// outsideLines say which lines to add to hooks that we must not write to.
func outsideLines(r githooks.Report) []string {
	if !r.Outside {
		return nil
	}
	if r.Dir == "" {
		return []string{"core.hooksPath is empty, so git runs no hooks: none were written"}
	}
	out := []string{"core.hooksPath is " + r.Dir + ", which is not the workspace's own: nothing was written there",
		"for the same effect, each hook in it needs a line:"}
	for _, l := range r.Lines {
		out = append(out, "  "+display.Pad(l.Hook, 14)+l.Line)
	}
	return out
}
