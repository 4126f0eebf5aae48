package importer

import (
	"bytes"
	"errors"
	"strings"

	"tape/internal/jsonl"
)

// openingLines and openingBytes bound how far the start of a session is read
// for the environment it started in.
const (
	openingLines = 64
	openingBytes = 1 << 20
)

// opening is what the first lines of a session say about it.
type opening struct {
	env     [len(envelope)][]byte
	model   []byte
	started string
	first   bool   // a line of the conversation has been seen
	agent   string // the subagent whose own file this is, by its name and first line
	stem    string
}

// errEnough stops a walk over lines.
var errEnough = errors.New("enough")

func (o *opening) damaged(span, string) error { return nil }

func (o *opening) record(at span, raw []byte) error {
	if at.line > openingLines || at.off > openingBytes {
		return errEnough
	}
	var l claudeLine
	l.parse(raw)
	for i, v := range l.env {
		if o.env[i] == nil && len(v) > 2 && v[0] == '"' {
			o.env[i] = bytes.Clone(v)
		}
	}
	if !o.first && l.uuid != nil {
		o.first = true
		if name := agentName(text(l.agent)); l.side && l.agent != nil && name == o.stem {
			o.agent = name
		}
	}
	if o.started == "" {
		o.started = normalDate(l.timestamp)
	}
	if o.model == nil && l.typ == "assistant" {
		if m := jsonl.Get(l.message, "model"); len(m) > 2 && string(m) != syntheticModel {
			o.model = bytes.Clone(m)
		}
	}
	return nil
}

func claudeOpening(r *reading) (*opening, error) {
	o := &opening{stem: r.src.stem()}
	if err := eachLine(r.ctx, r.src, wholeClaude, o); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return o, nil
}

func describeClaude(r *reading, info *Info) error {
	o, err := claudeOpening(r)
	if err != nil {
		return err
	}
	info.Started, info.Agent = o.started, o.agent
	info.Session = text(o.env[envelopeIndex("sessionId")])
	// A session that goes on from another one may begin with that one's lines.
	if stem := r.src.stem(); isUUID(stem) {
		info.Session = stem
	}
	state := newObject(256)
	for i, v := range o.env {
		if v != nil {
			state.raw(envelope[i], v)
		}
	}
	if o.model != nil {
		state.raw("model", o.model)
	}
	if !state.empty() {
		info.State = state.done()
	}
	return nil
}

// isUUID reports whether s looks like 8-4-4-4-12 hexadecimal digits.
func isUUID(s string) bool {
	const shape = "00000000-0000-0000-0000-000000000000"
	if len(s) != len(shape) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; shape[i] == '-' && c != '-' || shape[i] == '0' && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}
