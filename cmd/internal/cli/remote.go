package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

// byGit is for the help of all commands that talk to a remote.
const byGit = `
The git program does the transport, so that credential helpers, ssh configuration, proxies
and hooks work as you are used to. It has to be installed.`

func newRemoteCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote [list] | add NAME URL | remove NAME",
		Short: "Name the repositories to share tapes with",
		Long: `Name the git repositories that tapes are pushed to and pulled from. Any will do: one on a
git host, or a bare one on a server or a disk (git init --bare). The default remote is
origin, or the only one there is.

add gives an address a name, in .git/config; nothing is asked of it yet. remove forgets a
remote and what is known of it: your tapes stay, and so does the remote. list shows them,
without the passwords in their addresses.`,
		Example: `  tape remote add origin git@example.org:ada/sessions.git
  tape remote list`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("tape remote has no command %s: it is add, remove or list", quoted(args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runRemotes(cmd.Context()) },
	}
	cmd.AddCommand(newRemoteAddCmd(a), newRemoteRemoveCmd(a), newRemoteListCmd(a))
	for _, c := range cmd.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

func newRemoteAddCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME URL",
		Short: "Give a repository a name",
		Long: `Give a repository a name, in .git/config. URL is a path, user@host:path, or an address that
begins with ssh://, https:// or file://. Nothing is asked of it yet.`,
		Example: `  tape remote add origin git@example.org:ada/sessions.git
  tape remote add backup /mnt/disk/sessions.git`,
		Args: takes(2, "NAME", "URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.remoteAdd(cmd.Context(), args[0], args[1]) },
	}
}

func newRemoteRemoveCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "remove NAME",
		Aliases:           []string{"rm"},
		Short:             "Forget a remote",
		Long:              `Forget a remote, and what is known of it. Your tapes stay as they are, and so does the remote.`,
		Example:           `  tape remote remove backup`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeRemoteArg,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.remoteRemove(cmd.Context(), args[0]) },
	}
}

func newRemoteListCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the remotes",
		Long:    `List the remotes with their addresses. Passwords in them are not shown.`,
		Example: `  tape remote list --json`,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runRemotes(cmd.Context()) },
	}
}

// remoteJSON is a remote in lists.
type remoteJSON struct {
	Remote  string `json:"remote"`
	URL     string `json:"url"`
	PushURL string `json:"push_url,omitempty"`
}

func (a *App) runRemotes(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	remotes, err := store.Remotes(ctx)
	if err != nil {
		return err
	}
	if a.json {
		for _, r := range remotes {
			if err := a.emit(remoteJSON{r.Name, r.URL, r.PushURL}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(remotes) == 0 {
		a.say("there are no remotes; tape remote add origin URL names one")
		return nil
	}
	table := newTable("", "")
	for _, r := range remotes {
		table.add(r.Name, r.URL)
		if r.PushURL != "" {
			table.add("", r.PushURL+" (for pushes)")
		}
	}
	table.write(a)
	return nil
}

func (a *App) remoteAdd(ctx context.Context, name, url string) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	if err := store.AddRemote(ctx, name, url); err != nil {
		return err
	}
	remote, err := findRemote(ctx, store, name)
	if err != nil {
		return err
	}
	return a.result(remoteJSON{Remote: name, URL: remote.URL}, "%s is %s", safeLine(name), safeLine(remote.URL))
}

func (a *App) remoteRemove(ctx context.Context, name string) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	if err := store.RemoveRemote(ctx, name); err != nil {
		return err
	}
	result := struct {
		Remote  string `json:"remote"`
		Removed bool   `json:"removed"`
	}{name, true}
	return a.result(result, "%s is no remote any more", safeLine(name))
}

func findRemote(ctx context.Context, store *repo.Store, name string) (repo.Remote, error) {
	all, err := store.Remotes(ctx)
	if err != nil {
		return repo.Remote{}, err
	}
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return repo.Remote{}, &cliError{class: repo.ErrNotFound, msg: "there is no remote " + quoted(name),
		hint: "tape remote list lists them; tape remote add " + shellWord(name) + " URL names one"}
}

// beginTransfer is how fetch, pull and push begin: it checks the names of tapes, opens the
// workspace, and says which remote is meant.
func (a *App) beginTransfer(ctx context.Context, remote string, tapes []string) (*repo.Store, string, error) {
	if err := checkNames(tapes); err != nil {
		return nil, "", err
	}
	store, r, err := a.pickRemote(ctx, remote)
	if err != nil {
		return nil, "", err
	}
	a.note("remote: %s, %s", r.Name, r.URL)
	return store, r.Name, nil
}

// pickRemote opens the workspace and finds the remote that is meant: the one that is
// named, or origin, or the only one.
func (a *App) pickRemote(ctx context.Context, named string) (*repo.Store, repo.Remote, error) {
	store, err := a.openStore(ctx)
	if err != nil {
		return nil, repo.Remote{}, err
	}
	if named != "" {
		r, err := findRemote(ctx, store, named)
		return store, r, err
	}
	all, err := store.Remotes(ctx)
	if err != nil {
		return nil, repo.Remote{}, err
	}
	names := make([]string, len(all))
	for i, r := range all {
		if names[i] = r.Name; r.Name == repo.DefaultRemote || len(all) == 1 {
			return store, r, nil
		}
	}
	if len(all) == 0 {
		return nil, repo.Remote{}, &cliError{class: repo.ErrNotFound, msg: "this workspace has no remote", hint: "tape remote add origin URL names one"}
	}
	return nil, repo.Remote{}, invalidf("name one of them: "+strings.Join(names, ", "), "there are several remotes, and none is called %s", repo.DefaultRemote)
}

// transport says how a remote is talked to: on a terminal it shows how far it is, and may
// ask for a password.
func (a *App) transport() repo.RemoteOptions {
	var progress io.Writer
	if !a.quiet && !a.json && isTerminal(a.Stderr) {
		progress = a.Stderr
	}
	return repo.RemoteOptions{Progress: progress}
}

// remoteError is what a transport has met with, with its class and the way out.
type remoteError struct {
	error
	class error // nil for a plain failure
	hint  string
}

func (e *remoteError) Hint() string { return e.hint }

func (e *remoteError) Unwrap() []error {
	if e.class == nil {
		return []error{e.error}
	}
	return []error{e.class, e.error}
}

// explainRemote adds to an error of a transport what can be done about it.
func explainRemote(err error) error {
	if err == nil || repo.Hint(err) != "" {
		return err
	}
	switch {
	case errors.Is(err, repo.ErrHostile):
		return &remoteError{err, repo.ErrCorrupt, "nothing of it was let in; git fsck in the remote repository tells what is wrong with it"}
	case errors.Is(err, repo.ErrAuth):
		return &remoteError{err, nil, "https: a credential helper of git's, or a token as password\n" +
			"ssh: ssh-add -l shows whether the agent has your key; ssh to the host by hand asks about its key"}
	case errors.Is(err, repo.ErrRemote):
		return &remoteError{err, nil, "check the address (tape remote list shows it), and that it can be reached"}
	}
	return err
}

// checkNames refuses names of tapes that are empty: a variable that was not set must not
// choose everything.
func checkNames(tapes []string) error {
	if slices.Contains(tapes, "") {
		return usagef("--tape is empty")
	}
	return nil
}

// tapesFlag is --tape where it can be repeated, and TAPE_NAME does not stand for it.
func (a *App) tapesFlag(cmd *cobra.Command, tapes *[]string, usage string) {
	cmd.Flags().StringArrayVar(tapes, "tape", nil, usage)
	a.completeFlag(cmd, "tape", a.completeTapes)
}

// first is the first of optional arguments, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
