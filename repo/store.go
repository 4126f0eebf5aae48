package repo

import (
	"context"

	"tape/internal/store/audit"
	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/remotes"
	"tape/internal/store/repair"
	"tape/internal/store/upkeep"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Environment variables that name workspaces.
const (
	EnvHome      = workspace.EnvHome      // where workspaces live; default ~/.tape
	EnvWorkspace = workspace.EnvWorkspace // the workspace to use
)

// DefaultTape is the name of the first tape of a workspace.
const DefaultTape = workspace.DefaultTape

// Store is an open workspace: a git repository that contains any number of tapes. Its methods may be
// called from several goroutines, while other processes use the workspace.
type Store workspace.Store

type (
	// Options say how a workspace is used. Nil means the defaults.
	Options = workspace.Options
	// InitOptions say how a workspace is created. Nil means the defaults.
	InitOptions = writer.InitOptions
	// Report is what Verify found.
	Report = audit.Report
	// GCOptions say what GC removes. Nil means the defaults.
	GCOptions = upkeep.GCOptions
	// GCReport is what GC did.
	GCReport = upkeep.GCReport
	// Revision is a tape as it was or is at one moment, for comparing.
	Revision = query.Revision
)

func (s *Store) in() *workspace.Store { return (*workspace.Store)(s) }

// Init creates the workspace in dir, with its first tape, and reports whether it did. A workspace that
// exists is opened, and an interrupted Init is completed.
func Init(ctx context.Context, dir string, o *InitOptions) (*Store, bool, error) {
	s, created, err := writer.Init(ctx, dir, o)
	return (*Store)(s), created, err
}

// Open opens the workspace in dir. ErrNotFound if there is none.
func Open(ctx context.Context, dir string, o *Options) (*Store, error) {
	s, err := workspace.Open(ctx, dir, o)
	return (*Store)(s), err
}

// Find returns the workspace for a directory: dir or its nearest parent that is a workspace, or has one
// under $TAPE_HOME. A linked worktree has that of its main worktree. ErrNotFound if there is none.
func Find(dir string) (string, error) { return workspace.Find(dir) }

// WorkspaceFor returns the path of the workspace for a project's directory, which may not exist yet.
func WorkspaceFor(project string) (string, error) { return workspace.WorkspaceFor(project) }

// ConfigKeys are the names of the settings of a workspace.
func ConfigKeys() []string { return workspace.ConfigKeys() }

// Dir is the workspace's folder, absolute.
func (s *Store) Dir() string { return s.in().Dir() }

// Setting is the value of a setting. ErrInvalid for an unknown name.
func (s *Store) Setting(key string) (string, error) { return s.in().Setting(key) }

// SetSetting changes a setting. ErrInvalid for an unknown name or a bad value.
func (s *Store) SetSetting(key, value string) error { return s.in().SetSetting(key, value) }

// CurrentTape is the name of the tape that commands use by default.
func (s *Store) CurrentTape() string { return s.in().CurrentTape() }

// PreviousTape is the name of the tape that was current before, "" if there is none.
func (s *Store) PreviousTape() string { return s.in().PreviousTape() }

// PrivatePath is a path in this program's own folder in .git.
func (s *Store) PrivatePath(elem ...string) string { return s.in().PrivatePath(elem...) }

// UsersPath is PrivatePath for files that are acted upon when they are read. If the workspace came from
// somebody else, it is a path in the user's own folder.
func (s *Store) UsersPath(elem ...string) string { return s.in().UsersPath(elem...) }

// MarkKey is the key of this workspace for the marks that replace secrets. It is made when it is first
// needed, and clones do not get it.
func (s *Store) MarkKey() ([]byte, error) { return s.in().MarkKey() }

// IndexFile is the path of the workspace's derived index.
func (s *Store) IndexFile() string { return s.in().IndexFile() }

// Tape returns the tape or fork (PARENT/FORK) of a name; "" means the current one. ErrNotFound if there
// is none.
func (s *Store) Tape(ctx context.Context, name string) (*Tape, error) {
	t, err := s.in().Tape(ctx, name)
	return (*Tape)(t), err
}

// ByBranch returns the tape or fork of a git branch; refs/heads/ may be left out. ErrNotFound if the branch
// is not one.
func (s *Store) ByBranch(ctx context.Context, branch string) (*Tape, error) {
	t, err := s.in().ByBranch(ctx, branch)
	return (*Tape)(t), err
}

// Tapes returns the workspace's tapes without forks, sorted by branch.
func (s *Store) Tapes(ctx context.Context) ([]*Tape, error) { return outside(s.in().Tapes(ctx)) }

// Forks returns all open forks of the workspace.
func (s *Store) Forks(ctx context.Context) ([]*Tape, error) { return outside(s.in().Forks(ctx)) }

// CreateTape creates an empty tape, with the anchor session/start. ErrConflict if the name is used already.
func (s *Store) CreateTape(ctx context.Context, name string) (*Tape, error) {
	t, err := writer.CreateTape(ctx, s.in(), name)
	return (*Tape)(t), err
}

// Removed returns the handle of a removed tape that has an archive, for Archives and Restore. ErrNotFound
// if there is none.
func (s *Store) Removed(ctx context.Context, name string) (*Tape, error) {
	t := (*Tape)(s.in().Handle(name))
	list, err := t.Archives(ctx)
	if err == nil && len(list) == 0 {
		err = layout.NotFound("", "there is no tape %q", name).Try(layout.ListTapes, name)
	}
	return t, err
}

// Switch makes a tape the current one, and gives it a working tree if it has none. Files of other tapes
// do not move.
func (s *Store) Switch(ctx context.Context, name string) (*Tape, error) {
	t, err := s.in().Tape(ctx, name)
	if err != nil {
		return nil, err
	}
	if t.WorkTree() == "" {
		err = join.WithMergesCompleted(ctx, func() error { return writer.Write(ctx, t, func(*writer.Writer) error { return nil }) })
	}
	if err == nil {
		t, err = s.in().Switch(ctx, name)
	}
	return (*Tape)(t), err
}

// ForksOfClosed returns the forks that were merged into a fork that is itself closed.
func (s *Store) ForksOfClosed(ctx context.Context, closed ForkInfo) ([]ForkInfo, error) {
	return forks.ForksOfClosed(ctx, s.in(), closed)
}

// Revision is a tape as it is, or as it was at an anchor, entry (@17), tag or commit. The target may also
// name another tape.
func (s *Store) Revision(ctx context.Context, tape *Tape, target string) (*Revision, error) {
	return withMergesCompleted(ctx, func() (*Revision, error) { return query.RevisionOf(ctx, s.in(), tape.in(), target) })
}

// Verify checks every promise of the format, and runs git fsck if git is installed. It changes nothing, but puts back
// line ends that git has changed. Problems are in the report; an error says that the check could not be made.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	if err := repair.Unconvert(ctx, s.in()); err != nil {
		return nil, err
	}
	return audit.Verify(ctx, s.in())
}

// Damage finds damage in the working trees of all tapes and forks, and changes nothing but what [Store.Verify] does.
func (s *Store) Damage(ctx context.Context) ([]*repair.Damage, error) {
	if err := repair.Unconvert(ctx, s.in()); err != nil {
		return nil, err
	}
	return repair.All(ctx, s.in())
}

// Repair sets damaged files of working trees aside, and writes them again from git and the complete lines.
// An event repair.lost takes the place of each lost entry, with its id. Repair also completes what an
// interrupted command has left.
func (s *Store) Repair(ctx context.Context) ([]repair.Mended, error) {
	if err := repair.Unconvert(ctx, s.in()); err != nil {
		return nil, err
	}
	return repair.Repair(ctx, s.in())
}

// RepairGit mends what is damaged in git, with the help of a remote if nothing here has what is missing. It returns what it
// did, a sentence each. Call it before Repair.
func (s *Store) RepairGit(ctx context.Context) ([]string, error) {
	return repair.Git(ctx, s.in(), func(ctx context.Context) (string, func(), error) { return remotes.Copy(ctx, s.in()) })
}

// GC removes what nobody needs: working trees of idle tapes, stale locks, temporary files and unreachable
// objects. Others may write at the same time. ErrNoGit without git, unless GCOptions.WorktreesOnly is set.
func (s *Store) GC(ctx context.Context, o *GCOptions) (GCReport, error) {
	return withMergesCompleted(ctx, func() (GCReport, error) { return upkeep.GC(ctx, s.in(), o) })
}

// withMergesCompleted is join.WithMergesCompleted for a function with a result.
func withMergesCompleted[T any](ctx context.Context, f func() (T, error)) (out T, err error) {
	err = join.WithMergesCompleted(ctx, func() error {
		out, err = f()
		return err
	})
	return out, err
}

// outside converts handles of internal packages to handles of this package.
func outside(list []*workspace.Tape, err error) ([]*Tape, error) {
	out := make([]*Tape, len(list))
	for i, t := range list {
		out[i] = (*Tape)(t)
	}
	return out, err
}

// Hint is something to do about an error: plain words, or, if it takes a command, a Kind with arguments,
// for which the command line has the words.
type Hint = layout.Hint

// Hints are the ways out that an error suggests.
func Hints(err error) []Hint { return layout.Hints(err) }
