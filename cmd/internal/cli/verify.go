package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/repo"
)

type problemJSON struct {
	Tape    string `json:"tape"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

type verifyJSON struct {
	OK      bool `json:"ok"`
	Checked struct {
		Tapes    int   `json:"tapes"`
		Forks    int   `json:"forks"`
		Archives int   `json:"archives"`
		Commits  int   `json:"commits"`
		Entries  int64 `json:"entries"`
		Files    int   `json:"files"`
		GitFsck  bool  `json:"git_fsck"`
	} `json:"checked"`
	Problems []problemJSON `json:"problems"`
}

func newVerifyCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check everything that the format promises",
		Long: `Check the whole workspace: that history was only appended to, that every entry can be
read and none is missing, that commits, tags and working trees agree, and, where there
is git, what git fsck checks. Every violation is named; exit code 6 if there is any.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runVerify(cmd.Context()) },
	}
}

func (a *App) runVerify(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	report, err := store.Verify(ctx)
	if err != nil {
		return err
	}
	if err := a.showReport(report); err != nil {
		return err
	}
	if !report.OK {
		return &cliError{class: repo.ErrCorrupt, msg: "the workspace has " + count(int64(len(report.Problems)), "problem", "problems")}
	}
	return nil
}

func (a *App) showReport(report *repo.Report) error {
	c := report.Checked
	if a.json {
		out := verifyJSON{OK: report.OK, Problems: []problemJSON{}}
		out.Checked.Tapes, out.Checked.Forks, out.Checked.Archives, out.Checked.Commits = c.Tapes, c.Forks, c.Archives, c.Commits
		out.Checked.Entries, out.Checked.Files, out.Checked.GitFsck = c.Entries, c.Files, report.GitFsck
		for _, p := range report.Problems {
			out.Problems = append(out.Problems, problemJSON{p.Tape, p.File, p.Line, p.Message})
		}
		return a.emit(out)
	}
	for _, p := range report.Problems {
		a.printf("%s\n", a.style(red, safeLine(p.String())))
	}
	tapes := count(int64(c.Tapes), "tape", "tapes")
	if c.Forks > 0 {
		tapes += ", " + count(int64(c.Forks), "fork", "forks")
	}
	text := fmt.Sprintf("checked %s, %s, %s, %s", tapes, count(int64(c.Commits), "commit", "commits"),
		count(int64(c.Files), "file", "files"), entries(c.Entries))
	if report.GitFsck {
		text += ", git fsck"
	}
	if report.OK {
		text += ": " + a.style(green, "ok")
	}
	a.say("%s", text)
	return nil
}
