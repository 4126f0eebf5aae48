package githooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// hookPerm is the mode of a script: for its owner only, like all files of a workspace. In a shared
// repository, disk widens it for the group.
const hookPerm fs.FileMode = 0o700

// Report describes a repository's hooks after a call.
type Report struct {
	Dir       string   // the folder in which git looks for hooks; "" if git is told to run no hooks
	Installed []string // names of the hooks that are in place
	Changed   []string // names of the hooks that this call wrote or removed
	// Own are the file names, in Dir, of the user's own hooks, which ours call first.
	Own []string
	// Outside says that core.hooksPath names a folder outside git's own, such as .husky, or none.
	// Nothing is written there; the folder's owner can add Lines to the hooks in it.
	Outside bool
	Lines   []Line
}

// Line is a line of shell to add to a hook.
type Line struct{ Hook, Line string }

// Install writes the hooks of a workspace, which its linked worktrees share. Our hooks that are up to date, and
// hooks of others that call ours, stay as they are.
func Install(ctx context.Context, store *repo.Store) (Report, error) {
	return inWorkspace(ctx, store, (*installer).install)
}

// Uninstall removes what Install wrote; the user's own hooks get their names back.
func Uninstall(ctx context.Context, store *repo.Store) (Report, error) {
	return inWorkspace(ctx, store, (*installer).uninstall)
}

// InstallServer writes the pre-receive hook into a repository that others push to. dir is a bare
// repository, or a folder with .git in it.
func InstallServer(ctx context.Context, dir string) (Report, error) {
	return onServer(ctx, dir, (*installer).install)
}

// UninstallServer removes what InstallServer wrote.
func UninstallServer(ctx context.Context, dir string) (Report, error) {
	return onServer(ctx, dir, (*installer).uninstall)
}

type installer struct {
	fs      *disk.FS
	dir     string
	outside bool
	usual   string // the folder in which git looks for hooks if core.hooksPath is not set
	hooks   []hook
}

// action installs or uninstalls.
type action func(*installer, context.Context) (Report, error)

func inWorkspace(ctx context.Context, store *repo.Store, do action) (Report, error) {
	i, err := newInstaller(filepath.Join(store.Dir(), layout.GitDirName), workspaceHooks())
	if err != nil {
		return Report{}, err
	}
	return do(i, ctx)
}

func onServer(ctx context.Context, dir string, do action) (Report, error) {
	gitDir := dir
	if below := filepath.Join(dir, layout.GitDirName); exists(below) {
		gitDir = below
	}
	i, err := newInstaller(gitDir, serverHooks())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is not a git repository: %w", dir, repo.ErrNotFound)
	}
	if err != nil {
		return Report{}, err
	}
	return do(i, ctx)
}

func newInstaller(gitDir string, hooks []hook) (*installer, error) {
	g, err := workspace.OpenGit(gitDir)
	if err != nil {
		return nil, err
	}
	dir, own := g.HooksDir()
	return &installer{fs: disk.WithPermissionsOf(filepath.Join(g.GitDir(), "objects")), dir: dir, outside: !own, usual: filepath.Join(g.GitDir(), "hooks"), hooks: hooks}, nil
}

// report describes the hooks after an action, which changed some of them or failed with err.
func (i *installer) report(changed []string, failed error) (Report, error) {
	r := Report{Dir: i.dir, Outside: i.outside, Changed: changed}
	for _, h := range i.hooks {
		if i.outside {
			r.Lines = append(r.Lines, Line{h.name, h.line()})
			continue
		}
		_, ours, own, err := i.read(h.name)
		if err == nil && !ours {
			ours, err = i.chained(h.name)
		}
		if err != nil {
			return r, errors.Join(failed, err)
		}
		if !ours {
			continue
		}
		r.Installed = append(r.Installed, h.name)
		if own != "" {
			r.Own = append(r.Own, own)
		}
	}
	return r, failed
}

// read returns a hook's content, whether we wrote it, and the name of the user's own hook that it calls,
// or "". A missing hook has no content.
func (i *installer) read(name string) (content []byte, ours bool, own string, err error) {
	content, err = os.ReadFile(filepath.Join(i.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, "", nil
	}
	if ours = isOurs(content); ours {
		own = ownOf(content)
	}
	if !isOwnName(name, own) || !exists(filepath.Join(i.dir, own)) {
		own = ""
	}
	return content, ours, own, err
}

// chained reports whether another program's hook calls ours: a hook manager that was installed later
// has renamed our script, as we rename the user's hook.
func (i *installer) chained(name string) (bool, error) {
	others, err := os.ReadDir(i.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, other := range others {
		if !strings.HasPrefix(other.Name(), name+".") || other.IsDir() {
			continue
		}
		if _, ours, _, err := i.read(other.Name()); err == nil && ours {
			return true, nil
		}
	}
	return false, nil
}

func (i *installer) install(ctx context.Context) (Report, error) {
	if i.outside {
		return i.report(nil, ctx.Err())
	}
	if err := i.fs.MkdirAll(i.dir); err != nil {
		return Report{}, fmt.Errorf("install hooks: %w", err)
	}
	return i.report(i.each(ctx, "install", i.installOne))
}

// each calls do for all hooks, and returns the names of those that it changed.
func (i *installer) each(ctx context.Context, verb string, do func(hook) (bool, error)) (changed []string, err error) {
	for _, h := range i.hooks {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		hookChanged, err := do(h)
		if err != nil {
			return changed, fmt.Errorf("%s the hook %s: %w", verb, h.name, err)
		}
		if hookChanged {
			changed = append(changed, h.name)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	return changed, i.fs.SyncDir(i.dir)
}

func (i *installer) installOne(h hook) (wrote bool, err error) {
	path := filepath.Join(i.dir, h.name)
	present, ours, own, err := i.read(h.name)
	if err != nil {
		return false, err
	}
	if !ours && exists(path) {
		if chained, err := i.chained(h.name); err != nil || chained {
			return false, err
		}
		// Until our script replaces it, the user's hook has both names.
		if own, err = i.keep(h.name); err != nil {
			return false, err
		}
	}
	want := h.script(own)
	if st, err := os.Stat(path); ours && err == nil && bytes.Equal(present, want) && st.Mode().Perm()&0o100 != 0 {
		return false, nil
	}
	return true, i.fs.WriteFileMode(path, want, hookPerm)
}

// keep gives the user's own hook a second name, and returns it.
func (i *installer) keep(name string) (string, error) {
	path := filepath.Join(i.dir, name)
	for n := 1; ; n++ {
		own := name + ".own"
		if n > 1 {
			own += "-" + strconv.Itoa(n)
		}
		kept := filepath.Join(i.dir, own)
		if !exists(kept) {
			return own, i.copyHook(path, kept)
		}
		if sameHook(path, kept) {
			return own, nil // left by a call that was interrupted
		}
	}
}

// isOwnName reports whether keep could have chosen a name. Another name might lead out of the folder.
func isOwnName(name, own string) bool {
	rest, ok := strings.CutPrefix(own, name+".own")
	return ok && strings.Trim(rest, "-0123456789") == ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// content returns a hook's mode and its content: a file's bytes, or a link's target.
func content(path string) (mode fs.FileMode, in []byte, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, nil, err
	}
	switch mode = st.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return mode, []byte(target), err
	case !mode.IsRegular():
		return mode, nil, fmt.Errorf("%s is neither a file nor a link to one", path)
	}
	in, err = os.ReadFile(path)
	return mode, in, err
}

// sameHook reports whether two hooks have the same mode and content.
func sameHook(a, b string) bool {
	modeA, inA, errA := content(a)
	modeB, inB, errB := content(b)
	return errA == nil && errB == nil && modeA == modeB && bytes.Equal(inA, inB)
}

// copyHook gives a hook a second name, by a hard link if the file system supports hard links.
func (i *installer) copyHook(path, name string) error {
	mode, in, err := content(path)
	switch {
	case err != nil:
		return err
	case mode&fs.ModeSymlink != 0:
		return os.Symlink(string(in), name)
	case os.Link(path, name) == nil:
		return nil
	}
	return i.fs.WriteFileMode(name, in, mode.Perm())
}

// uninstall removes our hooks from the usual folder, too: they would run again if core.hooksPath
// were removed later.
func (i *installer) uninstall(ctx context.Context) (Report, error) {
	var changed, more []string
	var err error
	if i.dir != i.usual {
		j := *i
		j.dir = i.usual
		changed, err = j.each(ctx, "remove", j.removeOne)
	}
	if !i.outside && err == nil {
		more, err = i.each(ctx, "remove", i.removeOne)
	}
	return i.report(append(changed, more...), err)
}

// removeOne removes our hook, and gives the user's own its name back.
func (i *installer) removeOne(h hook) (bool, error) {
	_, ours, own, err := i.read(h.name)
	if err != nil || !ours {
		return false, err
	}
	path := filepath.Join(i.dir, h.name)
	if own != "" {
		return true, i.fs.Rename(filepath.Join(i.dir, own), path)
	}
	return true, i.fs.Remove(path)
}
