package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/sharing"
	"tape/cmd/internal/stdio"
	"tape/internal/store/about"
	"tape/repo"
)

// Host implements the commands that only tape-host can run. The program tape has none: there, such a
// command checks its arguments and starts tape-host with them.
type Host interface {
	MCP(ctx context.Context, o MCPOptions) error
	Watch(ctx context.Context, o WatchOptions) error
	ACP(ctx context.Context, o ACPOptions) (status int, err error)
	Turn(ctx context.Context, o AgentOptions, m TurnMessage) (TurnResult, error)
	Chat(ctx context.Context, o AgentOptions, session string) error
	Gateway(ctx context.Context, o AgentOptions) error
	Hooks(ctx context.Context, o AgentOptions) ([]HookLine, error)
	Onboard(ctx context.Context, o AgentOptions) error
	CheckSetup(ctx context.Context, o AgentOptions) error
	hostcmd.ServeHost
	hostcmd.TeamHost
	hostcmd.PublishHost
	Pick(ctx context.Context, p PickOptions) error
	// Prose renders Markdown as HTML, for tape export --format html.
	Prose() func(text string, lines int) string
}

const (
	hostProgram = "tape-host"
	// envHostFor names the variable with the build of the tape that started tape-host. tape-host removes it.
	envHostFor = "TAPE_HOST_FOR"
)

// hostCommands returns the commands that tape-host runs. tape has them, too, and starts tape-host.
func hostCommands() []command {
	return []command{
		{"mcp", groupAgents, newMCPCmd},
		{"watch", groupAgents, newWatchCmd},
		{"acp", groupAgents, newACPCmd},
		{"run", groupAgents, newRunCmd},
		{"chat", groupAgents, newChatCmd},
		{"gateway", groupAgents, newGatewayCmd},
		{"hooks", groupAgents, newHooksCmd},
		{"onboard", groupAgents, newOnboardCmd},
		{"serve", groupAgents, func(a *App) *cobra.Command {
			return hostcmd.NewServe(hostcmd.ServeRun{Host: a.onServe, Store: a.onLinks})
		}},
		{"team", groupRemotes, func(a *App) *cobra.Command { return hostcmd.NewTeam(a.onTeam) }},
		{"login", groupRemotes, func(a *App) *cobra.Command { return hostcmd.NewLogin(a.onTeam) }},
		{"publish", groupExchange, func(a *App) *cobra.Command { return hostcmd.NewPublish(a.onPublish) }},
	}
}

// hosted runs a command of tape-host: in tape-host it calls run, in tape it starts tape-host.
func (a *App) hosted(run func(ctx context.Context, host Host) error) runFunc {
	return func(cmd *cobra.Command, _ []string) error {
		if a.Host == nil {
			return a.startHost(cmd.Name(), os.Args[1:])
		}
		if err := a.sameBuild(cmd.Name()); err != nil {
			return err
		}
		return run(cmd.Context(), a.Host)
	}
}

// onTeam runs a command about a team in tape-host.
func (a *App) onTeam(run func(ctx context.Context, h hostcmd.TeamHost, o hostcmd.TeamOptions) error) runFunc {
	return a.hosted(func(ctx context.Context, host Host) error {
		version, _ := a.build()
		return run(ctx, host, hostcmd.TeamOptions{Streams: &a.Streams, Version: version})
	})
}

// onPublish runs tape publish in tape-host.
func (a *App) onPublish(run func(ctx context.Context, h hostcmd.PublishHost, in hostcmd.PublishApp) error) runFunc {
	return a.hosted(func(ctx context.Context, host Host) error {
		store, err := a.openStore(ctx)
		if err != nil {
			return err
		}
		facts, err := a.about(ctx, store, nil)
		if err != nil {
			return err
		}
		return explainRemote(run(ctx, host, hostcmd.PublishApp{Streams: &a.Streams, Store: store, About: facts, Build: a.buildID(), Find: a.findTape,
			IsHostTape: sharing.IsHostTape, InProject: func(t about.Tape, project string) bool { return within(t, projectNamed(project)) }}))
	})
}

// envServeToken names the variable with the admin's token of tape serve, if the token has to stay the same.
const envServeToken = "TAPE_SERVE_TOKEN"

// onServe runs tape serve in tape-host. Its pages show all workspaces, unless one is named. The API serves that of
// the current directory, or, if there is none, the one that was used last.
func (a *App) onServe(run func(ctx context.Context, h hostcmd.ServeHost, in hostcmd.ServeApp) error) runFunc {
	return a.hosted(func(ctx context.Context, host Host) error {
		store, err := a.openStore(ctx)
		all := a.workspaceDir() == ""
		if all && errors.Is(err, repo.ErrNotFound) {
			store, err = a.openNewest(ctx, err)
		}
		if err != nil {
			return err
		}
		version, _ := a.build()
		return run(ctx, host, hostcmd.ServeApp{Streams: &a.Streams, Store: store, All: all, Token: a.Getenv(envServeToken), Version: version})
	})
}

// onLinks runs a command of tape serve link.
func (a *App) onLinks(run func(ctx context.Context, in hostcmd.ServeApp) error) runFunc {
	return a.inStore(func(ctx context.Context, store *repo.Store, _ []string) error {
		return run(ctx, hostcmd.ServeApp{Streams: &a.Streams, Store: store, Find: a.findTape})
	})
}

// startHost runs tape-host for a command; on Unix in place of this process.
func (a *App) startHost(command string, args []string) error {
	path, err := findHost()
	if err != nil {
		return err
	}
	env := append(os.Environ(), envHostFor+"="+a.buildID())
	code, err := stdio.RunInstead(path, append([]string{hostProgram}, args...), env)
	if err != nil {
		return &cliError{cause: err, msg: "cannot run " + quoted(path) + " for tape " + command + ": " + err.Error(),
			hint: "install tape again: tape-host comes with it"}
	}
	return exited(code)
}

// findHost finds tape-host: beside this program, else in PATH.
func findHost() (string, error) {
	name := hostProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		dirs := []string{filepath.Dir(self)}
		if real, err := filepath.EvalSymlinks(self); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
		for _, dir := range dirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath(hostProgram)
	if err == nil {
		return path, nil
	}
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "", &cliError{msg: "the program tape-host, which does this, is not installed",
		hint: "tape-host comes with tape: install both again, or put it beside the program tape or in PATH"}
}

// sameBuild refuses a tape of another build, whose flags may mean something else.
func (a *App) sameBuild(command string) error {
	want, own := os.Getenv(envHostFor), a.buildID()
	if err := os.Unsetenv(envHostFor); err != nil {
		return err
	}
	if want == "" || want == own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		self = hostProgram
	}
	return &cliError{msg: "tape is version " + want + ", and " + quoted(self) + " is version " + own,
		hint: "install both from the same release; or run this one itself: " + shellWord(self) + " " + command}
}

func (a *App) buildID() string {
	version, commit := a.build()
	return version + " (" + shortID(commit) + ")"
}
