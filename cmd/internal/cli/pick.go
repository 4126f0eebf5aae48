package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/cmd/internal/stdio"
	"tape/internal/store/about"
	"tape/internal/store/workspace"
	"tape/repo"
)

// PickOptions has the sessions for the picker, and what can be done with them.
type PickOptions struct {
	App      *App
	Sessions []about.Tape // the newest first
	Here     []bool       // which of them belong to the project of the current directory
	// Resume returns the command that continues a session. The error says why it cannot be continued.
	Resume func(session int) (string, error)
	// Open shows the log of a session, and reports whether to show the picker again afterwards.
	Open func(session int) (again bool)
}

// runAlone runs tape without a command. On a terminal the user chooses one of the sessions. If there are none, or
// there is no terminal, it shows the help.
func (a *App) runAlone(cmd *cobra.Command) error {
	if a.Host == nil {
		if imported, err := a.offerImport(cmd.Context()); err != nil {
			return err
		} else if imported {
			a.store = nil
		}
	}
	_, hostErr := findHost()
	switch {
	case a.Host != nil && os.Getenv(envHostFor) == "", a.Host == nil && (hostErr != nil || !a.canPick()):
		return cmd.Help()
	}
	return a.hosted(func(ctx context.Context, host Host) error {
		list, here, err := a.sessionsToPick(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			full := *a
			full.Host = nil
			root := newRoot(&full, nil)
			root.SetOut(a.Out)
			return root.Help()
		}
		p := PickOptions{App: a, Open: func(session int) bool { return a.openPicked(ctx, list[session]) },
			Resume: func(session int) (string, error) { return a.resumePicked(ctx, list[session]) }}
		for _, t := range list {
			p.Sessions, p.Here = append(p.Sessions, t.Tape), append(p.Here, t.Workspace == here)
		}
		return host.Pick(ctx, p)
	})(cmd, nil)
}

// canPick reports whether there is a terminal for the picker, and a workspace.
func (a *App) canPick() bool {
	if a.JSON || a.wantedTape() != "" || stdio.IsDumb(a.Getenv) || !stdio.IsTerminal(a.Stdin) || !stdio.HasSize(a.Stdout) {
		return false
	}
	if _, err := repo.Find("."); err == nil || a.workspaceDir() != "" {
		return true
	}
	own, _, err := workspace.OwnWorkspaces()
	return err == nil && len(own) > 0
}

// sessionsToPick lists the sessions of all of the user's workspaces, and returns the workspace of the current
// directory. If the user has named a workspace, or the current one is not the user's own, only its sessions are listed.
func (a *App) sessionsToPick(ctx context.Context) (list []listedTape, here string, err error) {
	store, err := a.openStore(ctx)
	switch {
	case err == nil:
		here = store.Dir()
	case a.workspaceDir() != "" || !errors.Is(err, repo.ErrNotFound):
		return nil, "", err
	}
	a.everywhere = a.workspaceDir() == ""
	list, err = a.listTapes(ctx)
	isHere := func(t listedTape) bool { return t.Workspace == here }
	if store != nil && (err != nil || !slices.ContainsFunc(list, isHere)) {
		a.everywhere = false
		list, err = a.listTapes(ctx)
		for i := range list {
			list[i].Workspace = here
		}
	}
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return slices.DeleteFunc(list, listedTape.Empty), here, err
}

// openPicked shows the log of a session. The picker is shown again if the pager is less, which waits for the user.
func (a *App) openPicked(ctx context.Context, t listedTape) (again bool) {
	again = a.PagesWithLess()
	if again && !strings.HasSuffix(os.Getenv("LESS"), lessStays) {
		os.Setenv("LESS", cmp.Or(os.Getenv("LESS"), "R")+lessStays) //nolint:errcheck // without it less leaves a short log at once
	}
	log := OS(a.Version, a.Commit)
	args := []string{"--workspace", t.Workspace, "--tape", t.Name, "log"}
	if a.NoPager {
		args = append(args, "--no-pager")
	}
	return Run(ctx, log, args) == exitOK && again
}

// lessStays makes less wait for the user even if everything fits on the screen.
const lessStays = " -+F -+X"

// resumePicked returns the command that continues a session. The error says why it cannot be continued.
func (a *App) resumePicked(ctx context.Context, l listedTape) (string, error) {
	store, err := repo.Open(ctx, l.Workspace, a.storeOptions())
	if err != nil {
		return "", err
	}
	t, err := store.Tape(ctx, l.Name)
	user, userErr := a.userSettings()
	if err = cmp.Or(err, userErr); err != nil {
		return "", err
	}
	return agentside.CommandOf(ctx, t, user)
}
