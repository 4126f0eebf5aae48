package cli

import (
	"context"

	"tape/hooks"
	"tape/repo"
)

// installHooks writes the hooks of a workspace that was just made. It is sound without
// them, so a failure only warns.
func (a *App) installHooks(ctx context.Context, store *repo.Store) {
	report, err := hooks.Install(ctx, store)
	if err != nil {
		a.warn("git commits and pushes are not checked until tape git install has been run: " + err.Error())
		return
	}
	for _, line := range outsideLines(report) {
		a.note("%s", line)
	}
}

// hookNames are hooks as files below .git.
func hookNames(names []string) []string {
	return namesOf(names, func(name string) string { return "hooks/" + name })
}

// outsideLines say what to add to hooks that are not ours to write to.
func outsideLines(r hooks.Report) []string {
	if !r.Outside {
		return nil
	}
	if r.Dir == "" {
		return []string{"core.hooksPath is empty, so that git runs no hooks: none were written"}
	}
	out := []string{"core.hooksPath is " + r.Dir + ", which is not the workspace's own: nothing was written there",
		"to be of the same effect, the hooks in it need a line each:"}
	for _, l := range r.Lines {
		out = append(out, "  "+pad(l.Hook, 14)+l.Line)
	}
	return out
}
