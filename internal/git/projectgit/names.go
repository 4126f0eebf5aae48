package projectgit

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// WorkTrees returns the repository's working trees, the main one first. Some may be gone.
func (r Repo) WorkTrees(ctx context.Context) ([]string, error) {
	out, err := run(ctx, r.Top, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var trees []string
	for line := range strings.Lines(string(out)) {
		if tree, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "worktree "); ok && !slices.Contains(trees, filepath.FromSlash(tree)) {
			trees = append(trees, filepath.FromSlash(tree))
		}
	}
	if !slices.Contains(trees, r.Top) {
		trees = append(trees, r.Top)
	}
	return trees, nil
}

// FormerNames returns the names that a file had in earlier commits, the latest first, without the present one.
// name is relative to the working tree, with slashes. A file that git does not know has none.
func (r Repo) FormerNames(ctx context.Context, name string) ([]string, error) {
	out, err := run(ctx, r.Top, nil, "log", "--follow", "--no-show-signature", "--no-textconv", "--no-ext-diff", "--format=", "--name-status", "-z",
		"--diff-filter=R", "-M", "--", name)
	if _, ok := errors.AsType[*gitError](err); ok { // there is no commit
		return nil, nil
	}
	var names []string
	// Each rename is three fields: R with the likeness, the name before, the name after.
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		if old := fields[i+1]; strings.HasPrefix(strings.TrimSpace(fields[i]), "R") && old != name && !slices.Contains(names, old) {
			names = append(names, old)
		}
	}
	return names, err
}
