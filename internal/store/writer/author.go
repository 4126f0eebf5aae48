package writer

import (
	"bytes"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// withAuthor notes in an entry's meta who writes it, if that is not the tape's owner. A given author stays.
// Without a name in git's configuration nobody is noted.
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
