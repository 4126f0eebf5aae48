package workspace

import (
	"context"

	"tape/internal/git/gitconfig"
	"tape/internal/store/layout"
)

// InstallGit tells git how to show and how to merge entries, so that git diff, git log -p
// and git show render them readably in the workspace and its worktrees, and git merge
// keeps both sides of a tape. It writes .git/tape/gitconfig, which .git/config then includes,
// and to .git/info/attributes, nowhere else, and nothing where it is installed already. Init
// does it for a new workspace; a plain git clone needs it once.
func (s *Store) InstallGit(ctx context.Context) (gitconfig.DriverSetup, error) {
	done, err := s.git.Config().InstallDrivers(ctx, GitDrivers())
	return done, layout.Classify(err)
}

// UninstallGit takes away what InstallGit wrote, and names it.
func (s *Store) UninstallGit(ctx context.Context) (removed []string, err error) {
	removed, err = s.git.Config().RemoveDrivers(ctx, GitDrivers())
	return removed, layout.Classify(err)
}

// FirstGitSetup is InstallGit for a workspace that has no settings yet, or those of a former
// version. A workspace is sound without it, so a failure only warns.
func (s *Store) FirstGitSetup(ctx context.Context) {
	if s.config.Tape != "" && !s.git.Config().HasFormerDrivers(GitDrivers()) {
		return // set up by an earlier Init, and perhaps taken away since
	}
	if _, err := s.InstallGit(ctx); err != nil && ctx.Err() == nil {
		s.warn("git diff will show raw lines until tape git install has been run: " + err.Error())
	}
}

// gitTextconv is the command that git runs, with the file's name behind it, through sh.
//
// Git gives up on a diff whose command fails. So where there is no tape, or an older one
// that does not know the command, the raw file is shown. The file comes through standard
// input, so that no name of a file is ever taken for an option; and a program of the
// same name that is not this one, and takes its arguments for files to run, is not
// handed anything recorded.
//
// What it prints is not to be cached (diff.tape.cachetextconv): git would go on showing
// what an older version of the program, or the lack of any, has shown, and would keep
// recorded text in refs that a reset or discard does not reach.
const gitTextconv = `f() { tape textconv - <"$1" 2>/dev/null || cat <"$1"; }; f`

// gitMerge is the command that git runs to merge one file: the base, ours (where the
// result goes), theirs, and the file's path. Where there is no tape it fails, and git
// reports a conflict: nothing else would keep what an append-only file promises.
const gitMerge = `f() { tape merge-driver "$1" "$2" "$3" "$4"; }; f %O %A %B %P`

// GitDrivers is what git is told about files of phases.
func GitDrivers() gitconfig.Drivers {
	phases := layout.AnchorsDir + "/**/"
	sample := layout.AnchorsDir + "/" + layout.FolderName(1, layout.FirstAnchor) + "/"
	d := gitconfig.Drivers{
		Settings: [][]gitconfig.Setting{{
			{Name: "diff.tape.textconv", Value: gitTextconv},
			// The line above a hunk: the entry in which it begins.
			{Name: "diff.tape.xfuncname", Value: "^@[0-9]+ .*"},
		}, {
			{Name: "merge.tape.driver", Value: gitMerge},
			{Name: "merge.tape.name", Value: "entries of both sides, renumbered"},
		}, {
			// A fork that is merged is a commit with two parents, even when the tape has
			// not grown since; a pull of what is only ahead is none.
			{Name: "merge.ff", Value: "false"},
			{Name: "pull.ff", Value: "true"},
		}},
		Attributes: []string{"diff=tape", "merge=tape"},
		Patterns:   []string{phases + "*.jsonl", phases + layout.AnchorFile},
		Samples:    []string{sample + layout.AnchorFile},
		Mark:       "written by tape git install",
	}
	for c := range layout.ClassCount {
		d.Samples = append(d.Samples, sample+layout.SegmentName(c, 1))
	}
	return d
}
