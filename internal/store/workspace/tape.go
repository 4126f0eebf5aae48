package workspace

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/layout"
)

// Tape is one session's append-only sequence of entries, or a fork of one. A Tape is a
// handle: it holds no lock and no open file, and its methods may be called from several
// goroutines.
type Tape struct {
	store  *Store
	name   string
	slug   string
	branch string // full ref
	fork   string // a fork's own name, the last part of name; "" for a tape
}

// Handle returns the handle of a tape, whether it exists or not.
func (s *Store) Handle(name string) *Tape {
	slug := layout.TapeSlug(name)
	return &Tape{store: s, name: name, slug: slug, branch: layout.BranchPrefix + slug}
}

// Slug returns the tape's name in tags and folders.
func (t *Tape) Slug() string { return t.slug }

// Ref returns the full name of the branch that holds the tape.
func (t *Tape) Ref() string { return t.branch }

// Name returns the tape's name; a fork's is PARENT/FORK.
func (t *Tape) Name() string { return t.name }

// Branch returns the short name of the tape's git branch: tape/<slug>, or fork/<parent's slug>/<slug> for a
// fork.
func (t *Tape) Branch() string { return strings.TrimPrefix(t.branch, "refs/heads/") }

// Store returns the workspace that the tape is in.
func (t *Tape) Store() *Store { return t.store }

// Tape returns the tape, or the fork PARENT/FORK, of a name; "" means the current one. Errors: ErrNotFound.
func (s *Store) Tape(ctx context.Context, name string) (*Tape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err error
	if name == "" {
		if name, err = s.currentTape(); err != nil {
			return nil, err
		}
	}
	if err := layout.CheckName("a tape", name); err != nil {
		return nil, err
	}
	t := s.Handle(name)
	h, err := t.Head()
	if fork := s.ForkHandle(name); fork != nil && errors.Is(err, layout.ErrNotFound) {
		t = fork
		h, err = t.Head()
	}
	if err != nil {
		return nil, err
	}
	if t.slug != name {
		// The slug has a hash: check that its tape has this name.
		owner, err := s.nameOfBranchAt(t.branch, h)
		if err != nil {
			return nil, err
		}
		if owner != name && owner != t.slug {
			return nil, layout.Conflict("give one of them another name", "the names %q and %q have the same slug", name, owner)
		}
	}
	return t, nil
}

// CurrentTape returns the name of the tape that commands use by default. If it cannot be read, it returns
// DefaultTape, and Tape returns the error.
func (s *Store) CurrentTape() string {
	if name, err := s.currentTape(); err == nil {
		return name
	}
	return DefaultTape
}

func (s *Store) currentTape() (string, error) {
	if name := s.Config().Tape; name != "" {
		return name, nil
	}
	name, err := s.currentByHead()
	if errors.Is(err, layout.ErrNotFound) || errors.Is(err, gitstore.ErrNotFound) {
		return DefaultTape, nil // the branch does not exist yet
	}
	return name, err
}

// PreviousTape returns the name of the tape that was current before, or "".
func (s *Store) PreviousTape() string { return s.Config().previous }

// ForgetPrevious forgets which tape was current before.
func (s *Store) ForgetPrevious() error {
	return s.changeConfig(func(c *Config) error {
		c.previous = ""
		return nil
	})
}

// Head returns the tape's newest commit. Errors: ErrNotFound.
func (t *Tape) Head() (gitstore.Hash, error) {
	h, err := t.store.git.Ref(t.branch)
	if errors.Is(err, gitstore.ErrNotFound) && t.store.isLost(t.branch) {
		return h, t.store.lost(t.branch)
	}
	if errors.Is(err, gitstore.ErrNotFound) && t.IsFork() {
		return h, layout.NotFound("", "there is no tape or open fork %q", t.name).Try(layout.ListForks, t.name)
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return h, layout.NotFound("", "there is no tape %q", t.name).Try(layout.ListTapes, t.name)
	}
	return h, layout.Classify(err)
}

// nameOfBranch returns the name of a tape or fork, from the newest commit's trailer or from tape.json. A
// branch that somebody made by hand is named after its slug.
func (s *Store) nameOfBranch(branch string) (string, error) {
	h, err := s.git.Ref(branch)
	if err != nil {
		return "", layout.Classify(err)
	}
	return s.nameOfBranchAt(branch, h)
}

// nameOfBranchAt is nameOfBranch with the branch's newest commit.
func (s *Store) nameOfBranchAt(branch string, h gitstore.Hash) (string, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return "", &layout.CorruptError{File: branch, Msg: err.Error()}
	}
	if name := layout.DecodeTrailer(c.Trailer(layout.TrailerName)); name != "" && layout.BranchOf(name, branch) == branch {
		return name, nil
	}
	if strings.HasPrefix(branch, layout.ForkPrefix) {
		return s.NameOfFork(branch, h)
	}
	info, err := TapeInfoAt(s.git, h, c.Tree, branch+":"+layout.TapeFile)
	if slug := strings.TrimPrefix(branch, layout.BranchPrefix); layout.TapeSlug(info.Name) != slug {
		return slug, err // made by hand from another tape
	}
	return info.Name, err
}

// TapeInfoAt reads the tape.json of a commit with a given tree; file is its name in errors.
func TapeInfoAt(git *gitstore.Repo, h, tree gitstore.Hash, file string) (info layout.TapeInfo, err error) {
	root, err := git.Tree(tree)
	if err != nil {
		return info, layout.CorruptObject(h, err)
	}
	e, ok := layout.FindEntry(root, layout.TapeFile)
	if !ok {
		return info, &layout.CorruptError{File: file, Msg: "the commit has no " + layout.TapeFile}
	}
	raw, err := git.Blob(e.Hash)
	if err != nil {
		return info, layout.CorruptObject(h, err)
	}
	return layout.DecodeTapeInfo(raw, file)
}

// ByBranch returns the tape or fork of a branch, with or without refs/heads/. Errors: ErrNotFound.
func (s *Store) ByBranch(ctx context.Context, branch string) (*Tape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ref := "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	if !strings.HasPrefix(ref, layout.BranchPrefix) && !strings.HasPrefix(ref, layout.ForkPrefix) {
		return nil, layout.NotFound("", "%s is not the branch of a tape or a fork", branch).Try(layout.ListTapesAndForks)
	}
	t, err := s.TapeOfBranch(ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, layout.NotFound("", "there is no branch %s", branch).Try(layout.ListTapesAndForks)
	}
	return t, layout.Classify(err)
}

// TapeOfBranch returns the tape or fork of a branch, given as a full ref.
func (s *Store) TapeOfBranch(branch string) (*Tape, error) {
	h, err := s.git.Ref(branch)
	if err != nil {
		return nil, layout.Classify(err)
	}
	return s.tapeOfBranchAt(branch, h, "")
}

// tapeOfBranchAt is TapeOfBranch with the branch's newest commit, and its name if known.
func (s *Store) tapeOfBranchAt(branch string, h gitstore.Hash, name string) (*Tape, error) {
	if name == "" {
		var err error
		if name, err = s.nameOfBranchAt(branch, h); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(branch, layout.ForkPrefix) {
		t := s.ForkHandle(name)
		if t == nil {
			return nil, &layout.CorruptError{File: branch, Msg: fmt.Sprintf("%q is not the name of a fork", name)}
		}
		t.branch = branch
		return t, nil
	}
	return &Tape{store: s, name: name, slug: strings.TrimPrefix(branch, layout.BranchPrefix), branch: branch}, nil
}

// Tapes returns the workspace's tapes, sorted by branch. Forks are not among them.
func (s *Store) Tapes(ctx context.Context) ([]*Tape, error) {
	return s.tapesUnder(ctx, layout.BranchPrefix)
}

// TapesAndForks returns all tapes, then all forks.
func (s *Store) TapesAndForks(ctx context.Context) ([]*Tape, error) {
	return handles(s.List(ctx, nil))
}

// namedCommit is the name of a tape as of a commit. It saves reading the commits of thousands of tapes on
// every listing.
type namedCommit struct {
	commit gitstore.Hash
	name   string
}

// Listed is a tape and the commit of its branch.
type Listed struct {
	*Tape
	Head gitstore.Hash
}

func handles(list []Listed, err error) ([]*Tape, error) {
	out := make([]*Tape, len(list))
	for i, t := range list {
		out[i] = t.Tape
	}
	return out, err
}

// List returns all tapes, then all forks. name, if not nil, may return the name of the tape or fork that a
// branch (its short name) holds at a commit; if it returns "", the commit is read.
func (s *Store) List(ctx context.Context, name func(branch string, h gitstore.Hash) string) ([]Listed, error) {
	tapes, err := s.listUnder(ctx, layout.BranchPrefix, name)
	if err != nil {
		return nil, err
	}
	forks, err := s.listUnder(ctx, layout.ForkPrefix, name)
	return append(tapes, forks...), err
}

func (s *Store) tapesUnder(ctx context.Context, prefix string) ([]*Tape, error) {
	return handles(s.listUnder(ctx, prefix, nil))
}

func (s *Store) listUnder(ctx context.Context, prefix string, nameAt func(branch string, h gitstore.Hash) string) ([]Listed, error) {
	refs, damaged, err := s.git.ReadableRefs(prefix)
	if err != nil {
		return nil, layout.Classify(err)
	}
	for _, d := range damaged {
		s.leaveOut(d.Name, d.Err)
	}
	lost, _ := s.LostBranches(prefix, refs)
	for _, name := range lost {
		s.leaveOut(name, errLost)
	}
	out := make([]Listed, 0, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if of := s.CopyOf(ref); of != "" {
			s.leaveOut(ref.Name, errCopy(of))
			continue
		}
		name := ""
		if nameAt != nil {
			name = nameAt(strings.TrimPrefix(ref.Name, "refs/heads/"), ref.Hash)
		}
		s.seen.Lock()
		if n := s.seen.names[ref.Name]; name == "" && n.commit == ref.Hash {
			name = n.name
		}
		s.seen.Unlock()
		t, err := s.tapeOfBranchAt(ref.Name, ref.Hash, name)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // deleted meanwhile
		}
		if errors.Is(err, layout.ErrCorrupt) {
			s.leaveOut(ref.Name, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list tapes: %w", err)
		}
		if prefix == layout.BranchPrefix && name == "" { // a fork's name depends on other branches too
			s.seen.Lock()
			s.seen.names[ref.Name] = namedCommit{ref.Hash, t.name}
			s.seen.Unlock()
		}
		out = append(out, Listed{t, ref.Hash})
	}
	return out, nil
}

// Switch sets the current tape. It does not touch working trees.
func (s *Store) Switch(ctx context.Context, name string) (*Tape, error) {
	t, err := s.Tape(ctx, name)
	if err != nil {
		return nil, err
	}
	return t, s.SetSetting("tape", name)
}

// WorkTree returns the folder in which the tape is checked out, or "".
func (t *Tape) WorkTree() string {
	wt, _, err := t.Worktree()
	if err != nil {
		return ""
	}
	return wt.Dir
}

// Forks returns the open forks of a tape, without forks of forks.
func (t *Tape) Forks(ctx context.Context) ([]*Tape, error) {
	return t.store.tapesUnder(ctx, layout.ForkPrefix+t.slug+"/")
}

// Forks returns all open forks of the workspace.
func (s *Store) Forks(ctx context.Context) ([]*Tape, error) {
	return s.tapesUnder(ctx, layout.ForkPrefix)
}

// Message returns a commit message: a text, which is a subject and maybe a body after an empty line, and
// the trailers. Only the last paragraph counts as trailers, so no text can pass for one. The commit adds the
// entries first to last, none if first > last; format is that of its tree, at least layout.FormatVersion.
func (t *Tape) Message(text, anchor string, first, last int64, format int, more ...layout.Trailer) string {
	all := append([]layout.Trailer{{Key: layout.TrailerName, Value: layout.EncodeTrailer(t.name)}, {Key: layout.TrailerAnchor, Value: layout.EncodeTrailer(anchor)}}, more...)
	if entries := layout.EntriesTrailer(first, last); entries != "" {
		all = append(all, layout.Trailer{Key: layout.TrailerEntries, Value: entries})
	}
	var b strings.Builder
	b.WriteString(text + "\n\n")
	for _, tr := range append(all, layout.Trailer{Key: layout.TrailerFormat, Value: strconv.Itoa(max(format, layout.FormatVersion))}) {
		b.WriteString(tr.Key + ": " + tr.Value + "\n")
	}
	return b.String()
}

// ForkTrailer returns the trailer of a merge commit that names the merged fork.
func ForkTrailer(f *Tape) layout.Trailer {
	return layout.Trailer{Key: layout.TrailerFork, Value: layout.EncodeTrailer(f.name)}
}

// TagRef returns the full name of a phase's tag.
func (t *Tape) TagRef(folder string) string { return layout.TagPrefix + t.slug + "/" + folder }

// Merging reports whether git has an unfinished merge in a working tree. It is true also if that cannot be read.
func (t *Tape) Merging(wt gitstore.Worktree) bool {
	heads, err := gitworktree.MergeHeads(wt)
	return err != nil || len(heads) > 0
}
