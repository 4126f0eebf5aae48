package snapshot

import (
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Identity returns a person as Name <mail>.
func Identity(s gitstore.Signature) string { return s.Name + " <" + s.Email + ">" }

// Owner returns who created the tape, or the tape that a fork was made from: the author of the first commit,
// as Name <mail>, or "".
func Owner(t *workspace.Tape, head gitstore.Hash) string {
	if c, ok := firstCommit(t, head); ok {
		return Identity(c.Author)
	}
	return ""
}

// firstCommit returns the first commit of a history. It looks at the newest few commits, then at the tag of the
// first phase, and reads all commits only if these do not lead to it.
func firstCommit(t *workspace.Tape, head gitstore.Hash) (gitstore.Commit, bool) {
	git := t.Store().Git()
	near := 4
	for c, err := range t.Store().ByFirstParents(head) {
		if near--; err != nil || near < 0 {
			break
		}
		if len(c.Parents) == 0 {
			return c.Commit, true
		}
	}
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
	for ancestor, err := range t.Store().ByFirstParents(head) {
		if err != nil {
			return first, false
		}
		first = ancestor.Commit
	}
	return first, true
}
