package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tape/cmd/internal/rows"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/workspace"
	"tape/repo"
)

// AgentOptions are the command line's options for the agent.
type AgentOptions struct {
	Store    *repo.Store
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Home     string // the folder of the workspaces, which has the file of keys
	Project  string // the root of the project
	Folder   string // where the command was typed
	Version  string
	Verbose  bool
	NoWait   bool   // fail instead of waiting for another process's turn
	Mode     string // what may be done without a question; "" is the user's setting
	Typed    bool   // a person types at a terminal, so that commands need no consent
	Warn     func(text string)
	// About returns what the workspace's tapes are about, by branch.
	About func(ctx context.Context) (map[string]about.Tape, error)
}

// DefaultSession is the session of tape chat and tape run.
const DefaultSession = "cli:local"

// TurnMessage is the message of tape run to the agent.
type TurnMessage struct {
	Text, Session, Channel, Chat string

	Stream bool // write all texts of the answer as they come
	Quiet  bool // show nothing before the end
}

// TurnResult has the messages that a turn sent.
type TurnResult struct {
	Session  string           `json:"session_id"`
	Output   string           `json:"output"`
	Messages []map[string]any `json:"messages"`
	NoModel  bool             `json:"no_model,omitempty"` // no model has run; the output is the prompt
	Failed   bool             `json:"failed,omitempty"`   // the message was a command that failed
	// Problem says why no model has run.
	Problem string `json:"-"`
	// Final is the answer's last text, after all calls of tools.
	Final string `json:"-"`
	Shown bool   `json:"-"` // the answer was already shown
}

// HookLine is a line of the list of hooks: one plugin's part in one hook.
type HookLine = rows.HookLine

// withAgent runs a command of the agent, in tape-host.
func (a *App) withAgent(run func(ctx context.Context, host Host, o AgentOptions) error) runFunc {
	return a.hosted(func(ctx context.Context, host Host) error {
		store, err := a.openStore(ctx)
		if err != nil {
			return err
		}
		home, err := workspace.Home()
		if err != nil {
			return err
		}
		folder, err := os.Getwd()
		if err != nil {
			return err
		}
		version, _ := a.build()
		return run(ctx, host, AgentOptions{Store: store, Project: workspace.ProjectRoot(store.Dir(), folder), Folder: folder, In: a.Stdin, Out: a.Stdout, Err: a.Stderr, Getenv: a.Getenv, Home: home,
			Version: version, Verbose: a.Verbose, Warn: a.Warn, About: func(ctx context.Context) (map[string]about.Tape, error) { return a.about(ctx, store, nil) }})
	})
}

// agentFlags adds the flags of commands that run turns. It returns a function that sets the options from them.
func agentFlags(f *pflag.FlagSet) func(o *AgentOptions) {
	mode := f.String("mode", "", "what the agent may do: ask, plan or auto (`MODE`)")
	noWait := f.Bool("no-wait", false, "refuse a message if another process has a turn on its session, instead of waiting")
	return func(o *AgentOptions) { o.Mode, o.NoWait = *mode, *noWait }
}

func newRunCmd(a *App) *cobra.Command {
	var m TurnMessage
	cmd := &cobra.Command{
		Use:   "run MESSAGE [--session-id ID] [--channel NAME] [--chat-id ID] [--mode MODE] [--no-wait] [--stream]",
		Short: "Let the agent answer one message",
		Long: `Run one turn of the agent. The turn is recorded on the tape that has the session's name. On a
terminal, calls of tools and the answer are shown as in tape chat. In a pipe, only the final
answer is printed: the text after the last call of a tool; --stream prints all texts as they come.

The message may be a command, which begins with a comma: ,help lists them. If it fails, the exit
code is 1. Other messages need a model: run tape onboard, or set TAPE_MODEL or tape config model.
Without a model, the command fails; with --json it succeeds, and prints an object with
"no_model": true and the prompt as its output.

If another process runs a turn of the session, the message waits for its end; with --no-wait the
command fails at once, with exit code 5.

--mode, $TAPE_MODE and the setting mode say what the agent may do: "ask" (the default) asks on
the terminal before commands and changes, "plan" only reads, "auto" asks nothing. Without a
terminal, a call that would need an answer is refused, unless the mode is auto or a rule in the
setting allow covers it. So is a message such as ",git push": it may be somebody else's text.`,
		Example: `  tape run "why does the build fail?"
  tape run --session-id review "look at the last commit"
  tape run ,tape.info --json`,
		Args: takes(1, "MESSAGE"),
	}
	f := cmd.Flags()
	f.StringVar(&m.Session, "session-id", "", "the session's `ID` (default: CHANNEL:CHAT)")
	f.StringVar(&m.Channel, "channel", "cli", "the `NAME` of the channel that the message comes from")
	f.StringVar(&m.Chat, "chat-id", "local", "the `ID` of the chat in that channel")
	f.BoolVar(&m.Stream, "stream", false, "print all texts of the answer as they come, also in a pipe")
	setOptions := agentFlags(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withAgent(func(ctx context.Context, host Host, o AgentOptions) error {
			m.Text, m.Quiet = args[0], a.JSON
			setOptions(&o)
			result, err := host.Turn(ctx, o, m)
			if err != nil {
				return err
			}
			if a.JSON {
				if result.Problem != "" {
					a.Warn(result.Problem)
				}
				if err := a.Emit(result); err != nil || !result.Failed {
					return err
				}
				return exited(exitFailure)
			}
			answered := slices.ContainsFunc(result.Messages, func(out map[string]any) bool { return out["no_model"] != true })
			if result.NoModel && !answered {
				return &cliError{msg: cmp.Or(result.Problem, "no model is set: tape onboard asks for one")}
			}
			for _, out := range result.Messages {
				text, _ := out["content"].(string)
				if text == result.Output && result.Final != "" {
					text = result.Final
				}
				if text != "" && out["no_model"] != true && !result.Shown {
					a.Line(display.Text(text))
				}
			}
			if result.Failed {
				return exited(exitFailure)
			}
			return nil
		})(cmd, args)
	}
	return cmd
}

func newChatCmd(a *App) *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "chat [--session-id ID] [--mode MODE] [--no-wait]",
		Short: "Talk with the agent in the terminal",
		Long: `Talk with the agent. Its answer appears as it is written, and each tool call with what it
writes and how it ended. A message may be a command, which begins with a comma: ,help lists
them.

  Enter            send; during a turn, steer it
  Tab              complete a ,command, an @file or a session; during a turn, let the message
                   wait for its end
  Up, Down         what was typed before; Up also takes a waiting message back
  Ctrl-R           search what was typed before
  Alt-Enter        a new line; also Ctrl-J
  Ctrl-G           write the message in your editor ($VISUAL, else $EDITOR)
  Ctrl-O           open whole results in $PAGER
  Ctrl-T           open or fold the model's reasoning
  Shift-Tab        the next mode: ask, plan, auto
  Esc              interrupt the turn
  Ctrl-C           the same, or clear what was typed; twice leaves
  Ctrl-D           leave; a running turn goes on when you open the session again

The session goes on where it ended, also after a crash: --session-id NAME begins or opens
another one, and ",sessions" lists all sessions.

If standard input or output is not a terminal, each line of standard input is a message, and
the answers go to standard output.`,
		Example: `  tape chat
  tape chat --session-id review
  printf 'list the tests\nrun them\n' | tape chat`,
	}
	cmd.Flags().StringVar(&session, "session-id", DefaultSession, "the session's `ID`")
	setOptions := agentFlags(cmd.Flags())
	cmd.RunE = a.withAgent(func(ctx context.Context, host Host, o AgentOptions) error {
		setOptions(&o)
		return host.Chat(ctx, o, session)
	})
	return cmd
}

func newGatewayCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway [--mode MODE] [--no-wait]",
		Short: "Run the agent's channels, such as Telegram",
		Long: `Run all channels that are set up, until Ctrl-C; turns that are running may then finish. A message
that was accepted is answered even after a crash, at the next start.

Nobody can be asked, so commands and changes of files are refused, also those of comma
commands, unless the mode is auto or a rule allows them: see tape run --help.`,
		Example: `  tape config telegram '{"allow_users":["123456789"]}'
  TAPE_TELEGRAM_TOKEN=… tape gateway`,
	}
	setOptions := agentFlags(cmd.Flags())
	cmd.RunE = a.withAgent(func(ctx context.Context, host Host, o AgentOptions) error {
		setOptions(&o)
		return host.Gateway(ctx, o)
	})
	return cmd
}

func newHooksCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "hooks",
		Short: "List the agent's hooks and the plugins that implement them",
		Long: `List the hooks that plugins implement, and for each hook its plugins in the order in which they
are called, with the state of plugins that are programs, and what failed.`,
		Example: `  tape hooks
  tape hooks --json`,
		RunE: a.withAgent(func(ctx context.Context, host Host, o AgentOptions) error {
			lines, err := host.Hooks(ctx, o)
			if err != nil {
				return err
			}
			return rows.HookLines(&a.Streams, lines)
		}),
	}
}

func newOnboardCmd(a *App) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "onboard [--check]",
		Short: "Set up the agent: provider, model, key and channel",
		Long: `Ask for what the agent needs: provider, address, key, one of the models that its server has,
and channel. The model is tested before it is set. At the end, you can talk to the agent. The
settings are those of this workspace (tape config); keys go to $TAPE_HOME/credentials.json,
which only you can read.

--check asks nothing: it says what is set up, and whether it works.

Without a terminal nothing is asked: set TAPE_MODEL (or tape config model PROVIDER:MODEL)
and the key in the provider's variable, such as OPENAI_API_KEY.`,
		Example: `  tape onboard
  tape onboard --check`,
		RunE: a.withAgent(func(ctx context.Context, host Host, o AgentOptions) error {
			if check {
				return host.CheckSetup(ctx, o)
			}
			return host.Onboard(ctx, o)
		}),
	}
	cmd.Flags().BoolVar(&check, "check", false, "say what is set up, and whether it works")
	return cmd
}
