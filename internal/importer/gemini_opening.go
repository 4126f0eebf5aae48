package importer

import (
	"errors"

	"tape/internal/jsonl"
)

type geminiOpening struct{ info *Info }

func (o *geminiOpening) damaged(span, string) error { return nil }

func (o *geminiOpening) record(at span, raw []byte) error {
	if at.line > openingLines {
		return errEnough
	}
	for name, v := range jsonl.Fields(raw) {
		if err := o.field(name, v); err != nil {
			return err
		}
	}
	if o.info.Started == "" {
		o.info.Started = normalDate(jsonl.Get(raw, "timestamp"))
	}
	return nil
}

func (o *geminiOpening) field(name string, v []byte) error {
	switch name {
	case "sessionId":
		if o.info.Session == "" {
			o.info.Session = text(v)
		}
	case "startTime":
		if o.info.Started == "" {
			o.info.Started = normalDate(v)
		}
	case "projectHash", "model":
		if jsonl.Get(o.info.State, name) == nil {
			o.info.State = with(orEmpty(o.info.State), name, v)
		}
	}
	return nil
}

func describeGemini(r *reading, info *Info) error {
	doc, err := isDocument(r.src)
	if err != nil {
		return err
	}
	o := &geminiOpening{info: info}
	if doc {
		err = eachElement(r.ctx, r.src, o, o.field)
	} else {
		err = eachLine(r.ctx, r.src, wholeGemini, o)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}
