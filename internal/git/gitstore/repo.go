// Package gitstore is, with the packages below it, the program's only access to git: objects, refs, tags
// and worktrees. It knows nothing of tapes.
//
// Everything that must survive a crash is written here: objects are synced before a ref names them ([Batch]),
// and one ref writer ([Repo.UpdateRef]) follows git's lock-file protocol, so that it works beside a
// running git.
package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitconfig"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitobject"
)

// Errors that callers distinguish.
var (
	// ErrConflict says that a ref no longer has the value that was read.
	ErrConflict = errors.New("changed by someone else")
	// ErrBusy says that a lock was not free in time.
	ErrBusy = gitlock.ErrBusy
	// ErrDamagedRef says that the content of a ref's file is not a ref.
	ErrDamagedRef = errors.New("damaged ref file")
	// ErrDamagedHead accompanies ErrDamagedRef for HEAD; git then does not see a repository.
	ErrDamagedHead = errors.New("HEAD")
)

// UnsupportedError says that a repository uses a feature of git that tape cannot work with, and what to
// do about it.
type UnsupportedError struct {
	Dir  string // the repository
	What string
	Hint string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.What) }

// Wrap adds to an error what was being done; nil stays nil.
func Wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), err)
}

// DefaultLockWait is how long to wait for a lock that somebody else holds.
const DefaultLockWait = 10 * time.Second

// Options change how a repository is used; nil means the defaults.
type Options struct {
	FS       *disk.FS      // nil: the operating system
	LockWait time.Duration // 0: DefaultLockWait
	// Own reports whether a .git folder is the user's own, so that all of its settings and hooks
	// count. Nil: no folder is.
	Own func(gitDir string) bool
	// OnIgnored gets the names of ignored settings of a folder that is not the user's own.
	OnIgnored func(gitDir string, names []string)
	// OnWait gets a sentence about what a git command waits for, after some seconds.
	OnWait func(said string)
}

// Repo is one git repository. Its methods may be called from several goroutines.
type Repo struct {
	gitDir string // the common .git folder, absolute
	fs     *disk.FS
	locks  gitlock.Locks
	bare   bool     // the configuration may say that it is bare
	extra  []string // more object folders, see [OpenBare]

	mu        sync.Mutex // guards odb and worktrees
	odb       *gitobject.DB
	worktrees *worktreeList

	own       func(gitDir string) bool
	onIgnored func(gitDir string, names []string)
	onWait    func(said string)

	config *gitconfig.Config
	cache  gitobject.Cache // see KeepObjects
}

// GitDir returns the repository's common .git folder.
func (r *Repo) GitDir() string { return r.gitDir }

func newRepo(gitDir string, o *Options) *Repo {
	r := &Repo{gitDir: gitDir, locks: gitlock.Locks{Wait: DefaultLockWait}}
	if o != nil {
		r.fs, r.locks.FS, r.own, r.onIgnored, r.onWait = o.FS, o.FS, o.Own, o.OnIgnored, o.OnWait
		if o.LockWait > 0 {
			r.locks.Wait = o.LockWait
		}
	}
	r.locks.Check, r.locks.Dirs = r.checkFolders, r.Dirs
	r.config = gitconfig.New(gitDir, r.locks, r.own, r.ReportIgnored)
	return r
}

// FS returns the file system through which the repository is written.
func (r *Repo) FS() *disk.FS { return r.fs }

// Locks returns the settings with which locks in the repository are taken.
func (r *Repo) Locks() gitlock.Locks { return r.locks }

// ReportIgnored reports ignored settings and hooks of the repository to Options.OnIgnored.
func (r *Repo) ReportIgnored(names []string) {
	if r.onIgnored != nil && len(names) > 0 {
		r.onIgnored(r.gitDir, names)
	}
}

// ReportWait passes on what a git command waits for, see Options.OnWait.
func (r *Repo) ReportWait(said string) {
	if r.onWait != nil {
		r.onWait(said)
	}
}

// Owns reports whether another git folder is the user's own.
func (r *Repo) Owns(gitDir string) bool { return r.own != nil && r.own(gitDir) }

// SharedOptions returns Own, OnIgnored and OnWait, for another repository of the same user.
func (r *Repo) SharedOptions() *Options {
	return &Options{Own: r.own, OnIgnored: r.onIgnored, OnWait: r.onWait}
}

// Config returns the repository's configuration.
func (r *Repo) Config() *gitconfig.Config { return r.config }

// Identity returns the author and the committer of a commit made at now; see [gitconfig.Config.Identity].
func (r *Repo) Identity(now time.Time) (author, committer Signature, err error) {
	return r.config.Identity(now)
}

// Committer returns who stands in reflogs, see [gitconfig.Config.Committer].
func (r *Repo) Committer(now time.Time) Signature { return r.config.Committer(now) }

// Open opens the repository whose .git folder is gitDir. Errors: an *UnsupportedError; fs.ErrNotExist if there
// is no HEAD.
func Open(gitDir string, o *Options) (*Repo, error) {
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err != nil {
		return nil, fmt.Errorf("open repository %s: %w", gitDir, err)
	}
	r := newRepo(gitDir, o)
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	return r, nil
}

// checkLinks refuses somebody else's .git folder if its configuration, or a folder that we write to, is a symbolic
// link: the writes would go elsewhere. Deeper folders are checked before each write, and before git is run; see
// checkFolders and CheckTree.
func (r *Repo) checkLinks() error {
	for _, name := range []string{
		"config", gitlock.OwnDir, "objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/tags", "logs", "info", "worktrees",
		gitlock.OwnDir + "/tmp", gitlock.OwnDir + "/locks", gitlock.OwnDir + "/seals", gitlock.OwnDir + "/torn", gitlock.OwnDir + "/turns",
		gitlock.OwnDir + "/messages", gitlock.OwnDir + "/bookmarks", gitlock.OwnDir + "/host",
	} {
		if err := r.checkLink(filepath.Join(r.gitDir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// checkFolders checks that none of the folders between the git folder and a file in it is a link.
func (r *Repo) checkFolders(file string) error {
	for dir := filepath.Dir(file); len(dir) > len(r.gitDir); dir = filepath.Dir(dir) {
		if err := r.checkLink(dir); err != nil {
			return err
		}
	}
	return nil
}

// CheckTree looks for links wherever git writes: in the folders of refs, logs, worktrees and objects, and
// among the files beside them. It ignores links of hooks: git does not write hooks.
func (r *Repo) CheckTree() error {
	for _, name := range []string{"refs", "logs", "worktrees"} {
		err := filepath.WalkDir(filepath.Join(r.gitDir, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&os.ModeSymlink == 0 {
				return nil //nolint:nilerr // git will say what it cannot read
			}
			return r.checkLink(path)
		})
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"", "info", "objects", "objects/info", "objects/pack"} {
		dir := filepath.Join(r.gitDir, filepath.FromSlash(name))
		entries, _ := os.ReadDir(dir) // git will say what it cannot read
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 || name == "" && e.Name() == "hooks" {
				continue
			}
			if err := r.checkLink(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Repo) checkLink(path string) error {
	if st, err := os.Lstat(path); err != nil || st.Mode()&os.ModeSymlink == 0 || r.config.Own() {
		return nil //nolint:nilerr // a missing file is not a link
	}
	name, _ := filepath.Rel(r.gitDir, path)
	return &UnsupportedError{Dir: r.gitDir, What: name + " in it is a link to elsewhere, and the repository did not come from your own tape",
		Hint: "if it is yours: " + TrustCommand(r.gitDir)}
}

// TrustCommand returns the command by which a user declares a repository their own.
func TrustCommand(gitDir string) string {
	return "tape workspaces trust " + quoteDir(gitDir)
}

// InitOptions says how a new repository is set up.
type InitOptions struct {
	Options
	Branch  string   // the full ref that HEAD names
	Exclude []string // patterns for .git/info/exclude
}

// Init creates the repository whose .git folder is gitDir, or completes an interrupted Init. HEAD is
// written last: without it there is no repository.
func Init(gitDir string, o InitOptions) (*Repo, error) {
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, err
	}
	r := newRepo(gitDir, &o.Options)
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err == nil {
		if err := r.checkFormat(); err != nil {
			return nil, err // before anything is written
		}
	}
	// Our own folder first: it marks what an interrupted Init left as ours.
	for _, dir := range []string{"", gitlock.OwnDir, "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info", "logs"} {
		if err := r.fs.MkdirAll(filepath.Join(gitDir, filepath.FromSlash(dir))); err != nil {
			return nil, fmt.Errorf("create repository: %w", err)
		}
	}
	var exclude bytes.Buffer
	for _, pattern := range o.Exclude {
		exclude.WriteString(pattern + "\n")
	}
	files := []struct{ name, content string }{
		{"config", gitconfig.Initial()},
		{"description", "Recorded agent sessions. Read them with git, or with tape.\n"},
		{"info/exclude", exclude.String()},
		{"info/attributes", gitconfig.Bytes},
		{"HEAD", "ref: " + o.Branch + "\n"},
	}
	for _, f := range files {
		path := filepath.Join(gitDir, filepath.FromSlash(f.name))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := r.fs.WriteFile(path, []byte(f.content)); err != nil {
			return nil, fmt.Errorf("create repository: %w", err)
		}
	}
	return r, r.checkFormat()
}
