package layout

import (
	"slices"
	"strings"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"time"
)

// KnownKinds returns the kinds that the format defines.
func KnownKinds() []string {
	return []string{KindSystem, KindMessage, KindToolCall, KindToolResult, KindAnchor, KindEvent, KindError}
}

// SimilarKind returns the known kind that a misspelt kind probably means, one or two letters away; ""
// for none. If two letters differ, the first must match: agent is a kind of its own, not an event.
func SimilarKind(kind string) string {
	const most = 2
	folded := []rune(strings.ToLower(kind))
	if slices.Contains(KnownKinds(), kind) || len(folded) > 16 {
		return ""
	}
	for n := range most + 1 {
		for _, known := range KnownKinds() {
			if text.Distance(folded, []rune(known), most) == n && (n < most || folded[0] == rune(known[0])) {
				return known
			}
		}
	}
	return ""
}

// KnownRoles returns the roles of a message that every view knows.
func KnownRoles() []string { return []string{"user", "assistant", "system", "developer", "tool"} }

// OtherRoles returns names that some programs use for known roles.
func OtherRoles() []string { return []string{"human", "model", "ai", "function"} }

// SimilarRole returns the known role that a misspelt role probably means, one letter away, two in a
// long one; "" for none. If two letters differ, the first must match.
func SimilarRole(role string) string {
	folded := []rune(strings.ToLower(role))
	if slices.Contains(KnownRoles(), role) || slices.Contains(OtherRoles(), role) || len(folded) > 16 {
		return ""
	}
	for _, known := range KnownRoles() {
		most := 1 + len(known)/6
		if n := text.Distance(folded, []rune(known), most); n <= most && (n < 2 || folded[0] == rune(known[0])) {
			return known
		}
	}
	return ""
}

// field is a member that the payload of a known kind must or may have.
type field struct {
	name string
	what string                           // describes valid values
	fits func(value, payload []byte) bool // value is nil if missing
}

// shape describes payloads of a known kind.
type shape struct {
	fields  []field
	example string
}

var shapes = map[string]shape{
	KindMessage: {[]field{{"role", "a string that is not empty", isName}, {"content", "a string, or a list of parts", isContent}},
		`{"role":"user","content":"…"}`},
	KindSystem:     {[]field{{"content", "a string", isString}}, `{"content":"…"}`},
	KindToolCall:   {[]field{{"calls", "a list of objects", isObjects}}, `{"calls":[{"id":"…","type":"function","function":{"name":"…","arguments":"…"}}]}`},
	KindToolResult: {[]field{{"results", "a list", isList}}, `{"results":["…"]}`},
	KindAnchor:     {[]field{{"name", "a string that is not empty", isName}, {"state", "an object", mayBeObject}}, `{"name":"…"}`},
	KindEvent:      {[]field{{"name", "a string that is not empty", isName}, {"data", "an object", mayBeObject}}, `{"name":"…","data":{}}`},
	KindError: {[]field{{"kind", "a string that is not empty", isName}, {"message", "a string", isString}, {"details", "an object", mayBeObject}},
		`{"kind":"…","message":"…"}`},
}

// CheckPayload refuses entries that readers could not understand: a known kind whose payload lacks a
// required member or has one of the wrong type, and a misspelt kind or role. It is for input from
// people and programs; what is stored, imported, pulled or merged is accepted as it is.
func CheckPayload(kind string, payload []byte) error {
	want, ok := shapes[kind]
	if !ok {
		if meant := SimilarKind(kind); meant != "" {
			return Invalid("did you mean "+meant+"? the name of a kind of your own must differ more", "there is no kind %q", kind)
		}
		return nil
	}
	for _, f := range want.fields {
		if !f.fits(jsonl.Get(payload, f.name), payload) {
			return Invalid("as in "+want.example, "the payload of an entry of kind %s needs %q: %s", kind, f.name, f.what)
		}
	}
	if kind == KindMessage {
		role := jsonl.GetString(payload, "role")
		if meant := SimilarRole(role); meant != "" {
			return Invalid("did you mean "+meant+"? a role of your own must differ more", "there is no role %q", role)
		}
	}
	return nil
}

// Check is CheckPayload for a draft. If its payload is not JSON, the error says so.
func (d Draft) Check() error {
	err := CheckPayload(d.Kind, d.Payload)
	if err == nil {
		return nil
	}
	if _, first := d.Prepare(time.Now); first != nil {
		return first
	}
	return err
}

func isString(value, _ []byte) bool { return len(value) > 0 && value[0] == '"' }

func isName(value, _ []byte) bool { return isString(value, nil) && string(value) != `""` }

func isList(value, _ []byte) bool { return len(value) > 0 && value[0] == '[' }

func isNull(value []byte) bool { return value == nil || string(value) == "null" }

func isObjects(value, _ []byte) bool {
	for el := range jsonl.Elements(value) {
		if !jsonl.IsObject(el) {
			return false
		}
	}
	return isList(value, nil)
}

func mayBeObject(value, _ []byte) bool { return isNull(value) || jsonl.IsObject(value) }

// isContent accepts a message without content if it has something else, such as the calls of a model
// that says nothing.
func isContent(value, payload []byte) bool {
	if !isNull(value) {
		return isString(value, nil) || isList(value, nil)
	}
	for _, other := range []string{"tool_calls", "function_call", "refusal", "audio"} {
		if !isNull(jsonl.Get(payload, other)) {
			return true
		}
	}
	return false
}
