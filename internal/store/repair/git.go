package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/aside"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Bring gets a copy of what a remote has, and returns its git folder. done removes it.
type Bring func(ctx context.Context) (gitDir string, done func(), err error)

// Git mends what is damaged in git itself: from intact files, the reflog, another ref, the writers' records, or a remote. It
// returns what it did, a sentence each. Damaged files are moved to .git/tape/torn. What cannot be mended is left for verify
// to report; it stops nothing else.
func Git(ctx context.Context, s *workspace.Store, bring Bring) ([]string, error) {
	g := &gitMender{s: s, git: s.Git(), files: aside.OfGit(s), bring: bring, refs: map[string]gitstore.Hash{}}
	for _, step := range []func(context.Context) error{g.kinds, g.config, g.heads, g.indexes, g.mirrors, g.packed, g.objects, g.branches, g.copies, g.logs, g.tags, g.strangers, g.links} {
		if err := step(ctx); err != nil {
			return g.said, layout.Wrap(err, "repair %s", g.git.GitDir())
		}
	}
	if kept := g.files.Kept(); kept != "" {
		g.say("the damaged files of git are now in %s", kept)
	}
	return g.said, nil
}

type gitMender struct {
	s     *workspace.Store
	git   *gitstore.Repo
	files *aside.Tree
	bring Bring
	refs  map[string]gitstore.Hash // branches that packed-refs has lost, or whose values could not be read
	said  []string
}

func (g *gitMender) say(format string, args ...any) {
	g.said = append(g.said, fmt.Sprintf(format, args...))
}

func (g *gitMender) path(elem ...string) string {
	return filepath.Join(append([]string{g.git.GitDir()}, elem...)...)
}

// kinds moves away links, and files and folders in the place of each other, where tape and git need the other kind.
func (g *gitMender) kinds(context.Context) error {
	check := func(folder bool, path string) error {
		st, err := os.Lstat(path)
		if err != nil || folder && st.IsDir() || !folder && st.Mode().IsRegular() {
			return nil //nolint:nilerr // what is missing is made when it is needed
		}
		g.say("%s was not a %s", path, map[bool]string{true: "folder", false: "plain file"}[folder])
		return g.files.Keep(path)
	}
	// Git takes no folder without refs for a repository; backups and synchronization leave empty folders out.
	if _, err := os.Lstat(g.path("refs")); errors.Is(err, fs.ErrNotExist) {
		if err := g.s.FS().MkdirAll(g.path("refs", "heads")); err != nil {
			return err
		}
		g.say("%s was missing", g.path("refs"))
	}
	private := g.s.PrivatePath()
	for _, name := range []string{"locks", "tmp", "seals", "bookmarks", layout.TornDirName} {
		if err := check(true, filepath.Join(private, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"logs", "refs", "refs/heads", "refs/tags", "logs/refs", "logs/refs/heads", "worktrees", "info"} {
		if err := check(true, g.path(filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	for _, dir := range []string{"", "locks", "seals"} {
		for _, name := range namesIn(private, dir) {
			if dir == "" && !strings.HasSuffix(name, ".lock") {
				continue
			}
			if err := check(false, filepath.Join(private, dir, name)); err != nil {
				return err
			}
		}
	}
	for _, id := range namesIn(g.git.WorktreesDir()) {
		if gitstore.CheckRefName("refs/worktrees/"+id) != nil { // git gives no such names: a copy, such as "tape-x 2" or "tape-x (1)"
			g.say("%s is no working tree's", filepath.Join(g.git.WorktreesDir(), id))
			if err := g.files.Keep(filepath.Join(g.git.WorktreesDir(), id)); err != nil {
				return err
			}
			continue
		}
		for _, name := range []string{"", "logs", "tape"} {
			if err := check(true, filepath.Join(g.git.WorktreesDir(), id, name)); err != nil {
				return err
			}
		}
	}
	for _, dir := range g.git.HeadDirs() {
		for _, name := range []string{"HEAD", "index", "logs/HEAD", "commondir", "gitdir", "packed-refs", "info/exclude"} {
			if err := check(false, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	refs, _, err := g.git.ReadableRefs("refs/heads/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		log := g.path("logs", filepath.FromSlash(ref.Name))
		if st, err := os.Lstat(log); err == nil && st.IsDir() && len(namesIn(log)) == 0 {
			continue // git leaves such folders
		}
		if err := check(false, log); err != nil {
			return err
		}
	}
	return nil
}

// strangers moves files away that are among the refs and never were any: desktop.ini, copies that programs make which
// synchronize folders. Git neither fetches nor packs while they are there.
func (g *gitMender) strangers(context.Context) error {
	return filepath.WalkDir(g.path("refs"), func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, g.path()+string(filepath.Separator)))
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(name, ".lock") {
			return err // git does not look at these
		}
		if gitstore.CheckRefName(name) == nil {
			_, hasLog := os.Lstat(g.path("logs", filepath.FromSlash(name)))
			_, hasRecord := g.record(name)
			if _, err := g.git.Ref(name); !errors.Is(err, gitstore.ErrDamagedRef) || hasLog == nil || hasRecord {
				return nil
			}
			if raw, err := os.ReadFile(path); err != nil || len(bytes.Trim(raw, "\x00 \n")) == 0 {
				return nil //nolint:nilerr // it may have been one; verify reports it
			}
		}
		g.say("%s is not a ref", path)
		return g.files.Keep(path)
	})
}

// heads writes a HEAD that holds no branch again: the folder of a working tree says whose it is.
func (g *gitMender) heads(ctx context.Context) error {
	for _, dir := range g.git.HeadDirs() {
		at, now, err := g.git.Head(dir)
		if err != nil && !errors.Is(err, gitstore.ErrDamagedHead) && !errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err == nil && (at == "" || !now.IsZero() || g.git.ValuesOfLost(at) > 0) {
			continue
		}
		// It cannot be read, or names a branch that neither exists nor was lost.
		branch := g.branchOfAdmin(dir)
		if branch == "" || branch == at {
			continue
		}
		if _, missing := g.git.Ref(branch); err == nil && missing != nil {
			continue
		}
		head := filepath.Join(dir, "HEAD")
		if _, err := os.Lstat(head); err == nil {
			if err := g.files.Keep(head); err != nil {
				return err
			}
		}
		if err := g.git.SetHead(ctx, dir, branch); err != nil {
			return err
		}
		g.say("%s names %s again, whose files are there", head, short(branch))
	}
	return nil
}

// indexes moves damaged indexes away: the next writer makes them again.
func (g *gitMender) indexes(context.Context) error {
	for _, dir := range g.git.HeadDirs() {
		wt := gitstore.Worktree{GitDir: dir}
		if _, err := gitindex.Read(wt); errors.Is(err, gitindex.ErrUnreadable) {
			if err := g.files.Keep(wt.IndexPath()); err != nil {
				return err
			}
			g.say("git's index %s was damaged, and is made again", wt.IndexPath())
		}
	}
	return nil
}

// branchOfAdmin returns the branch that a git folder of a working tree belongs to, "" if that is not known.
func (g *gitMender) branchOfAdmin(dir string) string {
	if dir == g.git.GitDir() {
		raw, err := os.ReadFile(filepath.Join(g.s.Dir(), layout.TapeFile))
		if err == nil {
			if info, err := layout.DecodeTapeInfo(raw, ""); err == nil {
				return layout.BranchPrefix + layout.TapeSlug(info.Name)
			}
		}
		return layout.BranchPrefix + layout.TapeSlug(g.s.CurrentTape())
	}
	if file, err := gitstore.ReadPath(filepath.Join(dir, "gitdir")); err == nil {
		return g.branchOfTree(filepath.Dir(file))
	}
	for branch := range g.trees() {
		if gitstore.WorktreeID(branch) == filepath.Base(dir) {
			return branch
		}
	}
	return ""
}

// branchOfTree returns the branch whose working tree tape would put in a folder.
func (g *gitMender) branchOfTree(dir string) string {
	rel, err := filepath.Rel(g.s.Dir(), dir)
	if err != nil {
		return ""
	}
	top, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
	switch top {
	case layout.TapesDir:
		return layout.BranchPrefix + rest
	case layout.ForksDir:
		return layout.ForkPrefix + rest
	}
	return ""
}

// trees maps branches to the folders of working trees that have files of theirs, whether git knows them or not.
func (g *gitMender) trees() map[string]string { return trees(g.s) }

// Unknown lists the folders with files of tapes and forks of which git knows no branch.
func Unknown(s *workspace.Store) (dirs []string) {
	for branch, dir := range trees(s) {
		if _, err := s.Git().Ref(branch); errors.Is(err, gitstore.ErrNotFound) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

func trees(s *workspace.Store) map[string]string {
	g := &gitMender{s: s}
	out := map[string]string{}
	tapes := disk.Glob(g.s.Dir(), layout.TapesDir+"/*/"+layout.AnchorsDir)
	forks := disk.Glob(g.s.Dir(), layout.ForksDir+"/*/*/"+layout.AnchorsDir)
	for _, dir := range append(tapes, forks...) {
		dir = filepath.Dir(dir)
		out[g.branchOfTree(dir)] = dir
	}
	return out
}

// mirrors clears what a crash left of refs that mirror remotes: they can be fetched again.
func (g *gitMender) mirrors(ctx context.Context) error {
	removed, err := g.git.RecoverLocks(ctx)
	for _, path := range removed {
		g.say("%s was left by a crash, and is removed", path)
	}
	return err
}

// packed writes packed-refs again if lines are damaged, or it is not as git writes it.
func (g *gitMender) packed(ctx context.Context) error {
	foreign := g.git.CheckPacked() != nil
	lost, err := g.git.MendPacked(ctx, g.files.Keep)
	switch {
	case err != nil:
		return err
	case lost == 1:
		g.say("packed-refs had a damaged line")
	case lost > 1:
		g.say("packed-refs had %d damaged lines", lost)
	case foreign:
		g.say("packed-refs was not as git writes it: it was written again")
	}
	return nil
}

// links connects working trees with git again, whose files are there.
func (g *gitMender) links(ctx context.Context) error {
	for branch, dir := range g.trees() {
		if _, err := g.git.Ref(branch); err != nil {
			continue
		}
		if wt, err := g.git.WorktreeOf(branch); err == nil && wt.Branch == branch {
			continue
		}
		link := filepath.Join(dir, layout.GitDirName)
		if st, err := os.Lstat(link); err == nil && !st.Mode().IsRegular() {
			if _, err := os.Lstat(filepath.Join(link, "HEAD")); err == nil {
				continue // a repository of its own
			}
		}
		if _, err := os.Lstat(link); err == nil {
			if err := g.files.Keep(link); err != nil {
				return err
			}
		}
		admin := filepath.Join(g.git.WorktreesDir(), gitstore.WorktreeID(branch))
		var err error
		if named, _, headErr := g.git.Head(admin); headErr == nil && named == branch {
			err = gitworktree.Relink(g.git, gitstore.Worktree{Dir: dir, GitDir: admin, Branch: branch})
		} else {
			_, err = gitworktree.Add(ctx, g.git, branch, dir)
		}
		if err != nil {
			g.say("%s was not connected with git again: %v", dir, err)
			continue
		}
		g.say("%s is the working tree of %s again", dir, short(branch))
	}
	return nil
}

func short(ref string) string { return strconv.Quote(strings.TrimPrefix(ref, "refs/heads/")) }
