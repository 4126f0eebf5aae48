package channels

import (
	"context"
	"errors"
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

// TakeBack removes a message that waits for a turn or steers one. It reports false if the message is unknown or a
// turn has read it already, and returns an error while it is decided which of the two the message does.
func (m *Manager) TakeBack(ctx context.Context, session, id string) (bool, error) {
	m.mu.Lock()
	s := m.sessions[session]
	if s == nil {
		m.mu.Unlock()
		return false, nil
	}
	waiting, undecided := m.unqueue(s, id), slices.Contains(idsOf(s.decided), id)
	m.forget(s)
	m.mu.Unlock()
	switch {
	case undecided:
		return false, errors.New("the message is just being assigned to a turn: try again in a moment")
	case len(waiting) > 0:
		return true, m.inbox.done(waiting)
	}
	s.steering.Lock()
	defer s.steering.Unlock()
	at := slices.IndexFunc(s.steered, func(k stored) bool { return k.id == id })
	inbox, err := m.rt.SteeringInbox(ctx)
	if err != nil || at < 0 {
		return false, err
	}
	steered, err := inbox.Drain(ctx, session)
	found := false
	for _, e := range steered {
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

// unqueue removes a message from those of a session that wait for their admission or a turn, and returns it; m.mu is
// held.
func (m *Manager) unqueue(s *session, id string) (taken []stored) {
	without := func(list []stored) []stored {
		return slices.DeleteFunc(list, func(k stored) bool {
			if k.id != id {
				return false
			}
			taken = append(taken, k)
			return true
		})
	}
	s.gathered = without(s.gathered)
	for i := range s.arrived {
		s.arrived[i] = without(s.arrived[i])
	}
	s.arrived = slices.DeleteFunc(s.arrived, func(list []stored) bool { return len(list) == 0 })
	for _, b := range s.queue {
		if len(b.messages) > 1 && m.inbox.headOf(id) != "" {
			continue // the turn has begun before, with all its messages
		}
		if b.messages = without(b.messages); len(b.messages) > 0 {
			b.merged = merge(b.messages)
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(b *batch) bool { return len(b.messages) == 0 })
	return taken
}
