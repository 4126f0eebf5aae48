package writer

import (
	"bytes"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// authored notes in an entry's meta who writes it, where that is not who began the tape. An
// author that is given stays; who is not told to git is nobody in particular.
func (w *Writer) authored(d layout.Draft) layout.Draft {
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

// owner is who began the tape, which the record keeps.
func (w *Writer) owner() string {
	if w.rec.Owner == "" {
		w.rec.Owner = snapshot.Owner(w.T, w.Head)
	}
	return w.rec.Owner
}
