package snapshot

import (
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Identity is a person as git shows one.
func Identity(s gitstore.Signature) string { return s.Name + " <" + s.Email + ">" }

// Owner is who began the tape that a commit is of, or of a fork the tape that it is of: the
// author of the first commit, as Name <mail>. "" if it cannot be told.
func Owner(t *workspace.Tape, head gitstore.Hash) string {
	c, ok := firstCommit(t, head)
	if !ok {
		return ""
	}
	return Identity(c.Author)
}

// firstCommit is where a history begins. The tag of the first phase leads there at once; where
// it is missing, commit after commit.
func firstCommit(t *workspace.Tape, head gitstore.Hash) (gitstore.Commit, bool) {
	git := t.Store().Git()
	if v, err := AtCommit(t.Store(), head); err == nil {
		if info, err := v.TapeInfo(); err == nil {
			h, err := git.Ref(layout.TagPrefix + layout.TapeSlug(info.Name) + "/" + v.List[0].Folder)
			if err == nil {
				h, err = git.Peel(h)
			}
			if c, commitErr := git.Commit(h); err == nil && commitErr == nil && len(c.Parents) == 0 {
				return c, true
			}
		}
	}
	var first gitstore.Commit
	for at, err := range t.Store().ByFirstParents(head) {
		if err != nil {
			return first, false
		}
		first = at.Commit
	}
	return first, true
}
