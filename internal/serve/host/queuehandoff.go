package host

import (
	"encoding/json"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// handoffDraft returns the anchor of a thread: an event, which begins no phase of the tape. It refuses a
// missing name, and a state that is not an object.
func handoffDraft(q *api.HandoffRequest) (repo.Draft, error) {
	if strings.TrimSpace(q.Name) == "" {
		return repo.Draft{}, api.Invalid("name is missing")
	}
	if q.State != nil && jsonl.Get(q.State, "summary") == nil && (len(q.State) == 0 || q.State[0] != '{') {
		return repo.Draft{}, api.Invalid("state is not a JSON object")
	}
	data, err := json.Marshal(map[string]any{"name": q.Name, "summary": q.Summary, "state": api.OrEmpty(q.State)})
	return repo.Event(eventHandoff, data), err
}

// asAnchor turns the event of a thread's handoff into an anchor, as the thread sees it.
func asAnchor(e repo.Entry) (repo.Entry, error) {
	data := jsonl.Get(e.Payload, "data")
	var state map[string]json.RawMessage
	if err := json.Unmarshal(jsonl.Get(data, "state"), &state); err != nil {
		return e, err
	}
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	if summary := jsonl.GetString(data, "summary"); summary != "" {
		state["summary"] = jsonl.Get(data, "summary")
	}
	payload, err := json.Marshal(map[string]any{"name": jsonl.GetString(data, "name"), "state": state})
	e.Kind, e.Payload = repo.KindAnchor, payload
	return e, err
}
