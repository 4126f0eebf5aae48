package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// byGit is in the help of all commands that talk to a remote.
const byGit = `
The git program transfers the data, so that credential helpers, ssh configuration, proxies
and hooks work as you are used to. It has to be installed.`

// withRemote opens the workspace for fetch, pull and push, and finds the remote. An empty --tape is refused:
// a variable that was not set must not select everything.
func (a *App) withRemote(tapes *[]string, run func(ctx context.Context, store *repo.Store, remote string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(*tapes, "") {
			return usagef("--tape is empty")
		}
		store, err := a.openStore(cmd.Context())
		if err != nil {
			return err
		}
		r, err := findRemote(cmd.Context(), store, first(args))
		if err != nil {
			return err
		}
		a.StderrIfVerbose("remote: %s, %s", r.Name, r.URL)
		return run(cmd.Context(), store, r.Name)
	}
}

// findRemote finds the named remote, else origin, else the only one.
func findRemote(ctx context.Context, store *repo.Store, named string) (repo.Remote, error) {
	all, err := store.Remotes(ctx)
	if err == nil {
		err = remotesUnread(store)
	}
	if err != nil {
		return repo.Remote{}, err
	}
	for _, r := range all {
		if r.Name == named || named == "" && (r.Name == repo.DefaultRemote || len(all) == 1) {
			return r, nil
		}
	}
	switch {
	case named != "":
		return repo.Remote{}, layout.NotFound("tape remote list lists them; tape remote add "+shellWord(named)+" URL names one", "there is no remote %s", quoted(named))
	case len(all) == 0:
		return repo.Remote{}, layout.NotFound("tape remote add origin URL names one", "this workspace has no remote")
	}
	names := namesOf(all, func(r repo.Remote) string { return r.Name })
	return repo.Remote{}, layout.Invalid("name one of them: "+strings.Join(names, ", "), "there are several remotes, and none is called %s", repo.DefaultRemote)
}

// remotesUnread returns an error if git's configuration, which names the remotes, is damaged.
func remotesUnread(store *repo.Store) error {
	config := (*workspace.Store)(store).Git().Config()
	if err := config.Damage(); err != nil {
		return &layout.CorruptError{File: config.Path(), Msg: "remotes cannot be read: " + err.Error()}
	}
	return nil
}

// explainRemote adds a way out to an error of a transfer that has none.
func explainRemote(err error) error {
	if err == nil || hints.Of(err) != "" {
		return err
	}
	var hook *repo.HookError
	out := &cliError{msg: err.Error(), cause: err}
	if out.hint = hints.OfRemote(out.msg); out.hint != "" {
		return out
	}
	switch {
	case errors.Is(err, repo.ErrHostile):
		out.class, out.hint = repo.ErrCorrupt, "nothing of it was accepted; git fsck in the remote repository shows what is wrong with it"
	case errors.Is(err, repo.ErrAuth):
		out.hint = "https: set up a git credential helper, or use a token as the password\n" +
			"ssh: ssh-add -l shows whether the agent has your key; ssh to the host by hand asks about its key"
	case errors.As(err, &hook):
		out.hint = hook.Hint
	case errors.Is(err, repo.ErrRemote):
		out.hint = "check the address (tape remote list shows those of remotes), and that it can be reached"
	default:
		return err
	}
	return out
}

// first returns the first of optional arguments, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
