package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"tape/hooks"
	"tape/repo"
)

// resume goes on with the messages that were on disk: turns that had begun, with all their
// messages, then the others as if they had just come.
func (m *Manager) resume(ctx context.Context, pending []kept) error {
	begun := map[string]*batch{}
	var turns []*batch
	var fresh []kept
	for _, k := range pending {
		head := m.inbox.headOf(k.id)
		switch {
		case m.inbox.wasAnswered(k.id):
			if err := m.unknown(ctx, k); err != nil {
				return err
			}
		case head == "":
			fresh = append(fresh, k)
		case begun[head] == nil:
			begun[head] = &batch{kept: []kept{k}}
			turns = append(turns, begun[head])
		case k.id == head:
			begun[head].kept = append([]kept{k}, begun[head].kept...)
		default:
			begun[head].kept = append(begun[head].kept, k)
		}
	}
	m.mu.Lock()
	for _, b := range turns {
		b.message = merged(b.kept)
		m.enqueue(m.session(sessionOf(b.message)), b, false)
	}
	m.mu.Unlock()
	for _, k := range fresh {
		m.arrive(sessionOf(k.message), k)
	}
	return nil
}

// sessionOf is the session that a message on disk was for.
func sessionOf(e hooks.Envelope) string {
	return cmp.Or(e.Text(hooks.KeySession), e.Text(hooks.KeyChannel)+":"+e.Text(hooks.KeyChat))
}

// eventDelivery says on a tape that an answer may not have arrived.
const eventDelivery = "delivery"

// looked is how many entries are looked at for an event that a crash has let be written already.
const looked = 1000

// unknown drops a message whose answer was being sent when the program ended. Its tape says so.
func (m *Manager) unknown(ctx context.Context, k kept) error {
	m.o.Log.Warn("it is not known whether an answer arrived", "session", sessionOf(k.message), "message", k.id)
	if m.o.Tape != nil {
		t, err := m.o.Tape(ctx, sessionOf(k.message))
		if err == nil {
			err = noteUnknown(ctx, t, k)
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			return err
		}
	}
	return m.inbox.done([]kept{k})
}

func noteUnknown(ctx context.Context, t *repo.Tape, k kept) error {
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
		if seen++; seen > looked {
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
