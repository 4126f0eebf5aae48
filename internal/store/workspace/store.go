package workspace

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"time"
)

// Environment variables that the package reads.
const (
	EnvHome      = "TAPE_HOME"      // where workspaces live; default ~/.tape
	EnvWorkspace = "TAPE_WORKSPACE" // the workspace to use
)

const indexFile = "index.db"

// Options change how a workspace is used. Nil means the defaults.
type Options struct {
	// LockWait bounds the waiting for another writer; 0 means 30 seconds. When it is
	// over, the call fails with ErrBusy.
	LockWait time.Duration
	// Warn is told what was found and put right on the way, a sentence at a time,
	// without a newline. Nil drops it.
	Warn func(message string)
	// Now gives the time of new entries and commits; nil means time.Now.
	Now func() time.Time

	Fs *disk.FS // tests make operations fail
}

const defaultLockWait = 30 * time.Second

// Store is an open workspace: a git repository that holds any number of tapes. Its
// methods may be called from several goroutines, and beside other processes.
type Store struct {
	dir       string
	git       *gitstore.Repo
	fs        *disk.FS
	wait      time.Duration
	warn      func(string)
	now       func() time.Time
	config    Config
	first     bool      // see First
	otherOnce sync.Once // see isOther
	moved     []string  // see Moved
	memo      memo      // what was read of commits
	markKey   struct {
		sync.Mutex
		key []byte
	}
	names   sync.Map // namedCommit of tapes that were listed, by branch
	Settled sync.Map // commits that git has made by a merge, and that count as they are
}

// memo keeps the last few things that were read of commits, which never change.
type memo struct {
	mu   sync.Mutex
	list [8]struct {
		of gitstore.Hash
		v  any
	}
	next int
}

// Memo is what was read of a commit last, nil if that is not kept; Keep keeps it.
func (s *Store) Memo(h gitstore.Hash) any {
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	for _, x := range s.memo.list {
		if x.v != nil && x.of == h {
			return x.v
		}
	}
	return nil
}

// Keep is the counterpart of Memo.
func (s *Store) Keep(h gitstore.Hash, v any) {
	m := &s.memo
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list[m.next].of, m.list[m.next].v = h, v
	m.next = (m.next + 1) % len(m.list)
}

// Git is the workspace's repository.
func (s *Store) Git() *gitstore.Repo { return s.git }

// FS is the way to the disk.
func (s *Store) FS() *disk.FS { return s.fs }

// Now is the time of a new entry or commit.
func (s *Store) Now() time.Time { return s.now() }

// Wait bounds the waiting for another writer.
func (s *Store) Wait() time.Duration { return s.wait }

// NewStore is a store whose repository is not open yet.
func newStore(dir string, o *Options) *Store {
	s := &Store{dir: dir, wait: defaultLockWait, warn: func(string) {}, now: time.Now}
	if o == nil {
		return s
	}
	s.fs = o.Fs
	if o.LockWait > 0 {
		s.wait = o.LockWait
	}
	if o.Warn != nil {
		s.warn = o.Warn
	}
	if o.Now != nil {
		s.now = o.Now
	}
	return s
}

// Dir is the workspace's folder, absolute.
func (s *Store) Dir() string { return s.dir }

// Config returns the workspace's settings.
func (s *Store) Config() Config { return s.config }

// configLock is held while settings are changed.
const configLock = "config.lock"

func (s *Store) configPath() string { return s.PrivatePath(layout.ConfigFile) }

// changeConfig changes the settings as they are now: another process may have changed some
// since they were read here.
func (s *Store) changeConfig(change func(c *Config) error) error {
	unlock, err := s.LockPrivate(context.Background(), configLock)
	if err != nil {
		return err
	}
	c, err := s.settle(true)
	if err == nil {
		c.Scanner = s.config.Scanner
		err = change(&c)
	}
	if err == nil {
		err = c.save(s.fs, s.configPath())
	}
	if err == nil {
		s.config = c
	}
	return errors.Join(err, unlock())
}

// Open opens the workspace in dir. It returns ErrNotFound when there is none.
func Open(ctx context.Context, dir string, o *Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, layout.GitDirName)); errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("open workspace: %w", layout.Classify(err))
	}
	if !IsWorkspace(dir) {
		return nil, layout.NotFound("", "%s is not a workspace", dir).Try(layout.InitAt, dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, layout.GitDirName, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "%s is no workspace yet: its creation was cut off", dir).Try(layout.InitAt, dir)
	}
	noteFormer()
	s := newStore(dir, o)
	if s.git, err = gitstore.Open(filepath.Join(dir, layout.GitDirName), s.gitOptions()); err != nil {
		return nil, layout.Classify(err)
	}
	if s.config, err = s.loadConfig(ctx, false); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenBare opens any repository as if it were a workspace, to look at what it holds. There
// is a store beside an error, too.
func OpenBare(gitDir string) (*Store, error) {
	s := newStore(gitDir, nil)
	s.config.MaxLine, s.config.Scanner = jsonl.DefaultMaxLine, secrets.New
	var err error
	s.git, err = gitstore.OpenBare(gitDir, s.gitOptions())
	return s, err
}

func checkFolder(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return layout.NotFound("", "there is no workspace %s", dir).Try(layout.InitAt, dir)
	case err != nil:
		return fmt.Errorf("open workspace: %w", layout.Classify(err))
	case !st.IsDir():
		return layout.Invalid("name a folder", "%s is a file, not a workspace folder", dir)
	}
	return nil
}

// IsWorkspace tells a workspace from any other folder: tape has been in its .git, or git has
// branches of tapes, as in a plain clone. What stands in the working tree says nothing.
func IsWorkspace(dir string) bool {
	gitDir := filepath.Join(dir, layout.GitDirName)
	if st, err := os.Stat(gitDir); err != nil || !st.IsDir() {
		return false
	}
	if st, err := os.Stat(filepath.Join(gitDir, layout.PrivateDir)); err == nil && st.IsDir() {
		return true
	}
	return gitstore.HasRefs(gitDir, layout.BranchPrefix)
}

// Home is the folder that holds the workspaces of all project directories.
func Home() (string, error) {
	if dir := os.Getenv(EnvHome); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", layout.Invalid("set TAPE_HOME to a folder for your workspaces", "there is no home directory: %v", err)
	}
	return filepath.Join(home, ".tape"), nil
}

// WorkspaceFor returns the folder of the workspace that belongs to a project
// directory: under Home, named after the directory and a hash of its path.
func WorkspaceFor(project string) (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, nameOf(resolved(project), "")), nil
}

// nameOf is the name, with a suffix, of what belongs to a folder that is named by its path.
func nameOf(resolved, suffix string) string {
	const nameMax = 255 // bytes in a file name, on every common file system
	sum := md5.Sum([]byte(resolved))
	hash := hex.EncodeToString(sum[:])[:16]
	base := strings.Trim(filepath.Base(resolved), `/\:`)
	if base == "" {
		base = "root"
	}
	return base[:min(len(base), nameMax-1-len(hash)-len(suffix))] + "-" + hash + suffix
}

// Find returns the workspace that commands run in dir mean: dir or the nearest of its
// parents that is a workspace or has one under Home. ErrNotFound if there is none.
func Find(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if found := workspaceAt(at); found != "" {
			return found, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return "", layout.NotFound("", "no workspace for %s or a folder above it", start).Try(layout.InitHere)
}

// workspaceAt is the workspace that a folder is, has under Home, or is a worktree of; "" if none.
func workspaceAt(dir string) string {
	if IsWorkspace(dir) {
		return dir
	}
	if of, ok := workspaceOfWorktree(dir); ok {
		return of
	}
	if candidate, err := WorkspaceFor(dir); err == nil && IsWorkspace(candidate) {
		return candidate
	}
	return ""
}

// ProjectRoot is the root of the project in which somebody works who is in dir and uses a
// workspace: the folder that it belongs to, which is the workspace itself where it was made in a
// folder of its own. Outside of both, as with a workspace that is named, it is dir.
func ProjectRoot(workspace, dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if found := workspaceAt(at); found != "" && resolved(found) == resolved(workspace) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// workspaceOfWorktree finds the workspace of a linked worktree, wherever that is. It has to know of
// the worktree: a folder from somebody else could name any workspace, and use its settings.
func workspaceOfWorktree(dir string) (string, bool) {
	file := filepath.Join(dir, layout.GitDirName)
	admin, err := gitstore.ReadPath(file)
	if err != nil || filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", false
	}
	workspace := filepath.Dir(filepath.Dir(filepath.Dir(admin)))
	back, err := gitstore.ReadPath(filepath.Join(admin, "gitdir"))
	if err != nil || !gitstore.SameFile(back, file) && !gitstore.IsInside(dir, workspace) {
		return "", false
	}
	return workspace, IsWorkspace(workspace)
}

// PrivatePath is a path in the part of .git that belongs to this program.
func (s *Store) PrivatePath(elem ...string) string {
	return filepath.Join(append([]string{s.git.GitDir(), layout.PrivateDir}, elem...)...)
}

// DefaultTape is the name of the first tape of a workspace.
const DefaultTape = "main"

// Create makes the folder, repository and settings of a workspace that are not there yet.
func Create(dir, tape string, o *Options) (*Store, error) {
	s := newStore(dir, o)
	_, err := os.Stat(filepath.Join(dir, layout.GitDirName, layout.PrivateDir))
	isNew := err != nil
	err = s.fs.MkdirAll(dir)
	if err != nil {
		return nil, fmt.Errorf("create workspace: %w", layout.Classify(err))
	}
	if err := s.makeOwn(); err != nil {
		return nil, fmt.Errorf("create workspace: %w", layout.Classify(err))
	}
	s.git, err = gitstore.Init(filepath.Join(s.dir, layout.GitDirName), gitstore.InitOptions{
		Options: *s.gitOptions(),
		Branch:  layout.BranchPrefix + layout.TapeSlug(tape),
		Exclude: excluded(),
	})
	if err != nil {
		return nil, layout.Classify(err)
	}
	s.config, err = s.loadConfig(context.Background(), isNew)
	return s, err
}

// ChooseTape makes a tape the current one where none is; "" stands for the one that is
// checked out: this is a plain clone, or an Init that was cut off before its last step.
func (s *Store) ChooseTape(name string) (err error) {
	if s.config.Tape != "" {
		return nil
	}
	if name == "" {
		if name, err = s.currentByHead(); err != nil {
			return err
		}
	}
	s.first = true
	s.config.Tape = name
	return s.config.save(s.fs, s.configPath())
}

// First reports whether ChooseTape chose the first current tape that the workspace has had.
func (s *Store) First() bool { return s.first }

// currentByHead names the tape that the main working tree has checked out.
func (s *Store) currentByHead() (string, error) {
	branch, _, err := s.git.Head(s.git.GitDir())
	if err != nil {
		return "", layout.Classify(err)
	}
	if strings.HasPrefix(branch, layout.BranchPrefix) {
		return s.nameOfBranch(branch)
	}
	return DefaultTape, nil
}
