package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/store/repair"
	"tape/repo"
)

type verifyOptions struct {
	app         *App
	repair, yes bool
}

func newVerifyCmd(a *App) *cobra.Command {
	o := &verifyOptions{app: a}
	cmd := &cobra.Command{
		Use:   "verify [--repair [--yes]]",
		Short: "Check the integrity of the workspace",
		Long: `Check the whole workspace: history was only appended to, every entry can be read and none is
missing, commits, tags and working trees agree, and, if git is installed, git fsck succeeds.
Every violation is named; the exit code is 6 if there is any. Nothing is changed.

With --repair, damaged files of working trees are set aside in .git/tape/torn/. Committed
entries are restored from git; of uncommitted ones, every intact line stays. If the line of an
entry is lost or damaged, an event repair.lost takes its id, with what was left of the line. So
no id is used twice, and verify mentions these entries from then on. The command asks on a
terminal, and needs --yes elsewhere. What is damaged in git itself is mended first: refs from
their logs, objects from intact files or a remote, indexes and HEADs anew. The command says from
what.`,
		Example: `  tape verify
  tape verify --repair`,
		RunE: a.inStore(o.run),
	}
	cmd.Flags().BoolVar(&o.repair, "repair", false, "set aside what is damaged, and go on with the rest")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *verifyOptions) run(ctx context.Context, store *repo.Store, _ []string) error {
	var mended []repair.Mended
	var git []string
	if o.repair {
		var err error
		if mended, git, err = o.mend(ctx, store); err != nil {
			return err
		}
	}
	report, err := store.Verify(ctx)
	if err != nil {
		return err
	}
	if err := o.app.showReport(report, mended, git); err != nil {
		return err
	}
	if report.OK {
		return nil
	}
	out := &cliError{class: repo.ErrCorrupt, msg: "the workspace has " + display.Count(len(report.Problems), "problem", "problems")}
	for _, p := range report.Problems {
		out.hint = cmp.Or(out.hint, p.Fix)
	}
	if len(report.Damage) > 0 && !o.repair {
		out.hint = hints.Text(layout.Hint{Kind: layout.RepairTape})
	}
	return out
}

// mend shows what is damaged, asks, and repairs it.
func (o *verifyOptions) mend(ctx context.Context, store *repo.Store) (mended []repair.Mended, git []string, err error) {
	if !o.yes {
		all, err := store.Damage(ctx)
		if err != nil {
			return nil, nil, err
		}
		show := o.app.StderrUnlessQuiet
		if o.app.CanAsk() { // nobody is asked about what was not shown
			show = o.app.Tell
		}
		for _, d := range all {
			for _, text := range d.Texts() {
				show("%s: %s", display.Line(d.Tape), display.Line(text))
			}
		}
		if len(all) > 0 {
			if !o.app.CanAsk() {
				return nil, nil, layout.Invalid("tape verify --repair --yes does it without asking", "a repair asks before it changes files, and there is no terminal to ask on")
			}
			if err := o.app.Confirm(ctx, "Set aside what is damaged, and go on with everything else?"); err != nil {
				return nil, nil, err
			}
		}
	}
	git, err = store.RepairGit(ctx)
	for _, text := range git {
		o.app.Warn(text)
	}
	if err == nil {
		mended, err = store.Repair(ctx)
	}
	for _, m := range mended {
		switch {
		case m.Err != nil:
			o.app.Warn(strings.TrimSuffix(fmt.Sprintf("%s was not repaired: %v; %s", m.Tape, m.Err, hints.Of(m.Err)), "; "))
		case m.Kept != "":
			o.app.Warn(fmt.Sprintf("%s was repaired; the files from before are in %s", m.Tape, m.Kept))
		default:
			o.app.Warn(m.Tape + " was repaired")
		}
	}
	return mended, git, err
}

func (a *App) showReport(report *repo.Report, mended []repair.Mended, git []string) error {
	c := report.Checked
	if a.JSON {
		checked := object{{"tapes", c.Tapes}, {"forks", c.Forks}, {"archives", c.Archives}, {"commits", c.Commits}, {"entries", c.Entries},
			{"files", c.Files}, {"git_fsck", report.GitFsck}}
		problems := objects(report.Problems, func(p audit.Problem) object {
			return object{{"tape", p.Tape}, {"file", p.File}, {"line", p.Line}, {"message", p.Message}}
		})
		notes := objects(report.Notes, func(p audit.Problem) object {
			return object{{"tape", p.Tape}, {"file", p.File}, {"message", p.Message}}
		})
		repaired := objects(mended, func(m repair.Mended) object {
			return object{{"tape", m.Tape}, {"kept", orNull(m.Kept)}, {"lost", m.LostTexts()}, {"ok", m.Err == nil}}
		})
		return a.Emit(object{{"ok", report.OK}, {"checked", checked}, {"problems", problems}, {"notes", notes}, {"repaired", repaired}, {"mended", append([]string{}, git...)}})
	}
	for _, p := range report.Problems {
		a.Line(a.Style(stdio.Red, display.Line(p.String())))
	}
	for _, p := range report.Notes {
		a.Line("note: " + display.Line(p.String()))
	}
	text := "checked " + strings.Join(slices.Concat([]string{display.Count(c.Tapes, "tape", "tapes")}, display.CountList(c.Forks, "fork", "forks"),
		[]string{display.Count(c.Commits, "commit", "commits"), display.Count(c.Files, "file", "files"), display.Entries(c.Entries)}), ", ")
	if report.GitFsck {
		text += ", git fsck"
	}
	if report.OK {
		text += ": " + a.Style(stdio.Green, "ok")
	}
	a.PrintUnlessQuiet("%s", text)
	return nil
}
