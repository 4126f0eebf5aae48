package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/internal/sessions/importer"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// withFirstStep changes the hint of an error that says that there is no workspace: whoever wants to read sessions, and has
// agents with sessions, needs an import, not an empty workspace.
func (a *App) withFirstStep(cmd *cobra.Command, err error) error {
	missing := func(h layout.Hint) bool { return h.Kind == layout.InitHere }
	if cmd == nil || !errors.Is(err, repo.ErrNotFound) || !slices.ContainsFunc(repo.Hints(err), missing) || writes(cmd) {
		return err
	}
	if !agentside.AnySessions(importer.All().WithFolders(), a.Getenv) {
		return err
	}
	hint := "your agents have sessions: tape import --all imports them, tape import only those of this directory"
	if own, _, ownErr := workspace.OwnWorkspaces(); ownErr == nil && len(own) > 0 {
		hint = "tape import imports what your agents did in this directory; tape tapes -A lists the sessions of all your projects"
	}
	return &cliError{class: repo.ErrNotFound, cause: err, msg: err.Error(), hint: hint}
}

// writes reports whether a command begins something in a workspace, so that an empty one is what it needs.
func writes(cmd *cobra.Command) bool {
	path := strings.Fields(cmd.CommandPath())
	return len(path) > 1 && slices.Contains([]string{"append", "handoff", "commit", "new", "fork", "run-fork", "config", "remote", "git", "textconv", "merge-driver", "hook",
		"run", "chat", "gateway", "mcp", "serve"}, path[1])
}

// nothingHere is the error of an import that has found no session of a project. It names other directories with some.
func (o *importOptions) nothingHere(ctx context.Context, project string, agents importer.Formats) error {
	const most = 5
	hint := "name the files: tape import FILE…"
	names, more, err := agentside.SessionsElsewhere(ctx, &o.app.Streams, agents, project, most)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		hint = "there are sessions in " + strings.Join(names, ", ") + "\ntape import --all imports those of all directories"
	}
	return layout.NotFound(hint, "no transcripts of sessions in %s by %s", quoted(project), agentside.ListOf(agents))
}

// offerImport asks, on a terminal, a user without any workspace whether to import the sessions of the agents. It reports
// whether they were imported.
func (a *App) offerImport(ctx context.Context) (imported bool, err error) {
	if a.JSON || a.Quiet || a.workspaceDir() != "" || a.wantedTape() != "" || !a.CanAsk() {
		return false, nil
	}
	if own, _, err := workspace.OwnWorkspaces(); err != nil || len(own) > 0 {
		return false, nil //nolint:nilerr // the help is shown
	}
	if _, err := repo.Find("."); err == nil || !agentside.AnySessions(importer.All().WithFolders(), a.Getenv) {
		return false, nil
	}
	answer, entered, err := a.AskEnter(ctx, "Your agents have sessions that tape does not have yet. Enter imports them all:\nthey stay on this machine, and the agents' files stay as they are. [Y/n] ")
	if err != nil {
		return false, err
	}
	if answer = strings.ToLower(answer); !entered || answer != "" && answer != "y" && answer != "yes" {
		return false, nil
	}
	o := &importOptions{app: a, format: importer.Auto, everything: true}
	return true, o.run(ctx)
}
