package importer

import (
	"errors"

	"tape/internal/jsonl"
)

type codexOpening struct{ info *Info }

func (o *codexOpening) damaged(span, string) error { return nil }

func (o *codexOpening) record(at span, raw []byte) error {
	if at.line > openingLines || at.off > openingBytes {
		return errEnough
	}
	it := parseCodex(raw)
	if o.info.Started == "" {
		o.info.Started = it.date
	}
	switch it.typ {
	case "session_meta":
		if o.info.Session != "" {
			return nil // of the session that this one was forked from
		}
		o.info.Session = jsonl.GetString(it.payload, "id")
		o.info.State = pick(it.payload, "cwd", "cli_version", "originator", "source", "model_provider", "git")
	case "turn_context":
		if m := jsonl.Get(it.payload, "model"); m != nil && o.info.State != nil {
			o.info.State = with(o.info.State, "model", m)
		}
		return errEnough
	}
	return nil
}

// with is an owned copy of an object with one more member.
func with(obj []byte, name string, v []byte) []byte {
	o := newObject(len(obj) + len(name) + len(v))
	for name, v := range jsonl.Fields(obj) {
		o.raw(name, v)
	}
	o.raw(name, v)
	return o.done()
}

func describeCodex(r *reading, info *Info) error {
	err := eachLine(r.ctx, r.src, wholeCodex, &codexOpening{info: info})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if string(info.State) == "{}" {
		info.State = nil
	}
	return err
}
