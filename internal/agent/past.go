package agent

import (
	"context"
	"encoding/json"
	"slices"

	"tape/hooks"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// turnsBack is how many turns are searched for a message that is delivered again, and for the last
// system prompt; entriesBack is how many entries of other turns. Messages that are delivered again
// were waiting when the program ended, so they are in the last turns.
const (
	turnsBack   = 20
	entriesBack = 1000
)

// past is what a tape already has of a turn, and of what came before it.
type past struct {
	system    string          // the last system prompt
	messages  map[string]bool // the message_ids of users' messages
	entries   []repo.Entry    // the turn's, in order
	end       place           // of the tape
	elsewhere bool            // the message was added to another turn, which answers it

	prompt    json.RawMessage // the content of the turn's message, nil if it was not recorded
	prompted  int             // the last step with a prompt of its own
	step      int             // the last step that ended
	status    string          // of that step, or of the command
	problem   string
	open      bool   // a step has calls, and has not ended
	waiting   []call // its calls without a result
	cancelled bool
	partial   bool   // an answer that was cut off follows the prompt
	handoffs  int    // because the context was too long
	tight     int    // how many of them came one after the other, without an answer between them
	text      string // the assistant's messages, or the command's output
	promptAt  place
}

// lookBack reads what a tape has of a message's turn.
func lookBack(ctx context.Context, t *repo.Tape, id string) (*past, error) {
	p := &past{messages: map[string]bool{}}
	turns, others, system := 0, 0, false
	for e, err := range t.Entries(ctx, repo.Query{Reverse: true}) {
		if err != nil {
			return nil, err
		}
		if turns > turnsBack || others > entriesBack {
			break
		}
		if p.end.id == 0 {
			p.end = placeOf(e)
		}
		var m meta
		err := json.Unmarshal(e.Meta, &m)
		if own := m.turn() == id && id != ""; !own {
			others++
		} else {
			p.entries = append(p.entries, e)
		}
		if err != nil || m.Context != nil && !*m.Context {
			continue // another program's, or a subagent's
		}
		switch e.Kind {
		case repo.KindSystem:
			if !system {
				p.system, system = jsonl.GetString(e.Payload, "content"), true
			}
		case repo.KindMessage:
			if e.Role() == "user" && m.MessageID != "" {
				p.messages[m.MessageID] = true
				p.elsewhere = p.elsewhere || m.MessageID == id && m.turn() != id
			}
		case repo.KindEvent:
			if name, s := eventOf(e); name == eventStep && (s.Status == statusOK || s.Status == statusError) {
				turns++
			}
		}
	}
	slices.Reverse(p.entries)
	for _, e := range p.entries {
		if err := p.add(e); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// eventData are the data of a turn's events.
type eventData struct {
	Step   int    `json:"step"`
	Status string `json:"status"`
	Error  string `json:"error"`
	Output string `json:"output"`
	Model  string `json:"model"`
	Switch string `json:"model_switch"`
}

// eventOf reads an event of a turn. The name is "" if the event's data have another form.
func eventOf(e repo.Entry) (name string, data eventData) {
	var event struct {
		Name string    `json:"name"`
		Data eventData `json:"data"`
	}
	if e.Kind != repo.KindEvent || json.Unmarshal(e.Payload, &event) != nil {
		return "", eventData{}
	}
	return event.Name, event.Data
}

// add updates p with an entry of the turn.
func (p *past) add(e repo.Entry) error {
	var m meta
	if err := json.Unmarshal(e.Meta, &m); err != nil {
		return err
	}
	switch e.Kind {
	case repo.KindMessage:
		p.addMessage(e, m)
	case repo.KindToolCall:
		p.open = true
		calls, err := callsOf(e)
		p.waiting = calls
		return err
	case repo.KindToolResult:
		p.waiting = slices.DeleteFunc(p.waiting, func(c call) bool { return slices.Contains(m.CallIDs, c.ID) })
	case repo.KindEvent:
		switch name, data := eventOf(e); name {
		case eventRun:
			p.cancelled = data.Status == statusCancelled
		case eventStep:
			p.step, p.status, p.problem, p.open = data.Step, data.Status, data.Error, false
			if p.tight++; data.Status == statusAutoHandoff {
				p.handoffs++
			} else {
				p.tight = 0
			}
		case eventCommand:
			p.status, p.text = data.Status, data.Output
		}
	}
	return nil
}

func (p *past) addMessage(e repo.Entry, m meta) {
	switch {
	case e.Role() == "assistant" && m.Partial:
		p.partial = m.Context == nil
	case e.Role() == "assistant":
		text := jsonl.GetString(e.Payload, "content")
		p.text += hooks.Between(p.text, text) + text
	case e.Role() != "user" || m.Turn != "":
	case m.Step > 0:
		p.prompted = m.Step
	default:
		p.prompt, p.promptAt, p.partial = jsonl.Get(e.Payload, "content"), placeOf(e), false
	}
}

// ended reports whether the turn has ended.
func (p *past) ended() bool {
	return p.status == statusOK || p.status == statusError && !p.cancelled
}

// callsOf returns the calls in an entry.
func callsOf(e repo.Entry) (out []call, err error) {
	var p callPayload
	err = json.Unmarshal(e.Payload, &p)
	for _, c := range p.Calls {
		out = append(out, call{ID: c.ID, Name: c.Function.Name})
	}
	return out, err
}
