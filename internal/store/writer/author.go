package writer

import (
	"bytes"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// withAuthor sets meta.author to the person in git's configuration. It changes nothing if that is the
// tape's owner, if the owner is unknown, if meta has an author already, or if git has no name or email.
func (w *Writer) withAuthor(d layout.Draft) layout.Draft {
	who, err := w.T.Store().Git().Config().Author()
	meta := bytes.TrimSpace(d.Meta)
	if err != nil || who.Name == "" || who.Email == "" || jsonl.Get(meta, "author") != nil {
		return d
	}
	name := snapshot.Identity(who)
	if owner := w.owner(); owner == "" || owner == name {
		return d
	}
	d.Meta = jsonl.WithMember(d.Meta, jsonl.AppendString([]byte(`"author":`), name))
	return d
}

// owner returns who created the tape, and caches it in the record.
func (w *Writer) owner() string {
	if w.rec.Owner == "" {
		w.rec.Owner = snapshot.Owner(w.T, w.Head)
	}
	return w.rec.Owner
}
