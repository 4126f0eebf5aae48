package snapshot

import (
	"bytes"
	"errors"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// CheckMoved checks a branch that has moved since the last write. Errors: *IncompleteMergeError if git has merged into it;
// ErrCorrupt, with the way back, if git has renamed it, or if commits made by hand remove what was committed,
// as git revert does.
func CheckMoved(t *workspace.Tape, rec journal.Record, head gitstore.Hash) error {
	if !rec.Moved(head) {
		return nil
	}
	if err := CheckMergeComplete(t, head); err != nil {
		return err
	}
	if err := checkRenamed(t, head); err != nil {
		return err
	}
	return checkKept(t, rec, head)
}

func checkRenamed(t *workspace.Tape, head gitstore.Hash) error {
	from, err := t.Store().RenamedFrom(t.Ref(), head)
	if err != nil || from == "" {
		return err
	}
	return t.Store().RenamedError(from, t.Ref())
}

// checkKept checks that no commit made by hand removes entries, down to the newest commit that tape made or
// that the last writer knew.
func checkKept(t *workspace.Tape, rec journal.Record, head gitstore.Hash) error {
	var lost *layout.CorruptError
	var good gitstore.Hash
	for c, err := range t.Store().ByFirstParents(head) {
		if err != nil {
			return err
		}
		if c.Hash.String() == rec.Head || len(c.Parents) != 1 || c.Trailer(layout.TrailerFormat) != "" {
			break
		}
		before, err := t.Store().Git().Commit(c.Parents[0])
		if err != nil {
			return layout.CorruptObject(c.Parents[0], err)
		}
		file, err := removedFile(t.Store().Git(), before.Tree, c.Tree, "")
		if err != nil {
			return layout.CorruptObject(c.Hash, err)
		}
		if file != "" {
			good = c.Parents[0]
			lost = &layout.CorruptError{File: c.Hash.String()[:12] + ":" + file, Msg: "this commit, made by git, removes what was recorded"}
		}
	}
	if lost == nil {
		return nil
	}
	lost.Fix = "undo it with: git -C " + layout.ShellWord(t.Store().Dir()) + " update-ref " + t.Ref() + " " + good.String()
	if wt, _, err := t.Worktree(); err == nil {
		lost.Fix = "undo it with: git -C " + layout.ShellWord(wt.Dir) + " reset --keep " + good.String()[:12]
	}
	return lost
}

// removedFile returns a file below anchors/ that another tree lacks, or that has fewer lines there; "" if none.
// It ignores edited lines: they take no id away, and a merge shows them.
func removedFile(git *gitstore.Repo, before, after gitstore.Hash, path string) (string, error) {
	was, err := git.Tree(before)
	if err != nil {
		return "", err
	}
	next, err := git.Tree(after)
	if err != nil {
		return "", err
	}
	for _, old := range was {
		if path == "" && old.Name != layout.AnchorsDir {
			continue
		}
		file := strings.TrimPrefix(path+"/"+old.Name, "/")
		now, ok := layout.FindEntry(next, old.Name)
		if ok && now.Hash == old.Hash {
			continue
		}
		if !ok || now.IsDir() != old.IsDir() {
			return file, nil
		}
		if old.IsDir() {
			if file, err = removedFile(git, old.Hash, now.Hash, file); err != nil || file != "" {
				return file, err
			}
			continue
		}
		oldRaw, err1 := git.Blob(old.Hash)
		nowRaw, err2 := git.Blob(now.Hash)
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		if bytes.Count(nowRaw, []byte("\n")) < bytes.Count(oldRaw, []byte("\n")) {
			return file, nil
		}
	}
	return "", nil
}

// WithStash changes the hint of an error about lost entries to git stash pop, if git has stashed them.
func WithStash(v *Snapshot, head gitstore.Hash, err error) error {
	if lost, ok := errors.AsType[*layout.CorruptError](err); ok && Stashed(v.Git, head) {
		lost.Fix = "git has stashed the uncommitted entries; restore them with: git -C " + layout.ShellWord(v.Dir) + " stash pop"
	}
	return err
}

// Stashed reports whether git's newest stash was made at a commit.
func Stashed(git *gitstore.Repo, head gitstore.Hash) bool {
	h, err := git.Ref(layout.StashRef)
	if err != nil {
		return false
	}
	c, err := git.Commit(h)
	return err == nil && len(c.Parents) > 0 && c.Parents[0] == head
}
