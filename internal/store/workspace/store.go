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
	"sync/atomic"
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
	// LockWait is how long to wait for another writer before ErrBusy; 0 means 30 seconds.
	LockWait time.Duration
	// Warn gets messages about what was found and repaired, each a sentence without a newline. Nil
	// drops them.
	Warn func(message string)
	// Now gives the time of new entries and commits; nil means time.Now.
	Now func() time.Time

	// Attended says that somebody is there to type a passphrase for a signature.
	Attended bool
	// Project is the directory whose workspace is created: its identity counts for the first commit. It may be "".
	Project string

	Fs *disk.FS // nil means the real file system; tests make operations fail
}

const defaultLockWait = 30 * time.Second

// Store is an open workspace: a git repository that holds any number of tapes. Its methods may be called
// from several goroutines, and beside other processes.
type Store struct {
	dir       string
	git       *gitstore.Repo
	fs        *disk.FS
	wait      time.Duration
	warn      func(string)
	now       func() time.Time
	first     bool // see First
	signWait  time.Duration
	unsigned  atomic.Bool  // signing has failed
	otherOnce sync.Once    // see isOther
	memo      memo         // values read from commits
	config    atomic.Value // a Config; not an atomic.Pointer, which is generic: see seen
	markKey   struct {
		sync.Mutex
		key []byte
	}
	seen struct { // no sync.Map: it is generic, and would be compiled again in each package that imports this one
		sync.Mutex
		names   map[string]namedCommit // by branch
		merges  map[gitstore.Hash]bool // see NoteMergeComplete
		leftOut map[string]bool        // branches, see LeftOut
	}
}

// memo caches the last few values that were read from commits, which never change.
type memo struct {
	mu   sync.Mutex
	list [8]struct {
		commit gitstore.Hash
		v      any
	}
	next int // the slot to fill next
}

// Memo returns the value that Keep stored for a commit; nil if it is not cached.
func (s *Store) Memo(h gitstore.Hash) any {
	s.memo.mu.Lock()
	defer s.memo.mu.Unlock()
	for _, x := range s.memo.list {
		if x.v != nil && x.commit == h {
			return x.v
		}
	}
	return nil
}

// Keep caches a value read from a commit, see Memo.
func (s *Store) Keep(h gitstore.Hash, v any) {
	m := &s.memo
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list[m.next].commit, m.list[m.next].v = h, v
	m.next = (m.next + 1) % len(m.list)
}

// Git returns the workspace's repository.
func (s *Store) Git() *gitstore.Repo { return s.git }

// FS returns the file system through which the workspace is written.
func (s *Store) FS() *disk.FS { return s.fs }

// Now returns the time for a new entry or commit.
func (s *Store) Now() time.Time { return s.now() }

// Wait returns how long to wait for another writer.
func (s *Store) Wait() time.Duration { return s.wait }

// newStore returns a store whose repository is not open yet.
func newStore(dir string, o *Options) *Store {
	s := &Store{dir: dir, wait: defaultLockWait, signWait: signWait, warn: func(string) {}, now: time.Now}
	s.seen.names, s.seen.merges, s.seen.leftOut = map[string]namedCommit{}, map[gitstore.Hash]bool{}, map[string]bool{}
	s.config.Store(Config{})
	if o == nil {
		return s
	}
	if s.fs = o.Fs; o.Attended {
		s.signWait = signWaitAlways
	}
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
func (s *Store) Config() Config { return s.config.Load().(Config) }

// configLock is held while settings are changed.
const configLock = "config.lock"

func (s *Store) configPath() string { return s.PrivatePath(layout.ConfigFile) }

// changeConfig reads the settings again, because another process may have changed them, changes them and writes
// them.
func (s *Store) changeConfig(change func(c *Config) error) error {
	unlock, err := s.LockPrivate(context.Background(), configLock)
	if err != nil {
		return err
	}
	c, err := readConfig(s.configPath())
	if err == nil {
		c.Scanner = s.Config().Scanner
		err = change(&c)
	}
	if err == nil {
		err = c.save(s.fs, s.configPath())
	}
	if err == nil {
		s.config.Store(c)
	}
	return errors.Join(err, unlock())
}

// Open opens the workspace in dir. Errors: ErrNotFound.
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
		if err := errors.Join(checkBare(dir), CheckSeparated(dir)); err != nil {
			return nil, err
		}
		return nil, layout.NotFound("", "%s is not a workspace", dir).Try(layout.InitAt, dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, layout.GitDirName, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "%s is not a workspace yet: its creation was cut off", dir).Try(layout.InitAt, dir)
	}
	noteOldWorkspaces()
	s := newStore(dir, o)
	if s.git, err = gitstore.Open(filepath.Join(dir, layout.GitDirName), s.gitOptions()); err != nil {
		return nil, layout.Classify(err)
	}
	s.git.Config().ForProject(s.projectGit)
	c, err := readConfig(s.configPath())
	if err != nil {
		return nil, err
	}
	s.config.Store(c)
	return s, nil
}

// OpenBare opens any repository like a workspace, for reading. The store is not nil even after an error.
func OpenBare(gitDir string) (*Store, error) {
	s := newStore(gitDir, nil)
	s.config.Store(Config{MaxLine: jsonl.DefaultMaxLine, Scanner: secrets.New})
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

// IsWorkspace reports whether a folder is a workspace: tape has used its .git, or git has branches of
// tapes, as in a plain clone. Files in the working tree do not matter.
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

// checkBare returns an error if a folder is a bare or mirror clone of a workspace.
func checkBare(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || filepath.Base(dir) == layout.GitDirName || !gitstore.HasRefs(dir, layout.BranchPrefix) {
		return nil //nolint:nilerr // it is no repository
	}
	beside, cut := strings.CutSuffix(dir, ".git")
	if !cut {
		beside += "-workspace"
	}
	return layout.NotFound("", "%s is a bare repository: it has tapes, and no files to record into", dir).Try(layout.CloneFrom, dir, beside)
}

// CheckSeparated returns an error if git init --separate-git-dir has moved the repository of a workspace out of its folder.
func CheckSeparated(dir string) error {
	file := filepath.Join(dir, layout.GitDirName)
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
		return nil //nolint:nilerr // most folders have no such file
	}
	gitDir, err := gitstore.ReadPath(file)
	if err != nil {
		return nil //nolint:nilerr // it leads nowhere
	}
	if st, err := os.Stat(filepath.Join(gitDir, layout.PrivateDir)); err != nil || !st.IsDir() || filepath.Base(filepath.Dir(gitDir)) == "worktrees" {
		return nil //nolint:nilerr // it is no workspace's, or it belongs to a tape's or fork's working tree
	}
	to, word := layout.ShellWord(file), layout.ShellWord
	return layout.NotFound("move it back: rm "+to+" && mv "+word(gitDir)+" "+to+" && git -C "+word(dir)+" worktree repair",
		"the repository of the workspace %s is elsewhere: in %s", dir, gitDir)
}

// Home returns the folder for the workspaces of all project directories.
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

// WorkspaceFor returns the folder of a project directory's workspace under Home. It is named after the
// directory and a hash of its path.
func WorkspaceFor(project string) (string, error) {
	return workspaceAt(ResolvePath(project))
}

// workspaceAt is WorkspaceFor for a path that is resolved.
func workspaceAt(project string) (string, error) {
	home, err := Home()
	return filepath.Join(home, pathName(project, "")), err
}

// pathName returns a file name for something that belongs to the folder of a path: the folder's name, a
// hash of the path, and a suffix.
func pathName(path, suffix string) string {
	const nameMax = 255 // bytes in a file name, on every common file system
	sum := md5.Sum([]byte(path))
	hash := hex.EncodeToString(sum[:])[:16]
	base := strings.Trim(FolderName(path), `/\:`)
	if base == "" {
		base = "root"
	}
	if most := nameMax - 1 - len(hash) - len(suffix); len(base) > most {
		base = strings.ToValidUTF8(base[:most], "") // without a character that was cut
	}
	return base + "-" + hash + suffix
}

// Find returns the workspace for commands that run in dir: that of dir or the nearest of its parents for which
// [At] finds one. Errors: ErrNotFound.
func Find(dir string) (string, error) {
	start, err := Absolute(dir)
	if err != nil {
		return "", err
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if found := At(folder); found != "" {
			return found, nil
		}
		if err := errors.Join(checkBare(folder), CheckSeparated(folder)); err != nil {
			return "", err
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	return "", layout.NotFound("", "no workspace for %s or a folder above it", start).Try(layout.InitHere)
}

// At returns the workspace for a folder; "" if there is none. That is the folder itself, or, for a linked
// worktree, its main worktree; otherwise the workspace under Home of either, or the one that the user linked either to.
func At(dir string) string {
	if IsWorkspace(dir) {
		return dir
	}
	folders := []string{ResolvePath(dir)}
	if main, ok := mainWorktree(dir); ok {
		if IsWorkspace(main) {
			return main
		}
		folders = append(folders, ResolvePath(main))
	}
	for _, folder := range folders {
		if candidate, err := workspaceAt(folder); err == nil && IsWorkspace(candidate) {
			return candidate
		}
	}
	for _, folder := range folders {
		if linked := linkedTo(folder); linked != "" {
			return linked
		}
	}
	return ""
}

// ProjectRoot returns the root of the project for somebody who works in dir with a workspace: dir or the
// nearest of its parents that the workspace belongs to. If it belongs to none, because it was named explicitly,
// the root is dir.
func ProjectRoot(workspace, dir string) string {
	for folder := dir; ; folder = filepath.Dir(folder) {
		if found := At(folder); found != "" && ResolvePath(found) == ResolvePath(workspace) {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return dir
		}
	}
}

// DefaultTape is the name of the first tape of a workspace.
const DefaultTape = "main"

// Create creates what is missing of a workspace's folder and repository, and reads its settings. dir is absolute.
// A new repository has the branch of tape checked out, which does not exist yet.
func Create(dir, tape string, o *Options) (*Store, error) {
	s := newStore(dir, o)
	err := s.fs.MkdirAll(dir)
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
	s.git.Config().ForProject(s.projectGit)
	if o != nil && o.Project != "" {
		if err := s.NoteProject(o.Project); err != nil {
			return nil, fmt.Errorf("create workspace: %w", layout.Classify(err))
		}
	}
	c, err := readConfig(s.configPath())
	s.config.Store(c)
	return s, err
}

// ChooseTape sets the current tape if none is set. "" stands for the tape that is checked out, for a plain
// clone or an Init that was cut off before its last step.
func (s *Store) ChooseTape(name string) (err error) {
	if s.Config().Tape != "" {
		return nil
	}
	if name == "" {
		if name, err = s.currentByHead(); err != nil {
			return err
		}
	}
	return s.changeConfig(func(c *Config) error {
		if c.Tape == "" {
			s.first, c.Tape = true, name
		}
		return nil
	})
}

// First reports whether ChooseTape set the first current tape of the workspace.
func (s *Store) First() bool { return s.first }

// currentByHead returns the name of the tape that the main working tree has checked out; DefaultTape if it has
// something else.
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
