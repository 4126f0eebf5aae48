package channels

import (
	"encoding/json"
	"fmt"
	"slices"

	"tape/hooks"
	"tape/internal/sessions/spool"
)

// edit puts a message that was changed by its sender into the place of the one that waits. One
// that a turn works on, or that was answered, stays as it is.
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
			if list[i].id == id {
				return m.inbox.replace(&list[i], e)
			}
		}
	}
	for _, b := range s.queue {
		for i := range b.kept {
			if b.kept[i].id == id {
				err := m.inbox.replace(&b.kept[i], e)
				b.message = merged(b.kept)
				return err
			}
		}
	}
	return nil
}

// replace makes another message safe in the place of one. After a crash between the two steps
// both are there, and the later one counts.
func (s *store) replace(k *kept, e hooks.Envelope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("message %q: %w", k.id, err)
	}
	note, err := spool.Keep(s.fs, s.dir, spool.Note{Agent: e.Text(hooks.KeyChannel), At: s.now(), Payload: raw})
	if err != nil {
		return fmt.Errorf("message %q could not be kept: %w", k.id, err)
	}
	old := k.note
	k.message, k.note = e, note
	return spool.Drop(s.fs, []spool.Kept{old})
}
