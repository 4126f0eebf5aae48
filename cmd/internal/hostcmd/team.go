package hostcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/store/layout"
	"tape/repo"
)

// TeamHost does the work.
type TeamHost interface {
	TeamSync(ctx context.Context, o TeamOptions, remotes []string, watch time.Duration) error
	TeamServe(ctx context.Context, o TeamOptions) error
	TeamCheck(ctx context.Context, o TeamOptions) error
	TeamStatus(ctx context.Context, o TeamOptions) error
	TeamTokenAdd(ctx context.Context, o TeamOptions, name string, groups []string, expires string) error
	TeamTokens(ctx context.Context, o TeamOptions) error
	TeamTokenRevoke(ctx context.Context, o TeamOptions, name string) error
	TeamLogin(ctx context.Context, o TeamOptions, url, token string) error
	TeamSearch(ctx context.Context, o TeamOptions, s TeamSearch) error
	TeamTapes(ctx context.Context, o TeamOptions, list TeamList) error
	TeamLog(ctx context.Context, o TeamOptions, e TeamEntries) error
}

// TeamOptions are what all commands have.
type TeamOptions struct {
	*stdio.Streams
	Config  string // the file of settings, "" for the usual one
	Version string
}

// TeamList says which sessions are listed.
type TeamList struct {
	Limit                int // -1: all
	Project, Agent, Grep string
	Since, Until         string
}

// TeamSearch is a search of the team's sessions. Its Tapes is nil, or has one REMOTE/TAPE, TAPE, or number of the last list.
type TeamSearch struct {
	index.Search
	Remote  string // the whole name; "" means all
	Project string // a part of it
}

// TeamEntries says which entries of a session are shown: one, or those that a query selects.
type TeamEntries struct {
	Tape          string // REMOTE/TAPE
	ID            int64  // 0: those that Query selects
	Query         repo.Query
	Oneline, Full bool
	Events        bool
}

// TeamRun returns the function that a command runs: in tape it starts tape-host, in tape-host it calls run.
type TeamRun func(run func(ctx context.Context, h TeamHost, o TeamOptions) error) func(cmd *cobra.Command, args []string) error

// NewTeam returns tape team.
func NewTeam(run TeamRun) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "team COMMAND",
		Short: "Run the server that makes a team's sessions searchable",
		Long: `Run a server for a team. It reads the git remotes to which the team pushes its sessions, and lets each
person search and read the sessions of their groups. It keeps them in a PostgreSQL database, which may be
dropped: the next sync fills it again from the remotes.

The settings are in the file that --config or TAPE_TEAM_CONFIG names, or else in team.toml in the current
folder. docs/team.md shows how to set up a server, step by step.`,
		RunE: listCommands,
	}
	var config string
	cmd.PersistentFlags().StringVar(&config, "config", "", "the `FILE` of settings (default: TAPE_TEAM_CONFIG, else team.toml)")
	with := func(f func(ctx context.Context, h TeamHost, o TeamOptions) error) func(cmd *cobra.Command, args []string) error {
		return run(func(ctx context.Context, h TeamHost, o TeamOptions) error {
			o.Config = config
			return f(ctx, h, o)
		})
	}
	cmd.AddCommand(newSync(with), teamCommand(with, "serve", "Answer the team's searches over HTTP", serveHelp, TeamHost.TeamServe),
		teamCommand(with, "check", "Try everything that team.toml says, and say what is wrong", checkHelp, TeamHost.TeamCheck),
		teamCommand(with, "status", "Show when each remote was last read, and what failed", statusHelp, TeamHost.TeamStatus), newToken(with))
	return cmd
}

// listCommands is run by a command that only has commands below it.
func listCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return layout.Invalid(cmd.CommandPath()+" --help lists them", "there is no command %q", cmd.CommandPath()+" "+args[0])
	}
	return cmd.Help()
}

const (
	serveHelp = `Answer the team's requests over HTTP: pages for browsers; search, sessions and entries as JSON below /v1,
described by /v1/openapi.json; tools for agents (MCP) at /mcp; figures for Prometheus at /metrics. People
log in in the browser; programs send Authorization: Bearer TOKEN. Each person sees the remotes of their
groups, and nothing of others.

With --json, the first line is {"url"}. Several servers may run side by side.`
	checkHelp = `Try everything that team.toml says: the database and its tables, each remote, how people log in, the
address to listen on. A line for each says that it is ok, or what is wrong and what to do. Nothing is
changed.`
	statusHelp = `Show for each remote when the last sync began, how long ago the last one that succeeded began (LAG), how
many tapes and entries the database has, and why the last sync failed.`
)

func teamCommand(with TeamRun, name, short, long string, do func(TeamHost, context.Context, TeamOptions) error) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: with(func(ctx context.Context, h TeamHost, o TeamOptions) error { return do(h, ctx, o) })}
}

func newSync(with TeamRun) *cobra.Command {
	var watch time.Duration
	var remotes []string
	cmd := &cobra.Command{
		Use:   "sync [--watch TIME] [REMOTE...]",
		Short: "Bring the database up to date with the remotes",
		Long: `Bring the database up to date with the remotes: fetch what is new, check it as tape fetch does, mask
secrets, and write it to the database. An empty database gets its tables first. Any number of workers may
run, on any number of machines; if one is killed, nothing is left half-done. A remote that fails does not
stop the others, but the command fails at the end.

With --json, there is a line for each remote: how many tapes changed, how many entries were added and
removed, the seconds, and the error or null.`,
		Example: `  tape team sync
  tape team sync --watch 60s
  tape team sync shop --json`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			remotes = args
			if watch < 0 || watch > 0 && watch < time.Second {
				return layout.Invalid("give a second or more, such as 60s", "--watch is %s", watch)
			}
			return nil
		},
		RunE: with(func(ctx context.Context, h TeamHost, o TeamOptions) error { return h.TeamSync(ctx, o, remotes, watch) }),
	}
	cmd.Flags().DurationVar(&watch, "watch", 0, "keep running, and read the remotes again each `TIME`")
	return cmd
}

func newToken(with TeamRun) *cobra.Command {
	cmd := &cobra.Command{Use: "token COMMAND", Short: "Make, list and revoke tokens",
		Long: `Make, list and revoke tokens. A token lets its holder search and read the sessions of some groups until it
expires. The database stores only a hash of it.`, RunE: listCommands}
	var groups []string
	var expires, name string
	one := func(_ *cobra.Command, args []string) error {
		name = args[0]
		return nil
	}
	add := &cobra.Command{
		Use: "add NAME --groups GROUP,... [--expires TIME]", Short: "Make a token and show it, once",
		Long:    "Make a token and show it, once. NAME says whose it is, and appears in the record of searches.",
		Example: "  tape team token add ada --groups shop,leads --expires 90d",
		Args:    takesOne("NAME"), PreRunE: one,
		RunE: with(func(ctx context.Context, h TeamHost, o TeamOptions) error {
			return h.TeamTokenAdd(ctx, o, name, groups, expires)
		}),
	}
	add.Flags().StringSliceVar(&groups, "groups", nil, "the `GROUPS` of team.toml whose remotes it shows, separated by commas")
	add.Flags().StringVar(&expires, "expires", "90d", "how long it is valid: a `TIME` such as 12h, 90d or 52w")
	revoke := &cobra.Command{Use: "revoke NAME", Short: "Make a token void at once", Args: takesOne("NAME"), PreRunE: one,
		RunE: with(func(ctx context.Context, h TeamHost, o TeamOptions) error { return h.TeamTokenRevoke(ctx, o, name) })}
	cmd.AddCommand(add, teamCommand(with, "list", "List all tokens: names, groups, dates", "", TeamHost.TeamTokens), revoke)
	return cmd
}

// takesOne checks that a command gets one argument. name is what errors call it.
func takesOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := "usage: " + cmd.UseLine()
		switch {
		case len(args) == 0 || args[0] == "":
			return layout.Invalid(hint, "%s is missing", name)
		case len(args) > 1:
			return layout.Invalid(hint, "unexpected argument %q", args[1])
		}
		return nil
	}
}

// NewLogin returns tape login.
func NewLogin(run TeamRun) *cobra.Command {
	var url string
	var stdin bool
	cmd := &cobra.Command{
		Use:   "login URL --token-stdin",
		Short: "Remember your team's server and your token for it",
		Long: `Remember the address of your team's server and your token for it: search, tapes, log and show use them
with --team. You get a token from whoever runs the server (tape team token add), or, where people log in
with an account, at URL/token.

The token is read from standard input, tried, and kept in $TAPE_HOME/credentials.json, which only you can
read. The address becomes the setting team. TAPE_TEAM and TAPE_TEAM_TOKEN take precedence over both.`,
		Example: "  tape login https://tape.example.org --token-stdin <token.txt",
		Args:    takesOne("URL"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if url = args[0]; !stdin {
				return layout.Invalid("make one at "+strings.TrimRight(url, "/")+"/token, then run tape login "+url+" --token-stdin and paste it", "a token is needed, and not as an argument, which others could see")
			}
			return nil
		},
		RunE: run(func(ctx context.Context, h TeamHost, o TeamOptions) error {
			const longest = 4096
			token, err := o.ReadText(ctx, longest, layout.Invalid("give only the token", "standard input is longer than %d bytes, which is too long for a token", longest))
			if err != nil {
				return err
			}
			return h.TeamLogin(ctx, o, url, token)
		}),
	}
	cmd.Flags().BoolVar(&stdin, "token-stdin", false, "read the token from standard input")
	return cmd
}
