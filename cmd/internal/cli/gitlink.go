package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/repo"
)

func newGitLinkCmd(a *App) *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "link [BASE..HEAD | BRANCH | COMMIT] [--remove]",
		Short: "Note in the project's repository which sessions led to commits",
		Long: `Write a note of git for each commit of a range, with the addresses of the sessions that led to it,
such as 7c1e04d2-…@17. The range and the evidence are those of tape review: commits that no session is
known to have written get no note. Nothing else in the project's repository changes, no file and no
commit, and nothing writes such notes by itself.

The notes are in refs/notes/tape, which git pushes only if you tell it to. git log --notes=tape shows
them. They say nothing of what was asked: whoever has the session opens it with tape show.

--remove removes the notes of the range or, without a range, all of them here.`,
		Example: `  tape git link main..HEAD
  git log --notes=tape main..HEAD
  git push origin refs/notes/tape
  tape git link --remove`,
		Args: takes(0, "RANGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := projectgit.Open(cmd.Context(), ".")
			if err != nil {
				return projectError(err)
			}
			if remove {
				return a.unlinkCommits(cmd.Context(), project, first(args))
			}
			return a.inStore(func(ctx context.Context, store *repo.Store, args []string) error {
				return a.linkCommits(ctx, store, project, first(args))
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the notes")
	return cmd
}

func (a *App) linkCommits(ctx context.Context, store *repo.Store, project projectgit.Repo, revision string) error {
	r, err := review.Parse(ctx, project, revision)
	if err != nil {
		return err
	}
	var found *review.Review
	if err := a.withFinder(ctx, store, project, func(f *trace.Finder) error {
		found, err = review.Of(ctx, f, project, r, nil)
		return rangeError(r.Name, err)
	}); err != nil {
		return err
	}
	var notes []projectgit.Note
	for _, c := range found.Credits {
		if text := noteOf(c); text != "" {
			notes = append(notes, projectgit.Note{Commit: c.ID, Text: text})
		}
	}
	written, err := project.AddNotes(ctx, notes)
	if err != nil {
		return fmt.Errorf("write a note: %w", err)
	}
	text := fmt.Sprintf("%s of %s %s; %s written to %s", display.Count(len(notes), "commit", "commits"), r.Name, map[bool]string{true: "has a session", false: "have sessions"}[len(notes) == 1],
		display.Count(written, "note is", "notes are"), projectgit.NotesRef)
	if len(notes) > 0 {
		text += "\ngit log --notes=tape shows them; git push origin " + projectgit.NotesRef + " shares them; tape git link --remove removes them"
	}
	return a.Result(object{{"range", r.Name}, {"ref", projectgit.NotesRef}, {"commits", len(found.Credits)}, {"linked", len(notes)}, {"written", written}}, "%s", text)
}

// noteOf is the note of a commit: a line for each session that led to it, the one with the most lines first.
func noteOf(c trace.Credit) string {
	var lines []string
	for _, s := range c.Shares {
		line := fmt.Sprintf("Tape-Session: %s@%d", s.Tape, s.First)
		if s.Last > s.First {
			line += fmt.Sprintf(" to @%d", s.Last)
		}
		lines = append(lines, display.Line(line))
	}
	return strings.Join(lines, "\n")
}

func (a *App) unlinkCommits(ctx context.Context, project projectgit.Repo, revision string) error {
	var removed int
	if revision == "" {
		var err error
		if removed, err = project.DropNotes(ctx); err != nil {
			return err
		}
	} else {
		r, err := review.Parse(ctx, project, revision)
		if err != nil {
			return err
		}
		patches, err := project.Range(ctx, r.Base, r.Head)
		if err != nil {
			return rangeError(r.Name, err)
		}
		var commits []string
		for _, p := range patches {
			commits = append(commits, p.Commit.ID)
		}
		if removed, err = project.RemoveNotes(ctx, commits); err != nil {
			return err
		}
	}
	text := display.Count(removed, "note is", "notes are") + " removed from " + projectgit.NotesRef
	if removed > 0 && revision == "" {
		text += "; a remote keeps those that you pushed: git push origin --delete " + projectgit.NotesRef
	}
	return a.Result(object{{"ref", projectgit.NotesRef}, {"removed", removed}}, "%s", text)
}
