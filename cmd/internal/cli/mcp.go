package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/repo"
)

// MCPOptions are the command line's options for the MCP server.
type MCPOptions struct {
	In      io.Reader
	Out     io.Writer
	Open    func(ctx context.Context) (*repo.Store, error)             // the workspace, which may appear or change while the server runs
	OpenDir func(ctx context.Context, dir string) (*repo.Store, error) // another workspace of the user's
	Tape    string                                                     // the default tape
	Write   bool                                                       // offer tools that write
	Hint    func(repo.Hint) string                                     // returns a hint as text

	Version string
}

func newMCPCmd(a *App) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp [--write]",
		Short: "Let agents search and read recorded sessions (MCP server)",
		Long: `Let an agent search and read recorded sessions by the Model Context Protocol (MCP), over
standard input and output. The agent starts this command, which ends when its standard input
ends.

  tape_search    searches the entries of all sessions
  tape_list      lists sessions, or the anchors of one
  tape_read      shows entries
  tape_context   shows the messages of a session since its last anchor
  tape_info      shows an overview of a session

These only read. With --write there are also tape_append, tape_handoff, tape_fork,
tape_merge and tape_discard. No tool deletes or resets a session.

The workspace is that of the current directory. It may be created later. After tape login,
tape_search with scope=team searches the sessions of the team, and tape_read with it reads them.
With project=NAME, or * for all, the sessions of your other projects are searched, and read by name;
not in a workspace that is somebody else's.`,
		Example: `  tape mcp
  claude mcp add tape -- tape mcp
  codex mcp add tape -- tape mcp --write`,
		RunE: a.hosted(func(ctx context.Context, host Host) error {
			version, _ := a.build()
			return host.MCP(ctx, MCPOptions{In: a.Stdin, Out: a.Stdout, Open: a.reopenStore,
				OpenDir: func(ctx context.Context, dir string) (*repo.Store, error) {
					return repo.Open(ctx, dir, a.storeOptions())
				}, Tape: a.wantedTape(), Write: write,
				Hint: hints.Text, Version: version})
		}),
	}
	cmd.Flags().BoolVar(&write, "write", false, "offer tools that write, too")
	return cmd
}

// reopenStore opens the workspace at each call. Unlike openStore, it may be called from several goroutines.
func (a *App) reopenStore(ctx context.Context) (*repo.Store, error) {
	one := *a
	return one.openStore(ctx)
}
