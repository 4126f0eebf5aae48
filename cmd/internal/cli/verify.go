package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/audit"
	"tape/internal/display"
	"tape/repo"
)

func newVerifyCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the integrity of the workspace",
		Long: `Check the whole workspace: that history was only appended to, that every entry can be
read and none is missing, that commits, tags and working trees agree, and, if git is
installed, what git fsck checks. Every violation is named; exit code 6 if there is any.`,
		RunE: a.inStore(a.runVerify),
	}
}

func (a *App) runVerify(ctx context.Context, store *repo.Store, _ []string) error {
	report, err := store.Verify(ctx)
	if err != nil {
		return err
	}
	if err := a.showReport(report); err != nil {
		return err
	}
	if !report.OK {
		return &cliError{class: repo.ErrCorrupt, msg: "the workspace has " + display.Count(len(report.Problems), "problem", "problems")}
	}
	return nil
}

func (a *App) showReport(report *repo.Report) error {
	c := report.Checked
	if a.json {
		checked := object{{"tapes", c.Tapes}, {"forks", c.Forks}, {"archives", c.Archives}, {"commits", c.Commits}, {"entries", c.Entries},
			{"files", c.Files}, {"git_fsck", report.GitFsck}}
		problems := objects(report.Problems, func(p audit.Problem) object {
			return object{{"tape", p.Tape}, {"file", p.File}, {"line", p.Line}, {"message", p.Message}}
		})
		return a.emit(object{{"ok", report.OK}, {"checked", checked}, {"problems", problems}})
	}
	for _, p := range report.Problems {
		a.line(a.style(red, display.Line(p.String())))
	}
	text := "checked " + strings.Join(slices.Concat([]string{display.Count(c.Tapes, "tape", "tapes")}, some(c.Forks, "fork", "forks"),
		[]string{display.Count(c.Commits, "commit", "commits"), display.Count(c.Files, "file", "files"), display.Entries(c.Entries)}), ", ")
	if report.GitFsck {
		text += ", git fsck"
	}
	if report.OK {
		text += ": " + a.style(green, "ok")
	}
	a.say("%s", text)
	return nil
}
