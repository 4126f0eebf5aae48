package writer

import (
	"bytes"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// authored notes in an entry's meta who writes it, where that is not who began the tape. An
// author that is given stays; who is not told to git is nobody in particular.
func (w *Writer) authored(d layout.Draft) layout.Draft {
	who, err := w.T.Store().Git().Config().Author()
	meta := bytes.TrimSpace(d.Meta)
	if err != nil || who.Name == "" || who.Email == "" || jsonl.Get(meta, "author") != nil {
		return d
	}
	name := identity(who)
	if owner := w.owner(); owner == "" || owner == name {
		return d
	}
	member := jsonl.AppendString([]byte(`"author":`), name)
	switch body, ok := bytes.CutSuffix(meta, []byte("}")); {
	case len(meta) == 0 || ok && string(bytes.TrimSpace(body)) == "{":
		d.Meta = append(append([]byte("{"), member...), '}')
	case ok:
		d.Meta = append(append(append(bytes.Clone(body), ','), member...), '}')
	}
	return d
}

func identity(s gitstore.Signature) string { return s.Name + " <" + s.Email + ">" }

// owner is who began the tape, which the record keeps.
func (w *Writer) owner() string {
	if w.rec.Owner == "" {
		w.rec.Owner = Owner(w.T, w.Head)
	}
	return w.rec.Owner
}

// Owner is who began the tape that a commit is of, or of a fork the tape that it is of: the
// author of the first commit, as Name <mail>. "" if it cannot be told.
func Owner(t *workspace.Tape, head gitstore.Hash) string {
	c, ok := firstCommit(t, head)
	if !ok {
		return ""
	}
	return identity(c.Author)
}

// firstCommit is where a history begins. The tag of the first phase leads there at once; where
// it is missing, commit after commit.
func firstCommit(t *workspace.Tape, head gitstore.Hash) (gitstore.Commit, bool) {
	git := t.Store().Git()
	if v, err := snapshot.AtCommit(t.Store(), head); err == nil {
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
