package channels

import (
	"slices"

	"tape/hooks"
	"tape/internal/sessions/spool"
)

// edit replaces a waiting message with its edited version. If its turn has begun, or it was
// answered, it stays as it is. No edit makes a command of a message that waits with others: their texts would become
// part of it.
func (m *Manager) edit(session string, e hooks.Envelope) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	id := e.Text(hooks.KeyMessageID)
	if s == nil || m.inbox.headOf(id) != "" {
		return nil
	}
	for _, list := range append(slices.Clone(s.arrived), s.gathered) {
		for i := range list {
			if list[i].id == id && len(list) > 1 && isCommand(e) {
				return nil
			}
			if list[i].id == id {
				err := m.inbox.replace(&list[i], e)
				if isCommand(e) && len(s.gathered) == 1 && s.gathered[0].id == id { // nothing is gathered after a command
					s.flush()
					m.admit(s)
				}
				return err
			}
		}
	}
	for _, b := range s.queue {
		for i := range b.messages {
			if b.messages[i].id == id && len(b.messages) > 1 && isCommand(e) {
				return nil
			}
			if b.messages[i].id == id {
				err := m.inbox.replace(&b.messages[i], e)
				b.merged = merge(b.messages)
				return err
			}
		}
	}
	return nil
}

// replace stores another version of a message. A crash between its two steps leaves both on disk;
// then the later one counts.
func (s *store) replace(k *stored, e hooks.Envelope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	note, err := s.keep(k.id, e)
	if err != nil {
		return err
	}
	old := k.note
	k.message, k.note = e, note
	return spool.Drop(s.fs, []spool.Kept{old})
}
