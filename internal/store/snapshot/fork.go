package snapshot

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/workspace"
)

// ForkBase says where a fork begins.
type ForkBase struct {
	Start  gitstore.Hash // the fork's first commit, whose tree is the base; Commit, if git made the branch
	Commit gitstore.Hash // the parent's commit from which the fork was made
	ID     int64         // the last entry in the base
}

// BaseOf returns where a fork begins. Errors: ErrInvalid for a tape.
func BaseOf(t *workspace.Tape, head gitstore.Hash) (ForkBase, error) {
	if !t.IsFork() {
		return ForkBase{}, layout.Invalid("", "%q is a tape, not a fork", t.Name()).Try(layout.NameFork)
	}
	b, ok, err := MadeBase(t, head)
	if err != nil || ok {
		return b, err
	}
	return inferBase(t, head)
}

// MadeBase finds the commit with which tape began a fork; a branch made by git has none.
func MadeBase(t *workspace.Tape, head gitstore.Hash) (b ForkBase, ok bool, err error) {
	for c, err := range t.Store().ByFirstParents(head) {
		if err != nil {
			return b, false, err
		}
		if id, ok := StartsHere(t, c.Commit); ok {
			return ForkBase{Start: c.Hash, Commit: c.Parents[0], ID: id}, true, nil
		}
	}
	return b, false, nil
}

// StartOf returns the commit after which history is the fork's own; zero for a tape.
func StartOf(t *workspace.Tape, head gitstore.Hash) gitstore.Hash {
	if !t.IsFork() {
		return gitstore.ZeroHash
	}
	b, err := BaseOf(t, head)
	if err != nil {
		return gitstore.ZeroHash // callers that need the base get the error from BaseOf
	}
	return b.Start
}

// StartsHere reports whether a commit is a fork's first, and returns the id of the last entry in its base.
func StartsHere(t *workspace.Tape, c gitstore.Commit) (int64, bool) {
	value := c.Trailer(layout.TrailerBase)
	if value == "" || len(c.Parents) != 1 || layout.DecodeTrailer(c.Trailer(layout.TrailerName)) != t.Name() {
		return 0, false
	}
	id, err := strconv.ParseInt(value, 10, 64)
	return id, err == nil && id > 0
}

// inferBase returns where a branch made by git leaves its parent, or its first commit if the parent is gone.
func inferBase(t *workspace.Tape, head gitstore.Hash) (ForkBase, error) {
	parent, err := t.Store().Tape(context.Background(), t.Parent())
	var base gitstore.Hash
	if errors.Is(err, layout.ErrNotFound) {
		base, err = lineage.FirstCommit(t.Store(), head)
	} else if err == nil {
		if base, err = parent.Head(); err == nil {
			base, err = lineage.CommonCommit(t.Store(), base, head)
		}
	}
	if err != nil {
		return ForkBase{}, err
	}
	return BaseAt(t, base)
}

// BaseAt returns the base of a fork that has no first commit of its own and begins at its parent's commit h.
func BaseAt(t *workspace.Tape, h gitstore.Hash) (ForkBase, error) {
	id, err := LastOf(t.Store(), h)
	return ForkBase{Start: h, Commit: h, ID: id}, err
}

// LastOf returns the id of a commit's last entry, from its trailer, or, if the commit was made by hand, from
// its files.
func LastOf(s *workspace.Store, h gitstore.Hash) (int64, error) {
	c, err := s.Git().Commit(h)
	if err != nil {
		return 0, layout.CorruptObject(h, err)
	}
	if _, last, ok := strings.Cut(c.Trailer(layout.TrailerEntries), "-"); ok {
		if id, err := strconv.ParseInt(last, 10, 64); err == nil {
			return id, nil
		}
	}
	v, err := AtCommit(s, h)
	if err != nil {
		return 0, err
	}
	return v.LastID()
}

// LastID returns the id of the last entry.
func (v *Snapshot) LastID() (int64, error) { return LastID(v, v.LastPhase()) }

// RecordedLast returns the id of the last entry from the journal, without reading files. ok is false if the record
// does not describe the snapshot: for a commit, during a change, or if files of the open phase have other sizes.
func (v *Snapshot) RecordedLast() (id int64, ok bool) {
	n := v.rec
	if v.Dir == "" || n.LastID == 0 || n.Undo != nil || n.Seq != len(v.List) || n.Folder != v.LastPhase().Folder {
		return 0, false
	}
	for c, tail := range n.Tails {
		files := v.Last[c]
		if len(files) != tail.Seg || tail.Seg > 0 && files[tail.Seg-1].Size != tail.Size {
			return 0, false
		}
	}
	return n.LastID, true
}

// TapeInfo reads the commit's tape.json.
func (v *Snapshot) TapeInfo() (layout.TapeInfo, error) {
	return workspace.TapeInfoAt(v.Git, v.Commit, v.RootTree, v.file(layout.TapeFile))
}

// RootName returns the name of the tape at the root of a fork; for a tape, its own name.
func RootName(t *workspace.Tape) string {
	if !t.IsFork() {
		return t.Name()
	}
	if h, err := t.Head(); err == nil {
		if name := rootAt(t.Store(), h); name != "" {
			return name
		}
	}
	// The branch is gone or unreadable, so find the tape by the fork's name, which begins with the tape's.
	root := t.Name()
	for up, _, ok := layout.CutFork(root); ok; up, _, ok = layout.CutFork(up) {
		root = up
		if _, err := t.Store().Handle(root).Head(); err == nil {
			break
		}
	}
	return root
}

// rootAt returns the name of the tape in a commit's tape.json, or "".
func rootAt(s *workspace.Store, h gitstore.Hash) string {
	c, err := s.Git().Commit(h)
	if err != nil {
		return ""
	}
	info, err := workspace.TapeInfoAt(s.Git(), h, c.Tree, "")
	if err != nil {
		return ""
	}
	return info.Name
}

// OwnerOf returns the tape or fork that a commit belongs to, or t if its history names none.
func OwnerOf(t *workspace.Tape, h gitstore.Hash) *workspace.Tape {
	name, err := t.Store().NameAt(h)
	if err != nil || name == "" || name == t.Name() {
		return t
	}
	return HandleOf(t.Store(), name, h)
}

// HandleOf returns the handle for a name at a commit. It is a fork's if it has the form PARENT/FORK and the
// commit's tape.json does not give it to a tape.
func HandleOf(s *workspace.Store, name string, h gitstore.Hash) *workspace.Tape {
	if f := s.ForkHandle(name); f != nil && rootAt(s, h) != name {
		return f
	}
	return s.Handle(name)
}

// RemoteName returns the name of a remote's tape or fork, or its slug if the name is unknown.
func RemoteName(s *workspace.Store, in layout.Incoming) string {
	if strings.HasPrefix(in.Ref, layout.BranchPrefix) || strings.HasPrefix(in.Ref, layout.ForkPrefix) {
		if t, err := TapeAt(s, in.Ref, in.New); err == nil {
			return t.Name()
		}
	}
	return SlugOf(in.Ref)
}

// SlugOf returns the slug of the tape or fork in the name of a ref.
func SlugOf(ref string) string {
	prefix, short := layout.CutRef(ref)
	if prefix == layout.TagPrefix || prefix == layout.ArchivePrefix {
		short, _, _ = strings.Cut(short, "/")
	}
	return short
}

// TapeAt returns the tape or fork of a branch as of a commit, which the branch need not have yet. Errors:
// ErrConflict if the commit is another tape's.
func TapeAt(s *workspace.Store, ref string, h gitstore.Hash) (*workspace.Tape, error) {
	if strings.HasPrefix(ref, layout.ForkPrefix) {
		name, err := s.NameOfFork(ref, h)
		if err != nil {
			return nil, err
		}
		return s.ForkHandle(name), nil
	}
	v, err := AtCommit(s, h)
	if err != nil {
		return nil, err
	}
	info, err := v.TapeInfo()
	if err != nil {
		return nil, err
	}
	if t := s.Handle(info.Name); t.Ref() == ref {
		return t, nil
	}
	return nil, layout.Conflict(layout.NoTape, "the commit is of the tape %q, whose branch is %s",
		info.Name, strings.TrimPrefix(layout.BranchOf(info.Name, ref), "refs/heads/"))
}
