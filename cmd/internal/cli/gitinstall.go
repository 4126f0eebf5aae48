package cli

import (
	"context"
	"os/exec"

	"tape/cmd/internal/stdio"
	"tape/hooks/githooks"
	"tape/internal/show/display"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Install sets git up for the tapes of a workspace.
func Install(ctx context.Context, s *stdio.Streams, store *repo.Store) error {
	done, err := (*workspace.Store)(store).InstallGit(ctx)
	if err != nil {
		return err
	}
	report, err := githooks.Install(ctx, store)
	if err != nil {
		return err
	}
	installed, kept := append(done.Installed, hookNames(report.Installed)...), append(done.Kept, hookNames(report.Own)...)
	if report.Outside {
		kept = append(kept, "core.hooksPath")
	}
	if s.JSON {
		return s.Emit(stdio.Object{{"workspace", store.Dir()}, {"installed", installed}, {"kept", kept}})
	}
	tellOutside(s, report)
	for _, name := range installed {
		s.StderrIfVerbose("in place: %s", name)
	}
	for _, name := range kept {
		s.PrintUnlessQuiet("kept your own: %s", display.Line(name))
	}
	also := ""
	if len(done.Kept) > 0 {
		also = "otherwise, "
	}
	s.PrintUnlessQuiet("%sgit diff, git log -p and git show print readable entries of %s; git merge merges them, and hooks check commits and pushes", also, display.Line(store.Dir()))
	if _, err := exec.LookPath("tape"); err != nil {
		s.Warn("the program tape is not in your PATH; until it is, git shows raw lines and checks nothing")
	}
	return nil
}

// Uninstall undoes Install.
func Uninstall(ctx context.Context, s *stdio.Streams, store *repo.Store) error {
	removed, err := (*workspace.Store)(store).UninstallGit(ctx)
	if err != nil {
		return err
	}
	report, err := githooks.Uninstall(ctx, store)
	if err != nil {
		return err
	}
	removed = append(removed, hookNames(report.Changed)...)
	text := "git shows the entries of %s as raw lines"
	if len(removed) == 0 {
		text = "nothing of tape git install is in %s"
	}
	return s.Result(stdio.Object{{"workspace", store.Dir()}, {"removed", removed}}, text, display.Line(store.Dir()))
}

// Server installs or removes the hook of a repository that is pushed to: call does it, and done is the format of the
// line that says so.
func Server(ctx context.Context, s *stdio.Streams, dir string, call func(context.Context, string) (githooks.Report, error), done string) error {
	report, err := call(ctx, dir)
	if err != nil {
		return err
	}
	tellOutside(s, report)
	return s.Result(stdio.Object{{"repository", dir}, {"installed", hookNames(report.Installed)}, {"kept", hookNames(report.Own)},
		{"changed", hookNames(report.Changed)}}, done, display.Line(dir))
}

// InstallHooks installs git's hooks in a new workspace. The workspace works without them, so a failure
// is only a warning.
func InstallHooks(ctx context.Context, s *stdio.Streams, store *repo.Store) {
	report, err := githooks.Install(ctx, store)
	if err != nil {
		s.Warn("git commits and pushes are not checked until tape git install has been run: " + err.Error())
		return
	}
	for _, line := range outsideLines(report) {
		s.StderrIfVerbose("%s", line)
	}
}

func hookNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "hooks/" + name
	}
	return out
}

// outsideLines say which lines to add to hooks that we must not write to.
func outsideLines(r githooks.Report) []string {
	if !r.Outside {
		return nil
	}
	if r.Dir == "" {
		return []string{"core.hooksPath is empty, so git runs no hooks: none were written"}
	}
	out := []string{"core.hooksPath is " + r.Dir + ", which is not the workspace's own: nothing was written there",
		"for the same effect, each hook in it needs a line:"}
	for _, l := range r.Lines {
		out = append(out, "  "+display.Pad(l.Hook, 14)+l.Line)
	}
	return out
}

func tellOutside(s *stdio.Streams, r githooks.Report) {
	for _, line := range outsideLines(r) {
		s.StderrUnlessQuiet("%s", display.Line(line))
	}
}
