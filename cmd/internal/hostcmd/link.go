package hostcmd

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/serve/links"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

func newLink(run ServeRun) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "link COMMAND",
		Short: "Make, list and revoke links to single sessions",
		Long: `Make, list and revoke links to single sessions. Whoever opens a link sees that session as it is then, on
one page, and nothing else: no other session, no search, no files except pictures. Secrets are masked as
by tape publish. A link works while tape serve runs, until it expires or is revoked.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return layout.Invalid("tape serve link --help lists them", "there is no command %q", "tape serve link "+args[0])
			}
			return cmd.Help()
		},
	}
	var name, expires string
	one := func(_ *cobra.Command, args []string) error {
		name = args[0]
		return nil
	}
	add := &cobra.Command{
		Use: "add TAPE [--expires TIME]", Short: "Make a link to a session and show it, once",
		Long: `Make a link to a session and show it, once. It leads to the tape serve that was started last for this
workspace, or for all of yours.`,
		Example: "  tape serve link add main\n  tape serve link add 2 --expires 12h",
		Args:    cobra.ExactArgs(1), PreRunE: one,
		RunE: run.Store(func(ctx context.Context, in ServeApp) error { return in.addLink(ctx, name, expires) }),
	}
	add.Flags().StringVar(&expires, "expires", "7d", "how long the link works: a `TIME` such as 12h, 7d or 4w")
	list := &cobra.Command{Use: "list", Short: "List the links that still work: numbers, sessions, dates", Args: cobra.NoArgs,
		RunE: run.Store(func(_ context.Context, in ServeApp) error { return in.listLinks() })}
	revoke := &cobra.Command{Use: "revoke NUMBER", Short: "End a link at once", Args: cobra.ExactArgs(1), PreRunE: one,
		RunE: run.Store(func(ctx context.Context, in ServeApp) error { return in.revokeLink(ctx, name) })}
	cmd.AddCommand(add, list, revoke)
	return cmd
}

func (a ServeApp) addLink(ctx context.Context, name, expires string) error {
	lasts, err := stdio.ReadDuration(expires)
	if err != nil {
		return layout.Wrap(err, "--expires")
	}
	address := links.Address(a.Store)
	if address == "" {
		return layout.NotFound("start tape serve with a fixed --listen, and leave it running", "no tape serve has run for this workspace: a link would lead nowhere")
	}
	t, err := a.Find(ctx, a.Store, name)
	if err != nil {
		return err
	}
	link, code, err := links.Add(ctx, a.Store, t, a.Now(), a.Now().Add(lasts))
	if err != nil {
		return err
	}
	to := address + links.Path + code
	if err := a.Result(stdio.Object{{"number", link.ID}, {"link", to}, {"tape", link.Tape}, {"expires", stdio.DateOrNull(link.Expires)}},
		"%s\nIt works until %s, while tape serve runs, and is not shown again. To end it: tape serve link revoke %d",
		to, link.Expires.Local().Format(display.Minute), link.ID); err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost") {
		a.StderrUnlessQuiet("Only this machine can open it: tape serve --help says how others reach the server (--host, --trusted-proxy)")
	}
	return nil
}

func (a ServeApp) listLinks() error {
	all, err := links.All(a.Store, a.Now())
	return stdio.Listing[links.Link]{Head: []string{">NUMBER", "SESSION", "MADE", "EXPIRES"}, None: "No link works.",
		Object: func(l links.Link) stdio.Object {
			return stdio.Object{{"number", l.ID}, {"tape", l.Tape}, {"created", stdio.DateOrNull(l.Created)}, {"expires", stdio.DateOrNull(l.Expires)}}
		},
		Row: func(l links.Link, add func(cells ...any)) {
			add(l.ID, l.Tape, display.Ago(a.Now(), l.Created.Format(time.RFC3339), display.Minute), l.Expires.Local().Format(display.Minute))
		}}.Show(a.Streams, all, err)
}

func (a ServeApp) revokeLink(ctx context.Context, number string) error {
	id, err := strconv.Atoi(number)
	if err != nil {
		return layout.Invalid("tape serve link list has the numbers", "%q is not the number of a link", number)
	}
	link, err := links.Revoke(ctx, a.Store, id, a.Now())
	if errors.Is(err, repo.ErrNotFound) {
		return layout.NotFound("tape serve link list shows those that work", "%v", err)
	}
	if err != nil {
		return err
	}
	return a.Result(stdio.Object{{"number", id}, {"tape", link.Tape}, {"revoked", true}}, "link %d to %s no longer works", id, link.Tape)
}
