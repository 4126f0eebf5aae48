package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
)

func newRemoteCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote [list] | add NAME URL | remove NAME",
		Short: "Manage the repositories that you share sessions with",
		Long: `Manage the git repositories that sessions are pushed to and pulled from. Any repository can be a
remote: one on a git host, or a bare one on a server or a disk (git init --bare). The default
remote is origin, or the only one.

add stores the address under a name in .git/config, without contacting it. remove deletes the
name and the local record of the remote; your sessions and the repository itself stay. list shows
the remotes, without the passwords in their addresses.`,
		Example: `  tape remote add origin git@example.org:ada/sessions.git
  tape remote list`,
		RunE: a.inStore(a.runRemotes),
	}
	addSubcommands(cmd, &cobra.Command{
		Use:   "add NAME URL",
		Short: "Add a remote",
		Long: `Give a repository a name, in .git/config. URL is a path, user@host:path, or an address that
begins with ssh://, https:// or file://. The repository is not contacted.`,
		Example: `  tape remote add origin git@example.org:ada/sessions.git
  tape remote add backup /mnt/disk/sessions.git`,
		Args: takes(2, "NAME", "URL"),
		RunE: a.inStore(a.addRemote),
	}, &cobra.Command{
		Use:               "remove NAME",
		Aliases:           []string{"rm"},
		Short:             "Remove a remote",
		Long:              `Remove a remote, and the local record of what it has. Your sessions and the repository itself stay.`,
		Example:           `  tape remote remove backup`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: upTo(1, a.completeRemotes()),
		RunE: a.inStore(func(ctx context.Context, store *repo.Store, args []string) error {
			if err := store.RemoveRemote(ctx, args[0]); err != nil {
				return err
			}
			return a.Result(object{{"remote", args[0]}, {"removed", true}}, "removed remote %s", display.Line(args[0]))
		}),
	}, &cobra.Command{
		Use:     "list",
		Short:   "List the remotes",
		Long:    `List the remotes with their addresses. Passwords in them are not shown.`,
		Example: `  tape remote list --json`,
		RunE:    a.inStore(a.runRemotes),
	})
	return cmd
}

func (a *App) runRemotes(ctx context.Context, store *repo.Store, _ []string) error {
	remotes, err := store.Remotes(ctx)
	if err == nil && len(remotes) == 0 {
		err = remotesUnread(store)
	}
	return listing[repo.Remote]{
		None: "there are no remotes; tape remote add origin URL names one",
		Head: []string{"", ""},
		Object: func(r repo.Remote) object {
			return object{{"remote", r.Name}, {"url", r.URL}}.With("push_url", r.PushURL)
		},
		Row: func(r repo.Remote, add func(cells ...any)) {
			add(r.Name, r.URL)
			if r.PushURL != "" {
				add("", r.PushURL+" (for pushes)")
			}
		},
	}.Show(&a.Streams, remotes, err)
}

func (a *App) addRemote(ctx context.Context, store *repo.Store, args []string) error {
	if err := store.AddRemote(ctx, args[0], args[1]); err != nil {
		return err
	}
	remote, err := findRemote(ctx, store, args[0])
	if err != nil {
		return err
	}
	return a.Result(object{{"remote", args[0]}, {"url", remote.URL}}, "%s is %s", display.Line(args[0]), display.Line(remote.URL))
}
