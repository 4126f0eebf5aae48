package workspace

import (
	"context"

	"tape/internal/git/gitconfig"
	"tape/internal/store/layout"
)

// InstallGit configures git for the workspace and its worktrees: git diff, git log -p and git show render
// entries readably, and git merge keeps both sides of a tape. It writes .git/tape/gitconfig, which
// .git/config then includes, and .git/info/attributes. If that is installed already, it writes nothing. New
// workspaces have it from the start; in a plain git clone it must be called once.
func (s *Store) InstallGit(ctx context.Context) (gitconfig.DriverSetup, error) {
	done, err := s.git.Config().InstallDrivers(ctx, GitDrivers())
	return done, layout.Classify(err)
}

// UninstallGit removes what InstallGit wrote, and returns what it removed.
func (s *Store) UninstallGit(ctx context.Context) (removed []string, err error) {
	removed, err = s.git.Config().RemoveDrivers(ctx, GitDrivers())
	return removed, layout.Classify(err)
}

// FirstGitSetup is InstallGit for a workspace that has no current tape yet. A workspace works without it, so a
// failure only warns.
func (s *Store) FirstGitSetup(ctx context.Context) {
	if s.Config().Tape != "" {
		return // an earlier Init installed it, and the user may have removed it
	}
	if _, err := s.InstallGit(ctx); err != nil && ctx.Err() == nil {
		s.warn("git diff will show raw lines until tape git install has been run: " + err.Error())
	}
}

// gitTextconv is the command that git runs through sh, with the file's name as its argument.
//
// Git gives up on a diff if the command fails. So where the program tape is missing, or too old to know
// textconv, the raw file is shown. The file comes through standard input: its name cannot be taken for an
// option, and another program called tape does not get the name as an argument.
//
// Its output must not be cached (diff.tape.cachetextconv): git would keep showing the output of an older
// version, or of a machine without tape, and would keep recorded text in refs that a reset or discard does
// not reach.
const gitTextconv = `f() { tape textconv - <"$1" 2>/dev/null || cat <"$1"; }; f`

// gitArtifact prints the size of an artifact instead of its content. The entry that refers to it has the
// beginning and the end.
const gitArtifact = `f() { echo "artifact, $(($(wc -c <"$1"))) bytes"; }; f`

// gitMerge is the command that git runs to merge one file: base, ours (where the result goes), theirs, and
// the file's path. Without tape it fails, and git reports a conflict: nothing else keeps the file
// append-only.
const gitMerge = `f() { tape merge-driver "$1" "$2" "$3" "$4"; }; f %O %A %B %P`

// GitDrivers returns git's settings and attributes for files of phases.
func GitDrivers() gitconfig.Drivers {
	phases, entries := layout.AnchorsDir+"/**/", []string{"diff=tape", "merge=tape"}
	return gitconfig.Drivers{
		Settings: [][]gitconfig.Setting{{
			{Name: "diff.tape.textconv", Value: gitTextconv},
			// The line above a hunk is the entry in which it begins.
			{Name: "diff.tape.xfuncname", Value: "^@[0-9]+ .*"},
		}, {
			// Git sorts files by name, so the whole artifact would come before the conversation. With the
			// attribute -diff, git grep would no longer search its text.
			{Name: "diff.tape-artifact.textconv", Value: gitArtifact},
		}, {
			{Name: "merge.tape.driver", Value: gitMerge},
			{Name: "merge.tape.name", Value: "entries of both sides, renumbered"},
		}, {
			// The merge of a fork is a commit with two parents, even if the tape has not grown since. A pull
			// makes no such commit if the tape can be fast-forwarded.
			{Name: "merge.ff", Value: "false"},
			{Name: "pull.ff", Value: "true"},
		}},
		Patterns: []gitconfig.Pattern{
			{Glob: phases + "*.jsonl", Attributes: entries},
			{Glob: phases + layout.AnchorFile, Attributes: entries},
			{Glob: phases + layout.ArtifactsDir + "/*", Attributes: []string{"diff=tape-artifact"}},
		},
		Mark: "written by tape git install",
	}
}
