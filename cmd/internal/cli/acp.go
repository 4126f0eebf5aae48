package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/spool"
)

// ACPOptions are the command line's options for the proxy of the Agent Client Protocol.
type ACPOptions struct {
	Argv     []string
	In       io.Reader
	Out, Err io.Writer
	Dir      string // for the files of the sessions
	// Note is called when the file of a session has something new.
	Note func(event, session, file, cwd string) error
}

func newACPCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "acp -- AGENT [ARG...]",
		Short: "Run an agent that speaks the Agent Client Protocol, and record it",
		Long: `Run an agent for an editor that uses the Agent Client Protocol (ACP), and record its sessions.
In the editor's settings, use this command as the agent's command. It passes every byte through
unchanged, and the exit code is the agent's. Each session becomes a tape in the workspace of
its project, and is up to date at the end of each turn.`,
		Example: `  tape acp -- gemini --experimental-acp
  tape acp -- npx @zed-industries/claude-code-acp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return usagef("name the agent after --, such as: tape acp -- gemini --experimental-acp")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hosted(func(ctx context.Context, host Host) error { return a.acp(ctx, host, args) })(cmd, args)
		},
	}
}

func (a *App) acp(ctx context.Context, host Host, args []string) error {
	places, err := a.places()
	if err != nil {
		return err
	}
	r, more := a.newRecorder(places), make(chan struct{}, 1)
	recorded := make(chan error)
	go func() {
		var err error
		for range more {
			err = r.Run(context.WithoutCancel(ctx), false) // what was said is recorded even if the client is gone
		}
		recorded <- err
	}()
	note := func(event, session, file, cwd string) error {
		payload, err := json.Marshal(map[string]string{"session_id": session, "transcript_path": file, "cwd": cwd, "hook_event_name": event})
		n := spool.Note{Agent: acp.Format.Name, At: a.Now(), Program: cmp.Or(a.Version, "dev"), Workspace: a.workspaceDir(), Project: cwd, Payload: payload}
		if err == nil {
			err = spool.Add(nil, places, n)
		}
		select {
		case more <- struct{}{}:
		default: // the recorder is going to look again anyway
		}
		return err
	}
	status, err := host.ACP(ctx, ACPOptions{Argv: args, In: a.Stdin, Out: a.Stdout, Err: a.Stderr,
		Dir: filepath.Join(places[0], "acp"), Note: note})
	close(more)
	if err := errors.Join(err, <-recorded); err != nil {
		a.Message("error", err.Error())
	}
	return exited(status)
}
