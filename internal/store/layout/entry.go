package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"tape/internal/text/jsonl"
	"time"
	"unicode/utf8"
)

// Entry is one immutable record of a tape, as read.
type Entry struct {
	ID      int64           // 1, 2, 3 … in the tape
	Kind    string          // one of the Kind constants, or any other string
	Payload json.RawMessage // an object, as stored
	Meta    json.RawMessage // an object, as stored; {} when the line has none
	Date    string          // as stored; RFC 3339 if tape wrote it

	Raw       []byte // the stored line without its newline
	Workspace string // the folder of the tape's workspace, if entries of several are shown together
	Tape      string // the tape's name
	Anchor    string // the name of the anchor whose phase the entry belongs to
	AnchorSeq int    // that phase's number, from 1

	At Position // where the line is stored

	Attached []byte // text of its artifacts, if a search reads it
}

// Position says where an entry's line is: the folder below anchors/, the file, the place in it.
type Position struct {
	Folder, File string
	Line         int   // number of lines before it
	Offset       int64 // in bytes
	Length       int   // in bytes, without the newline
}

// Time returns the entry's date; ok is false if it is missing or unreadable.
func (e Entry) Time() (time.Time, bool) {
	t, err := parseDate(e.Date, time.UTC)
	return t, err == nil
}

// Author returns the author that the entry names; "" if it names none, because it is by the tape's
// owner or a program.
func (e Entry) Author() string { return jsonl.GetString(e.Meta, "author") }

// Hidden reports whether the entry is left out of the context: it belongs to a subagent or an abandoned
// branch, or is a note that was not for the model.
func (e Entry) Hidden() bool { return string(jsonl.Get(e.Meta, "context")) == "false" }

// Copied reports whether the agent copied the entry from the history of another session, and says so.
func (e Entry) Copied() bool {
	return len(e.Meta) > len("{}") && string(jsonl.Get(e.Meta, "source", "copied")) == "true"
}

// Role returns a message's role, "system" for a system prompt, else "".
func (e Entry) Role() string {
	switch e.Kind {
	case KindSystem:
		return e.Kind
	case KindMessage:
		return jsonl.GetString(e.Payload, "role")
	}
	return ""
}

// Draft is an entry without an id. Payload must be a JSON object; a nil Meta stands for {}, an empty
// Date for the time of the append.
type Draft struct {
	Kind    string
	Payload json.RawMessage
	Meta    json.RawMessage
	Date    string // RFC 3339, or a date and time without a zone, which is UTC

	extra []byte // unknown members of a parsed line
	Line  []byte // a complete line, stored as it is if its id fits
	fault error  // why it cannot be stored
}

// Message makes a chat message of a role: user, assistant, …
func Message(role, text string) Draft {
	payload := append([]byte(`{"role":`), jsonl.AppendString(nil, role)...)
	payload = jsonl.AppendString(append(payload, `,"content":`...), text)
	return Draft{Kind: KindMessage, Payload: append(payload, '}'), fault: notText("message", role, text)}
}

// System makes a system prompt.
func System(text string) Draft {
	return Draft{Kind: KindSystem, Payload: append(jsonl.AppendString([]byte(`{"content":`), text), '}'), fault: notText("system", text)}
}

// Event makes an event: a run, a timing, a note. data is a JSON object or nil.
func Event(name string, data json.RawMessage) Draft {
	payload := jsonl.AppendString([]byte(`{"name":`), name)
	if data != nil {
		payload = append(append(payload, `,"data":`...), data...)
	}
	return Draft{Kind: KindEvent, Payload: append(payload, '}'), fault: notText("event", name)}
}

// notText returns why a draft cannot be stored, if one of its texts is not valid UTF-8.
func notText(kind string, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return Invalid("", "invalid UTF-8 in the text of a %s", kind)
		}
	}
	return nil
}

// ParseDraft parses one line of NDJSON: kind and payload, optionally meta and date. Members that tape
// adds to its output (id, tape, workspace, anchor, anchor_seq, score, snippet) are ignored, other
// unknown ones kept. Errors: ErrInvalid.
func ParseDraft(line []byte) (Draft, error) {
	d, err := ParseLine(line)
	return fromCodec(d), err
}

// ParseLine is ParseDraft with the codec's type.
func ParseLine(line []byte) (jsonl.Draft, error) {
	d, err := jsonl.ParseDraft(line)
	if err != nil {
		return d, Invalid("", "%v", err)
	}
	if d.Kind == KindAnchor {
		return d, ErrAnchor
	}
	return d, nil
}

// ErrAnchor says that an anchor cannot be appended.
var ErrAnchor error = Invalid("", "an anchor cannot be appended").Try(HandOffInstead)

func fromCodec(d jsonl.Draft) Draft {
	return Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta, Date: d.Date, extra: d.Extra}
}

// StoredLine makes a draft of a complete entry line. It is stored byte for byte if it gets the id in
// the line, and renumbered otherwise.
func StoredLine(line []byte) (Draft, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return Draft{}, Invalid("", "%v", err)
	}
	d, err := e.Draft()
	if err != nil {
		return Draft{}, Invalid("", "%v", err)
	}
	out := fromCodec(d)
	out.Line = e.Raw
	return out, nil
}

// Prepare checks a draft and returns it in the form that is stored. Errors: ErrInvalid.
func (d Draft) Prepare(now func() time.Time) (jsonl.Draft, error) {
	if d.fault != nil {
		return jsonl.Draft{}, d.fault
	}
	if d.Kind == "" {
		return jsonl.Draft{}, Invalid("", "an entry needs a kind")
	}
	if err := checkObject("payload", d.Payload); err != nil {
		return jsonl.Draft{}, err
	}
	if d.Meta != nil {
		if err := checkObject("meta", d.Meta); err != nil {
			return jsonl.Draft{}, err
		}
	}
	out, err := jsonl.Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta, Date: d.Date, Extra: d.extra}.Normalize()
	if err != nil {
		return out, Invalid("", "%v", err)
	}
	out.Date, err = StoredDate(d.Date, now)
	return out, err
}

// StoredDate returns a date as it is stored: RFC 3339 unchanged, another form converted, "" as now.
func StoredDate(date string, now func() time.Time) (string, error) {
	if date == "" {
		return FormatDate(now()), nil
	}
	if _, err := time.Parse(time.RFC3339Nano, date); err == nil {
		return date, nil
	}
	t, err := parseDate(date, time.UTC)
	if err != nil {
		return "", Invalid("write dates as 2026-11-20T09:30:00Z or 2026-11-20", "%v", err)
	}
	return FormatDate(t), nil
}

func checkObject(what string, raw json.RawMessage) error {
	if !jsonl.IsObject(raw) {
		return Invalid("", "%s is not a JSON object: %s", what, excerpt(raw))
	}
	return nil
}

// CompactObject checks that JSON is an object, and removes its white space.
func CompactObject(what string, raw json.RawMessage) ([]byte, error) {
	if err := checkObject(what, raw); err != nil {
		return nil, err
	}
	out, err := jsonl.Compact(nil, raw)
	if err != nil {
		return nil, Invalid("", "%s: %v", what, err)
	}
	return out, nil
}

func excerpt(raw []byte) string {
	if len(raw) == 0 {
		return "it is empty"
	}
	return fmt.Sprintf("%.40q", raw)
}

// JSON returns the entry for other programs: the stored line with "tape", "workspace" unless it is "",
// "anchor" and "anchor_seq" added at its end.
func (e Entry) JSON() []byte {
	end := bytes.LastIndexByte(e.Raw, '}')
	out := make([]byte, 0, len(e.Raw)+len(e.Tape)+len(e.Workspace)+len(e.Anchor)+80)
	out = append(out, e.Raw[:end]...)
	out = jsonl.AppendString(append(out, `,"tape":`...), e.Tape)
	if e.Workspace != "" {
		out = jsonl.AppendString(append(out, `,"workspace":`...), e.Workspace)
	}
	out = jsonl.AppendString(append(out, `,"anchor":`...), e.Anchor)
	return fmt.Appendf(out, `,"anchor_seq":%d}`, e.AnchorSeq)
}
