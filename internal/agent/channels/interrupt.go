package channels

import (
	"context"
	"slices"

	"tape/hooks"
)

// commandStop is the comma command that interrupts a session's turn. Other commands wait for the end of the
// turn. It is not recorded, because the interruption is.
const commandStop = ",stop"

// Cancel ends the running turn of a session, and reports whether there is one.
func (m *Manager) Cancel(session string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil || s.cancel == nil {
		return false
	}
	s.cancel()
	return true
}

// interrupt answers the command stop.
func (m *Manager) interrupt(ctx context.Context, session string, e hooks.Envelope) error {
	said := "No turn is running."
	if m.Cancel(session) {
		said = "The turn is interrupted."
	}
	out := hooks.Envelope{hooks.KeySession: session, hooks.KeyContent: said, hooks.KeyKind: hooks.KindCommand}
	for _, key := range []string{hooks.KeyChannel, hooks.KeyChat, hooks.KeyOutputChannel} {
		if v, ok := e[key]; ok {
			out[key] = v
		}
	}
	_, err := m.rt.Dispatch(ctx, out)
	return err
}

// TakeBack removes a message that waits for a turn or steers one. It reports false if a turn has read the
// message already.
func (m *Manager) TakeBack(ctx context.Context, session, id string) (bool, error) {
	m.mu.Lock()
	s := m.sessions[session]
	queued := m.unqueue(s, id)
	m.mu.Unlock()
	if s == nil || len(queued) > 0 {
		return len(queued) > 0, m.inbox.done(queued)
	}
	s.steering.Lock()
	defer s.steering.Unlock()
	at := slices.IndexFunc(s.steered, func(k stored) bool { return k.id == id })
	inbox, err := m.rt.SteeringInbox(ctx)
	if err != nil || at < 0 {
		return false, err
	}
	waiting, err := inbox.Drain(ctx, session)
	found := false
	for _, e := range waiting {
		if e.Text(hooks.KeyMessageID) == id {
			found = true
			continue
		}
		if e := inbox.Put(ctx, session, e); e != nil {
			err = e
		}
	}
	if !found || err != nil {
		return false, err
	}
	taken := s.steered[at]
	s.steered = slices.Delete(s.steered, at, at+1)
	return true, m.inbox.done([]stored{taken})
}

// unqueue removes a message that is alone in its batch from a session's queue, and returns it; m.mu is held.
func (m *Manager) unqueue(s *session, id string) []stored {
	if s == nil {
		return nil
	}
	at := slices.IndexFunc(s.queue, func(b *batch) bool { return len(b.messages) == 1 && b.messages[0].id == id })
	if at < 0 {
		return nil
	}
	taken := s.queue[at].messages
	s.queue = slices.Delete(s.queue, at, at+1)
	return taken
}
