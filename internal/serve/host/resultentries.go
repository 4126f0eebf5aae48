package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// The results that a run reports become entries.

// Limits of a value of state and its key, in bytes.
const (
	maxState    = 256 << 10
	maxStateKey = 200
)

// inProtocol reports whether the protocol has this type of result. Results of other types are recorded, too,
// but with a warning.
func inProtocol(name string) bool {
	switch name {
	case "message.delta", "message.completed", "tool.call.started", "tool.call.completed", "state.updated", "action.requested", "run.completed", "run.failed":
		return true
	}
	return false
}

// resultDraft returns the entry for a result: a message for message.completed, an event for any other type.
func resultDraft(res api.RunResult) (repo.Draft, error) {
	if res.Type != "message.completed" {
		return repo.Event(res.Type, res.Data), nil
	}
	text := jsonl.Get(res.Data, "content")
	if text == nil {
		text = jsonl.Get(res.Data, "text")
	}
	if text == nil {
		return repo.Draft{}, api.Invalid("the message of result %d has no content", res.Sequence)
	}
	payload, err := json.Marshal(map[string]json.RawMessage{"role": json.RawMessage(`"assistant"`), "content": text})
	return repo.Draft{Kind: repo.KindMessage, Payload: payload}, err
}

// resultState returns the entry that sets the state in a result of type state.updated, and the name of the tape for
// it: the run's for the scope conversation, server for others.
func resultState(r *run, res api.RunResult, server string) (d repo.Draft, tape string, err error) {
	var p statePayload
	err = json.Unmarshal(res.Data, &p)
	switch {
	case err != nil, p.Key == "", len(p.Key) > maxStateKey, len(p.Value) == 0 && !p.Deleted:
		return d, "", api.Invalid("the data of result %d has to be {scope, key, value} or {scope, key, deleted}", res.Sequence)
	case len(p.Value) > maxState:
		return d, "", api.TooLarge(fmt.Sprintf("the value of result %d", res.Sequence), maxState)
	}
	p.Owner, tape = r.Owner(p.Scope), server
	if p.Scope == scopeConversation {
		tape = r.Tape
	} else if p.Owner == "" {
		return d, "", api.NotFound("scope: " + p.Scope)
	}
	if p.Deleted {
		p.Value = json.RawMessage("null")
	}
	d.Kind = kindState
	d.Payload, err = json.Marshal(p)
	return d, tape, cmp.Or(r.Require("state.write"), err)
}

// recordedResult returns the sequence numbers of a run's results that are on its tape from an entry on. end is the
// status with which these results end the run, "" if they do not.
func recordedResult(ctx context.Context, rev *repo.Revision, runID string, from int64) (seen *runSequences, end string, err error) {
	seen = &runSequences{}
	for e, err := range rev.Entries(ctx, max(1, from)) {
		if err != nil {
			return nil, "", err
		}
		var m struct {
			Run      string `json:"run_id"`
			Sequence int64  `json:"sequence"`
		}
		if json.Unmarshal(e.Meta, &m) != nil || m.Run != runID || m.Sequence == 0 {
			continue
		}
		seen.Add(m.Sequence)
		switch jsonl.GetString(e.Payload, "name") {
		case "run.completed":
			end = completed
		case "run.failed":
			end = failed
		}
	}
	return seen, end, nil
}
