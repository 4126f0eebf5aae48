package writer

import (
	"bytes"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/snapshot"
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

// owner is the author of the tape's first commit, which the record keeps; "" if it cannot be told.
func (w *Writer) owner() string {
	if w.rec.Owner == "" {
		if c, ok := w.firstCommit(); ok {
			w.rec.Owner = identity(c.Author)
		}
	}
	return w.rec.Owner
}

// firstCommit is where the tape begins; of a fork, where its tape does. The tag of the first
// phase leads there at once; where it is missing, commit after commit.
func (w *Writer) firstCommit() (gitstore.Commit, bool) {
	git := w.T.Store().Git()
	if v, err := snapshot.AtCommit(w.T.Store(), w.Head); err == nil {
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
	for at, err := range w.T.Store().ByFirstParents(w.Head) {
		if err != nil {
			return first, false
		}
		first = at.Commit
	}
	return first, true
}
