package agent

import (
	"context"
	"encoding/json"
	"slices"

	"tape/hooks"
	"tape/repo"
)

// turnsBack is how many turns are looked through for a message that comes again, and for the
// system prompt that was recorded last; entriesBack how many entries of others. Messages that
// come again were waiting when the program ended, so they are in the last turns.
const (
	turnsBack   = 20
	entriesBack = 1000
)

// past is what a tape has already of a turn, and before it.
type past struct {
	system    string          // the system prompt that was recorded last
	messages  map[string]bool // the message_ids of what was said
	entries   []repo.Entry    // the turn's, in their order
	end       place           // of the tape
	elsewhere bool            // the message came into another turn, and was heard there

	prompt    json.RawMessage // the content of the turn's message, nil if it was not recorded
	prompted  int             // the step whose prompt was recorded last
	step      int             // the last that ended
	status    string          // how
	problem   string
	open      bool // a step has calls, and has not ended
	waiting   []call
	cancelled bool
	handedOff bool   // by itself
	text      string // what the assistant has said
	asked     place  // where the prompt is
}

// lookBack reads what a tape has of the turn of a message.
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
			continue // somebody else's, or a subagent's
		}
		switch e.Kind {
		case repo.KindSystem:
			if !system {
				p.system, system = content(e), true
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
		if err := p.take(e); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// eventData is what is read of the events of a turn.
type eventData struct {
	Step   int    `json:"step"`
	Status string `json:"status"`
	Error  string `json:"error"`
	Output string `json:"output"`
	Model  string `json:"model"`
	Switch string `json:"model_switch"`
}

// eventOf reads an event; one of somebody else may look otherwise, and then has no name.
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

// content is the text of a message or of a system prompt.
func content(e repo.Entry) string {
	var p struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return ""
	}
	return p.Content
}

// take brings in an entry of the turn.
func (p *past) take(e repo.Entry) error {
	var m meta
	if err := json.Unmarshal(e.Meta, &m); err != nil {
		return err
	}
	switch e.Kind {
	case repo.KindMessage:
		p.said(e, m)
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
			p.handedOff = p.handedOff || data.Status == statusAutoHandoff
		case eventCommand:
			p.status, p.text = data.Status, data.Output
		}
	}
	return nil
}

func (p *past) said(e repo.Entry, m meta) {
	var said struct {
		Content json.RawMessage `json:"content"`
	}
	switch {
	case e.Role() == "assistant" && !m.Partial:
		text := content(e)
		p.text += hooks.Between(p.text, text) + text
	case e.Role() != "user" || m.Turn != "" || json.Unmarshal(e.Payload, &said) != nil:
	case m.Step > 0:
		p.prompted = m.Step
	default:
		p.prompt, p.asked = said.Content, placeOf(e)
	}
}

// over reports whether the turn has ended.
func (p *past) over() bool {
	return p.status == statusOK || p.status == statusError && !p.cancelled
}

// callsOf are the calls that an entry has.
func callsOf(e repo.Entry) (out []call, err error) {
	var p callPayload
	err = json.Unmarshal(e.Payload, &p)
	for _, c := range p.Calls {
		out = append(out, call{ID: c.ID, Name: c.Function.Name})
	}
	return out, err
}
