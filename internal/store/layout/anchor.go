package layout

import (
	"bytes"
	"encoding/json"
	"slices"
	"tape/internal/text/jsonl"
	"unicode/utf8"
)

// Anchor is the entry that a handoff writes.
type Anchor struct {
	Name    string
	State   json.RawMessage // a JSON object, or nil
	Summary string          // kept as state.summary
	Meta    json.RawMessage // a JSON object, or nil
	Date    string          // "" means now

	line []byte // a complete line, stored as it is if its id fits
}

// AnchorDraft returns the anchor's entry. Errors: ErrInvalid.
func AnchorDraft(a Anchor) (Draft, error) {
	if a.line != nil {
		return StoredLine(a.line)
	}
	if err := CheckNewName("an anchor", a.Name); err != nil {
		return Draft{}, err
	}
	state := bytes.TrimSpace(a.State)
	if state != nil {
		compact, err := CompactObject("state", state)
		if err != nil {
			return Draft{}, err
		}
		state = compact
	}
	if !utf8.ValidString(a.Summary) {
		return Draft{}, Invalid("", "the summary is not valid UTF-8")
	}
	if a.Summary != "" {
		summary := jsonl.AppendString([]byte(`"summary":`), a.Summary)
		switch {
		case jsonl.Get(state, "summary") != nil:
			return Draft{}, Invalid("give it once", "there is a summary, and another one in the state")
		case len(state) <= len("{}"):
			state = slices.Concat([]byte("{"), summary, []byte("}"))
		default:
			state = slices.Concat(state[:len(state)-1], []byte(","), summary, []byte("}"))
		}
	}
	payload := jsonl.AppendString([]byte(`{"name":`), a.Name)
	if state != nil {
		payload = append(append(payload, `,"state":`...), state...)
	}
	return Draft{Kind: KindAnchor, Payload: append(payload, '}'), Meta: a.Meta, Date: a.Date}, nil
}

// StoredAnchor returns the anchor of a complete entry line, see StoredLine.
func StoredAnchor(line []byte) (Anchor, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return Anchor{}, Invalid("", "%v", err)
	}
	name := jsonl.GetString(e.Payload, "name")
	if e.Kind != KindAnchor || name == "" {
		return Anchor{}, Invalid("", "not an anchor with a name")
	}
	return Anchor{Name: name, line: e.Raw}, nil
}
