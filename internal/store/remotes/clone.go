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
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/tags"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"time"
)

// CloneOptions say how a workspace is made from a remote. Nil means the defaults.
type CloneOptions struct {
	workspace.Options
	Progress io.Writer // gets git's own progress, for a terminal; nil: quiet, and nothing is asked
	Remote   string    // what the remote is called; "" means origin
	Tape     string    // which tape or fork is the current one; "" means the tape that the remote's HEAD names
}

// Cloned tells what a clone has brought.
type Cloned struct {
	Tapes    int
	Rejected []layout.RefStatus // what was not let in
}

// Clone makes a workspace with the tapes of a remote, see repo.Clone.
func Clone(ctx context.Context, url, dir string, o *CloneOptions) (*workspace.Store, Cloned, error) {
	if o == nil {
		o = &CloneOptions{}
	}
	c := &cloning{o: *o, url: url}
	c.o.Remote = cmp.Or(c.o.Remote, layout.DefaultRemote)
	var err error
	if c.dir, err = filepath.Abs(dir); err != nil {
		return nil, c.out, err
	}
	if c.o.Progress != nil {
		c.o.Progress = inPlace{c, c.o.Progress}
	}
	s, err := c.run(ctx)
	if err != nil {
		return nil, c.out, fmt.Errorf("clone %s: %w", transport.MaskURL(url), placedError{c, layout.Classify(err)})
	}
	return s, c.out, nil
}

// placed names the clone where it will be: nobody knows of the place where it is made.
func (c *cloning) placed(text string) string {
	if c.tmp == "" {
		return text
	}
	return strings.ReplaceAll(text, c.tmp, c.dir)
}

// inPlace hands on what git tells of a clone, but for the folder in which it begins.
type inPlace struct {
	c  *cloning
	to io.Writer
}

func (p inPlace) Write(b []byte) (int, error) {
	said := p.c.placed(string(b))
	if strings.HasPrefix(said, "Cloning into ") {
		_, said, _ = strings.Cut(said, "\n")
	}
	_, err := io.WriteString(p.to, said)
	return len(b), err
}

type placedError struct {
	c   *cloning
	err error
}

func (e placedError) Error() string { return e.c.placed(e.err.Error()) }
func (e placedError) Unwrap() error { return e.err }

type cloning struct {
	o        CloneOptions
	url, dir string
	tmp      string // where it is made
	out      Cloned
}

// run makes the clone beside its place, and moves it there when it is whole.
func (c *cloning) run(ctx context.Context) (_ *workspace.Store, err error) {
	if err := gitrun.CheckGit(); err != nil {
		return nil, err
	}
	top, err := c.makeRoom()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(top)
		}
	}()
	opts := c.o.Options
	opts.Fs = opts.Fs.Deferred() // nobody sees it before it is moved to its place
	if warn := opts.Warn; warn != nil {
		opts.Warn = func(message string) { warn(c.placed(message)) }
	}
	s, err := workspace.Create(c.tmp, workspace.DefaultTape, &opts)
	if err != nil {
		return nil, err
	}
	s.Git().AssumeAlone()
	defer s.Git().KeepObjects()()
	if err := AddRemote(ctx, s, c.o.Remote, c.url); err != nil {
		return nil, err
	}
	statuses, head, err := fetch(ctx, s, c.o.Remote, &FetchOptions{Progress: c.o.Progress, clone: true})
	if err != nil {
		return nil, err
	}
	if err := c.makeBranches(ctx, s, statuses); err != nil {
		return nil, err
	}
	if err := c.checkOut(ctx, s, head); err != nil {
		return nil, err
	}
	if err := s.FS().SyncAll(); err != nil {
		return nil, err
	}
	if err := c.moveIn(); err != nil {
		return nil, err
	}
	return workspace.Open(context.WithoutCancel(ctx), c.dir, &c.o.Options)
}

// makeRoom makes the folder for the clone, beside where it will be, and returns the
// topmost that had to be made.
func (c *cloning) makeRoom() (string, error) {
	if err := c.takeBack(); err != nil {
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
		above = c.dir // it may be a file system of its own
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

// clonePrefix begins the names of clones that are being made.
const clonePrefix = disk.TempPrefix + "clone-"

// sweep takes away clones that were cut off long ago. One that is under way is younger.
func (c *cloning) sweep(dir string) error {
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

// abandoned is the age from which on nobody is still making a clone.
const abandoned = 24 * time.Hour

// moveIn gives the clone its name. In a folder that was there, .git comes last: with it,
// it is a workspace.
func (c *cloning) moveIn() error {
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

// takeBack removes what a clone has moved in that was cut off then: .git is still beside it.
func (c *cloning) takeBack() error {
	moved, _ := workspace.DirNames(c.dir)
	at := slices.IndexFunc(moved, func(name string) bool { return strings.HasPrefix(name, clonePrefix) })
	if at < 0 {
		return nil
	}
	tmp := moved[at]
	moved = slices.Delete(moved, at, at+1)
	left, err := workspace.DirNames(filepath.Join(c.dir, tmp))
	if err != nil || !slices.Contains(left, layout.GitDirName) {
		return nil //nolint:nilerr // it is somebody else's
	}
	for _, name := range moved {
		ours := name == layout.AnchorsDir || slices.Contains(layout.RootFiles(), name)
		if !ours || slices.Contains(left, name) {
			return nil // somebody else's
		}
	}
	if len(moved) == 0 {
		return nil // it may be under way
	}
	for _, name := range append(moved, tmp) {
		if err := c.o.Fs.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeBranches makes the tapes and forks of what was fetched, with their tags.
func (c *cloning) makeBranches(ctx context.Context, s *workspace.Store, statuses []layout.RefStatus) error {
	known, err := KnownRefs(s, layout.AcceptedRefs(c.o.Remote))
	if err != nil {
		return err
	}
	_, who, err := s.Git().Identity(s.Now())
	if err != nil {
		return err
	}
	var updates []gitstore.RefUpdate
	for ref, h := range known {
		if strings.HasPrefix(ref, layout.BranchPrefix) {
			c.out.Tapes++
		} else if strings.HasPrefix(ref, layout.ArchivePrefix) {
			continue // on request
		}
		updates = append(updates, gitstore.RefUpdate{Name: ref, New: h, Message: "tape: clone", Who: who})
	}
	slices.SortFunc(updates, func(a, b gitstore.RefUpdate) int { return strings.Compare(a.Name, b.Name) })
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
			err = tags.OfNew(ctx, t, u.New)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noTapes refuses a remote that has no tapes, unless it is empty.
func (c *cloning) noTapes(ctx context.Context, s *workspace.Store) error {
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

// checkOut writes the working tree of the workspace, and makes its tape the current one. A
// remote without tapes gives a workspace with a first tape of its own.
func (c *cloning) checkOut(ctx context.Context, s *workspace.Store, head string) error {
	t, err := c.choose(ctx, s, head)
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

// choose returns the tape to be checked out: the one that was asked for, or that a fork is of
// which was; else what the remote's HEAD names, or main, or the first. Nil if there is none.
func (c *cloning) choose(ctx context.Context, s *workspace.Store, head string) (*workspace.Tape, error) {
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
	if head == "" && len(tapes) > 1 {
		// Git does not tell it with what it fetches.
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
