package writer

import (
	"bytes"
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
	name := snapshot.Identity(who)
	if owner := w.owner(); owner == "" || owner == name {
		return d
	}
	d.Meta = withMember(d.Meta, jsonl.AppendString([]byte(`"author":`), name))
	return d
}

// withMember adds a member to an object, which may be nil. What is no object stays, and is refused
// later.
func withMember(meta, member []byte) []byte {
	meta = bytes.TrimSpace(meta)
	switch body, ok := bytes.CutSuffix(meta, []byte("}")); {
	case len(meta) == 0 || ok && string(bytes.TrimSpace(body)) == "{":
		return append(append([]byte("{"), member...), '}')
	case ok:
		return append(append(append(bytes.Clone(body), ','), member...), '}')
	}
	return meta
}

// owner is who began the tape, which the record keeps.
func (w *Writer) owner() string {
	if w.rec.Owner == "" {
		w.rec.Owner = snapshot.Owner(w.T, w.Head)
	}
	return w.rec.Owner
}
