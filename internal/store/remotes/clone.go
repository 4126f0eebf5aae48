package remotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"time"
)

// CloneOptions say how a workspace is cloned. Nil means the defaults.
type CloneOptions struct {
	workspace.Options
	Progress io.Writer // gets git's progress for a terminal; nil to be quiet and ask nothing
	Remote   string    // the name of the remote; "" means origin
	Tape     string    // the tape or fork to make current; "" means the tape of the remote's HEAD, else main, else the first
}

// Cloned is what a clone brought.
type Cloned struct {
	Tapes    int                // number of tapes, without forks
	Rejected []layout.RefStatus // tapes, forks, tags and archives that were refused
}

// Clone makes a workspace from the tapes of a remote, see repo.Clone.
func Clone(ctx context.Context, url, dir string, o *CloneOptions) (*workspace.Store, Cloned, error) {
	if o == nil {
		o = &CloneOptions{}
	}
	c := &clone{o: *o, url: url}
	c.o.Remote = cmp.Or(c.o.Remote, layout.DefaultRemote)
	var err error
	if c.dir, err = filepath.Abs(dir); err != nil {
		return nil, c.out, err
	}
	if c.o.Progress != nil {
		c.o.Progress = placedWriter{c, c.o.Progress}
	}
	s, err := c.run(ctx)
	if err != nil {
		return nil, c.out, fmt.Errorf("clone %s: %w", transport.MaskURL(url), placedError{c, layout.Classify(err)})
	}
	return s, c.out, nil
}

// placed replaces the temporary folder of the clone in a text by the final one.
func (c *clone) placed(text string) string {
	if c.tmp == "" {
		return text
	}
	return strings.ReplaceAll(text, c.tmp, c.dir)
}

// placedWriter passes on git's messages about the clone, without the name of the temporary folder.
type placedWriter struct {
	c  *clone
	to io.Writer
}

func (p placedWriter) Write(b []byte) (int, error) {
	said := p.c.placed(string(b))
	if strings.HasPrefix(said, "Cloning into ") {
		_, said, _ = strings.Cut(said, "\n")
	}
	_, err := io.WriteString(p.to, said)
	return len(b), err
}

// placedError is an error of the clone, without the name of the temporary folder.
type placedError struct {
	c   *clone
	err error
}

func (e placedError) Error() string { return e.c.placed(e.err.Error()) }
func (e placedError) Unwrap() error { return e.err }

type clone struct {
	o        CloneOptions
	url, dir string
	tmp      string // the temporary folder
	out      Cloned
}

// run makes the clone in a temporary folder, and moves it to its place when it is complete.
func (c *clone) run(ctx context.Context) (_ *workspace.Store, err error) {
	if err := gitrun.CheckGit(); err != nil {
		return nil, err
	}
	top, err := c.makeFolder()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(top)
		}
	}()
	opts := c.o.Options
	opts.Fs = opts.Fs.Unsynced() // the clone is synced once, before it is moved
	if warn := opts.Warn; warn != nil {
		opts.Warn = func(message string) { warn(c.placed(message)) }
	}
	s, err := workspace.Create(c.tmp, workspace.DefaultTape, &opts)
	if err != nil {
		return nil, err
	}
	defer s.Git().KeepObjects()()
	if err := AddRemote(ctx, s, c.o.Remote, c.url); err != nil {
		return nil, err
	}
	statuses, err := fetch(ctx, s, c.o.Remote, &FetchOptions{Progress: c.o.Progress, clone: true})
	if err != nil {
		return nil, err
	}
	if err := c.makeBranches(ctx, s, statuses); err != nil {
		return nil, err
	}
	if err := c.checkOut(ctx, s); err != nil {
		return nil, err
	}
	if err := c.o.Fs.SyncTree(c.tmp); err != nil {
		return nil, err
	}
	if err := c.moveToPlace(); err != nil {
		return nil, err
	}
	return workspace.Open(context.WithoutCancel(ctx), c.dir, &c.o.Options)
}

// makeFolder makes the temporary folder, next to the final place or in it, and returns the topmost
// folder that it had to make.
func (c *clone) makeFolder() (string, error) {
	if err := c.undoMove(); err != nil {
		return "", err
	}
	names, err := workspace.DirNames(c.dir)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, clonePrefix) })
	if err == nil && len(names) > 0 {
		return "", layout.Conflict("", "%s exists already and is not empty", c.dir).Try(layout.AddRemoteThere)
	}
	if st, serr := os.Lstat(c.dir); serr == nil && !st.IsDir() {
		return "", layout.Conflict("name another folder", "%s is a file", c.dir)
	}
	d, above := c.o.Fs, filepath.Dir(c.dir)
	if err == nil {
		above = c.dir // it may be a mount point
	}
	top := ""
	for parent := above; ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
			break
		}
		top = parent
	}
	if err := d.MkdirAll(above); err != nil {
		return "", err
	}
	if err := c.sweep(above); err != nil {
		return "", err
	}
	if c.tmp, err = os.MkdirTemp(above, clonePrefix+"*"); err != nil {
		return "", err
	}
	return cmp.Or(top, c.tmp), nil
}

// clonePrefix begins the names of temporary clones.
const clonePrefix = disk.TempPrefix + "clone-"

// sweep removes clones that were interrupted long ago.
func (c *clone) sweep(dir string) error {
	names, err := workspace.DirNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if st, err := os.Lstat(path); err != nil || !strings.HasPrefix(name, clonePrefix) || time.Since(st.ModTime()) < abandoned {
			continue
		}
		if err := c.o.Fs.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// abandoned is the age at which a temporary clone was certainly interrupted.
const abandoned = 24 * time.Hour

// moveToPlace renames the clone. If its folder existed already, .git is moved last, because it makes the
// folder a workspace.
func (c *clone) moveToPlace() error {
	d := c.o.Fs
	if filepath.Dir(c.tmp) != c.dir {
		if err := d.Rename(c.tmp, c.dir); err != nil {
			return err
		}
		return d.SyncDir(filepath.Dir(c.dir))
	}
	names, err := workspace.DirNames(c.tmp)
	if err != nil {
		return err
	}
	names = append(slices.DeleteFunc(names, func(name string) bool { return name == layout.GitDirName }), layout.GitDirName)
	for i, name := range names {
		if err := d.Rename(filepath.Join(c.tmp, name), filepath.Join(c.dir, name)); err != nil {
			for _, moved := range names[:i] {
				_ = os.RemoveAll(filepath.Join(c.dir, moved))
			}
			return err
		}
	}
	return errors.Join(d.Remove(c.tmp), d.SyncDir(c.dir))
}

// undoMove removes what an interrupted clone had moved to its place before it moved .git.
func (c *clone) undoMove() error {
	moved, _ := workspace.DirNames(c.dir)
	at := slices.IndexFunc(moved, func(name string) bool { return strings.HasPrefix(name, clonePrefix) })
	if at < 0 {
		return nil
	}
	tmp := moved[at]
	moved = slices.Delete(moved, at, at+1)
	left, err := workspace.DirNames(filepath.Join(c.dir, tmp))
	if err != nil || !slices.Contains(left, layout.GitDirName) {
		return nil //nolint:nilerr // not an interrupted move
	}
	for _, name := range moved {
		ours := name == layout.AnchorsDir || slices.Contains(layout.RootFiles(), name)
		if !ours || slices.Contains(left, name) {
			return nil // somebody else's
		}
	}
	if len(moved) == 0 {
		return nil // the clone may be under way
	}
	for _, name := range append(moved, tmp) {
		if err := c.o.Fs.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeBranches makes the tapes and forks that were fetched, with their tags.
func (c *clone) makeBranches(ctx context.Context, s *workspace.Store, statuses []layout.RefStatus) error {
	known, err := KnownRefs(s, layout.AcceptedRefs(c.o.Remote))
	if err != nil {
		return err
	}
	who := s.Git().Committer(s.Now())
	var updates []gitstore.RefUpdate
	for ref, h := range known {
		if strings.HasPrefix(ref, layout.BranchPrefix) {
			c.out.Tapes++
		} else if strings.HasPrefix(ref, layout.ArchivePrefix) || strings.HasPrefix(ref, layout.ForgottenPrefix) {
			continue // fetched on request only, or no tape
		}
		updates = append(updates, gitstore.RefUpdate{Name: ref, New: h, Message: "tape: clone", Who: who})
	}
	slices.SortStableFunc(updates, func(a, b gitstore.RefUpdate) int { return strings.Compare(a.Name, b.Name) })
	c.out.Rejected = slices.DeleteFunc(statuses, func(status layout.RefStatus) bool { return status.Status != layout.RefRejected })
	if c.out.Tapes == 0 {
		if err := c.noTapes(ctx, s); err != nil {
			return err
		}
	}
	if err := s.Git().UpdateRefs(ctx, updates); err != nil {
		return err
	}
	for _, u := range updates {
		if strings.HasPrefix(u.Name, layout.TagPrefix) {
			continue
		}
		t, err := s.TapeOfBranch(u.Name)
		if err == nil {
			err = commits.TagNew(ctx, t, u.New)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noTapes refuses a remote without tapes, unless it is empty.
func (c *clone) noTapes(ctx context.Context, s *workspace.Store) error {
	if len(c.out.Rejected) > 0 {
		first := c.out.Rejected[0]
		return &layout.Error{Class: layout.ErrConflict, Msg: fmt.Sprintf("%q was rejected: %v", first.Tape, first.Err), Way: layout.Hints(first.Err)}
	}
	others, err := otherBranches(ctx, s, c.o.Remote, transport.Options{Progress: c.o.Progress})
	if err != nil || others == "" {
		return err
	}
	return layout.NotFound("", "%s", others).Try(layout.ShareThere, transport.MaskURL(c.url))
}

// checkOut writes the working tree of the workspace, and makes its tape, or the requested fork, the current
// one. If the remote has no tapes, the workspace gets a first tape.
func (c *clone) checkOut(ctx context.Context, s *workspace.Store) error {
	t, err := c.choose(ctx, s)
	if err != nil {
		return err
	}
	if t == nil {
		s.FirstGitSetup(ctx)
		_, err := writer.FirstTape(ctx, s, workspace.DefaultTape)
		return err
	}
	if err := s.Git().SetHead(ctx, s.Git().GitDir(), t.Ref()); err != nil {
		return err
	}
	s.FirstGitSetup(ctx)
	if err := writer.WriteTree(ctx, t); err != nil {
		return err
	}
	return s.SetSetting("tape", cmp.Or(c.o.Tape, t.Name()))
}

// choose returns the tape to check out: the requested tape, or the tape of the requested fork; otherwise the
// tape of the remote's HEAD, main, or the first tape. It returns nil if there are no tapes.
func (c *clone) choose(ctx context.Context, s *workspace.Store) (*workspace.Tape, error) {
	if c.o.Tape != "" {
		t, err := s.Tape(ctx, c.o.Tape)
		if err == nil && t.IsFork() {
			t, err = s.Tape(ctx, snapshot.RootName(t))
		}
		if errors.Is(err, layout.ErrNotFound) {
			err = layout.NotFound("", "there is no tape %q", c.o.Tape).Try(layout.CloneAll)
		}
		return t, err
	}
	tapes, err := s.Tapes(ctx)
	if err != nil || len(tapes) == 0 {
		return nil, err
	}
	head := ""
	if len(tapes) > 1 {
		if _, head, err = transport.LsRemote(ctx, s.Git(), c.o.Remote, nil, transport.Options{Progress: c.o.Progress}); err != nil {
			return nil, err
		}
	}
	for _, branch := range []string{head, layout.BranchPrefix + workspace.DefaultTape} {
		if i := slices.IndexFunc(tapes, func(t *workspace.Tape) bool { return t.Ref() == branch }); i >= 0 {
			return tapes[i], nil
		}
	}
	return tapes[0], nil
}
