package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"tape/hooks"
	"tape/repo"
)

// resume continues with the messages on disk: first the turns that had begun, with all their
// messages, then the others as if they had just come.
func (m *Manager) resume(ctx context.Context, pending []stored) error {
	begun := map[string]*batch{}
	var turns []*batch
	var fresh []stored
	for _, k := range pending {
		head := m.inbox.headOf(k.id)
		switch {
		case m.inbox.wasAnswered(k.id):
			if err := m.dropUnknown(ctx, k); err != nil {
				return err
			}
		case head == "":
			fresh = append(fresh, k)
		case begun[head] == nil:
			begun[head] = &batch{messages: []stored{k}}
			turns = append(turns, begun[head])
		case k.id == head:
			begun[head].messages = append([]stored{k}, begun[head].messages...)
		default:
			begun[head].messages = append(begun[head].messages, k)
		}
	}
	m.mu.Lock()
	for _, b := range turns {
		b.merged = merge(b.messages)
		m.enqueue(m.session(sessionOf(b.merged)), b, false)
	}
	m.mu.Unlock()
	for _, k := range fresh {
		m.arrive(sessionOf(k.message), k)
	}
	return nil
}

// sessionOf returns the session of a message on disk.
func sessionOf(e hooks.Envelope) string {
	return cmp.Or(e.Text(hooks.KeySession), e.Text(hooks.KeyChannel)+":"+e.Text(hooks.KeyChat))
}

// eventDelivery records that an answer may not have arrived.
const eventDelivery = "delivery"

// searchLimit is how many events are searched for one that was written before a crash.
const searchLimit = 1000

// dropUnknown drops a message whose answer was being sent when the program ended, and records that.
func (m *Manager) dropUnknown(ctx context.Context, k stored) error {
	m.o.Log.Warn("an answer may not have arrived", "session", sessionOf(k.message), "message", k.id)
	if m.o.Tape != nil {
		t, err := m.o.Tape(ctx, sessionOf(k.message))
		if err == nil {
			err = recordUnknown(ctx, t, k)
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			return err
		}
	}
	return m.inbox.done([]stored{k})
}

func recordUnknown(ctx context.Context, t *repo.Tape, k stored) error {
	seen := 0
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindEvent}, Reverse: true}) {
		if err != nil {
			return err
		}
		var event struct {
			Name string `json:"name"`
			Data struct {
				ID string `json:"message_id"`
			} `json:"data"`
		}
		if json.Unmarshal(e.Payload, &event) == nil && event.Name == eventDelivery && event.Data.ID == k.id {
			return nil
		}
		if seen++; seen > searchLimit {
			break
		}
	}
	data, err := json.Marshal(map[string]string{"status": "unknown", hooks.KeyMessageID: k.id,
		hooks.KeyChannel: k.message.Text(hooks.KeyChannel), hooks.KeyChat: k.message.Text(hooks.KeyChat),
		"message": "the program ended while the answer was being sent; it is not known whether it arrived"})
	if err != nil {
		return err
	}
	_, err = t.Append(ctx, nil, repo.Event(eventDelivery, data))
	return err
}
