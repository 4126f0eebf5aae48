package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/hooks"
	"tape/internal/display"
	"tape/internal/entrydiff"
	"tape/internal/layout"
	"tape/merge"
	"tape/repo"
)

func newMergeDriverCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "merge-driver BASE OURS THEIRS PATH",
		Short: "Merge a file of a phase as git merge does",
		Long: `Merge three versions of a file of a phase. It is what git merge calls, as
merge-driver %O %A %B %P, where tape git install has set it up. What the other side has
added goes behind what is ours, renumbered; the result is written to OURS.

A side that has changed or taken away entries of BASE is a conflict: OURS stays as it is,
the difference is told, and the exit code is 4. Git then reports a conflict. So it does
where entries would be replayed instead of merged: by git rebase, git cherry-pick, git
revert, git am and git stash.

What git has merged is completed by the next command, or by the hook post-merge: git sees
one file at a time, and both sides may have opened a phase of the same number.`,
		Example: `  git merge fork/main/try-redis
  git config merge.tape.driver`,
		Args: takes(4, "BASE", "OURS", "THEIRS", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runMergeDriver(cmd.Context(), args[:3], args[3])
		},
	}
}

func (a *App) runMergeDriver(ctx context.Context, versions []string, path string) error {
	at, err := hooks.Locate()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Outside of a repository, somebody tries it by hand.
	if err == nil {
		merging, err := at.IsMerge()
		if err != nil {
			return err
		}
		if !merging {
			return layout.Conflict("take it back (git rebase --abort, git cherry-pick --abort, git revert --abort), and merge: git merge BRANCH",
				"%s: entries are merged, never replayed: a rebase, cherry-pick, revert or stash does not suit a tape", path)
		}
	}
	var sides [3][]byte
	for i, name := range versions {
		if sides[i], err = a.readFile(ctx, name); err != nil {
			return err
		}
	}
	merged, err := merge.File(sides[0], sides[1], sides[2])
	if errors.Is(err, repo.ErrConflict) {
		return rewritten(path, sides[0], sides[1], sides[2])
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replaceFile(versions[1], func(w io.Writer) error {
		_, err := w.Write(merged)
		return err
	})
}

// rewritten is the conflict of a side that has not only added, with the entries in which
// it differs from the base.
func rewritten(path string, base, ours, theirs []byte) error {
	side, name := ours, "our side"
	if bytes.HasPrefix(ours, base) {
		side, name = theirs, "their side"
	}
	lines := []string{path + ": " + name + " has changed what was recorded before; entries are only added"}
	const most = 5
	n := 0
	for c, err := range entrydiff.Compare(fileLines(base), fileLines(side)) {
		if err != nil {
			lines = append(lines, "  "+err.Error())
			break
		}
		if c.Kind == entrydiff.Added {
			continue
		}
		if n++; n > most {
			lines = append(lines, "  and more")
			break
		}
		lines = append(lines, changeLines(c)...)
	}
	return layout.Conflict("git merge --abort takes the merge back; tape verify, on that side, names every change", "%s", strings.Join(lines, "\n"))
}

// fileLines yields the lines of a file.
func fileLines(content []byte) entrydiff.Lines {
	return func(yield func([]byte, error) bool) {
		for line := range bytes.Lines(content) {
			if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
				return
			}
		}
	}
}

// changeLines says in a line or two what happened to an entry.
func changeLines(c entrydiff.Change) []string {
	const cells = 60
	out := []string{fmt.Sprintf("  @%d %s", c.ID, c.Kind)}
	for _, p := range c.Parts {
		value := func(text string, has bool) string {
			if !has {
				return "nothing"
			}
			return strconv.Quote(display.Shorten(text, cells))
		}
		out = append(out, "    "+partName(p)+": "+value(p.Old, p.HasOld)+" became "+value(p.New, p.HasNew))
	}
	return out
}
