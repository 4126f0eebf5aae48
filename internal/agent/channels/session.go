package channels

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/hooks"
)

// batch is what one turn answers: one message, or several that came in quick succession.
type batch struct {
	merged   hooks.Envelope
	messages []stored
	follows  bool // may be joined with other batches that follow the running turn

	mu       sync.Mutex
	answered bool // the journal says that the answer is being sent
}

// hasCommand reports whether one of the messages is a command. It is never joined with others: their texts would
// become part of it.
func (b *batch) hasCommand() bool {
	return slices.ContainsFunc(b.messages, func(k stored) bool { return isCommand(k.message) })
}

// session is the state of one session. The manager's lock guards it.
type session struct {
	id       string
	gathered []stored      // messages of the next batch, which waits for more
	first    time.Time     // when the first of gathered came
	timer    *time.Timer   // ends the gathering
	arrived  [][]stored    // batches that wait for their admission, in order
	deciding bool          // a goroutine asks for admissions
	decided  []stored      // the batch that it asks about
	queue    []*batch      // batches that wait for their turn
	working  bool          // a goroutine runs turns
	running  *batch        // of the running turn; nil if there is none
	cancel   func()        // interrupts the running turn; nil if there is none
	idle     chan struct{} // closed when the session has nothing to do and is forgotten

	steering sync.Mutex // held while a message is steered, and when a turn ends
	steered  []stored   // messages put into the steering inbox; guarded by steering
}

// stopGathering drops the messages that are not admitted. They wait on disk.
func (s *session) stopGathering() {
	s.flush()
	s.arrived = nil
}

// flush ends the gathering: the messages become a batch.
func (s *session) flush() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if len(s.gathered) > 0 {
		s.arrived, s.gathered = append(s.arrived, s.gathered), nil
	}
}

// session returns a session, and creates it if needed; m.mu is held.
func (m *Manager) session(id string) *session {
	s := m.sessions[id]
	if s == nil {
		s = &session{id: id, idle: make(chan struct{})}
		m.sessions[id] = s
	}
	return s
}

// forget drops a session that has nothing to do; m.mu is held.
func (m *Manager) forget(s *session) {
	if !s.working && !s.deciding && len(s.gathered) == 0 && m.sessions[s.id] == s {
		delete(m.sessions, s.id)
		close(s.idle)
	}
}

// Handle accepts a message: when it returns nil, the message is stored, or the command ,stop was carried out. It
// does not wait for the turn.
func (m *Manager) Handle(ctx context.Context, e hooks.Envelope) error {
	m.mu.Lock()
	if m.stopping || m.base == nil {
		m.mu.Unlock()
		return errors.New("the program is ending, and accepts no more messages")
	}
	m.mu.Unlock()
	e = e.Clone()
	id, err := m.rt.ResolveSession(ctx, e)
	if err != nil { // the turn will fail with the same error, and report it
		id = sessionOf(e)
	}
	if strings.TrimSpace(e.Text(hooks.KeyContent)) == commandStop {
		return m.interrupt(ctx, id, e)
	}
	k, fresh, err := m.inbox.add(e)
	if err == nil && !fresh && e[hooks.KeyEdited] == true {
		return m.edit(id, e)
	}
	if err != nil || !fresh {
		return err
	}
	m.arrive(id, k)
	return nil
}

// arrive gathers messages. A command does not wait, and so comes before messages that are still gathered.
func (m *Manager) arrive(id string, k stored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return // it waits on disk
	}
	s := m.session(id)
	if m.o.Silence < 0 || isCommand(k.message) {
		s.arrived = append(s.arrived, []stored{k})
		m.admit(s)
		return
	}
	now := time.Now()
	if len(s.gathered) == 0 {
		s.first = now
	}
	s.gathered = append(s.gathered, k)
	wait := min(m.o.Silence, m.o.Longest-now.Sub(s.first))
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(wait, func() { m.release(s) })
}

// release ends the gathering and asks for admissions.
func (m *Manager) release(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.flush()
	m.admit(s)
}

func isCommand(e hooks.Envelope) bool {
	return strings.HasPrefix(strings.TrimSpace(e.Text(hooks.KeyContent)), ",")
}

// admit asks for the admission of what arrived, one batch after the other; m.mu is held.
func (m *Manager) admit(s *session) {
	if s.deciding || len(s.arrived) == 0 || m.stopping {
		return
	}
	s.deciding = true
	m.workers.Go(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for len(s.arrived) > 0 && !m.stopping {
			list := s.arrived[0]
			s.arrived, s.decided = s.arrived[1:], list
			m.mu.Unlock()
			b, done := m.decide(s, list)
			m.mu.Lock()
			s.decided = nil
			if !done {
				m.enqueue(s, b, false)
			}
		}
		s.deciding = false
		m.forget(s)
	})
}

// decide asks for a batch's admission. done says that the batch needs no turn of its own.
func (m *Manager) decide(s *session, list []stored) (b *batch, done bool) {
	b = &batch{merged: merge(list), messages: list}
	m.mu.Lock()
	turn := hooks.Turn{Session: s.id, Running: s.running != nil, Pending: len(s.queue)}
	ctx := m.base
	m.mu.Unlock()
	if inbox, err := m.rt.SteeringInbox(ctx); err == nil {
		turn.Steering = inbox.Len(s.id)
	}
	admission, err := m.rt.Admit(ctx, s.id, b.merged, turn)
	if err != nil { // a plugin's failure must not lose a message
		m.rt.NotifyError(ctx, "admit_message", err, b.merged)
		admission = hooks.Admit
	}
	switch admission {
	case hooks.Drop:
		m.o.Log.Info("a message is dropped", "session", s.id)
		done = true
		m.report(m.inbox.done(list))
	case hooks.Steer:
		done = m.steer(ctx, s, b)
		b.follows = true
	case hooks.FollowUp:
		b.follows = true
	}
	return b, done
}

// enqueue queues a batch for a turn; m.mu is held.
func (m *Manager) enqueue(s *session, b *batch, front bool) {
	switch last := len(s.queue) - 1; {
	case front:
		s.queue = append([]*batch{b}, s.queue...)
	case b.follows && last >= 0 && s.queue[last].follows && !b.hasCommand() && !s.queue[last].hasCommand():
		list := append(s.queue[last].messages, b.messages...)
		s.queue[last] = &batch{merged: merge(list), messages: list, follows: true}
	default:
		s.queue = append(s.queue, b)
	}
	if !s.working && !m.stopping {
		s.working = true
		m.workers.Go(func() { m.work(s) })
	}
}

// steer puts a batch into the running turn. It reports false if no turn runs, or if that fails.
func (m *Manager) steer(ctx context.Context, s *session, b *batch) bool {
	s.steering.Lock()
	defer s.steering.Unlock()
	m.mu.Lock()
	running := s.running != nil
	m.mu.Unlock()
	if !running {
		return false
	}
	inbox, err := m.rt.SteeringInbox(ctx)
	if err == nil {
		err = m.inbox.join(b.messages)
	}
	if err == nil {
		err = inbox.Put(ctx, s.id, b.merged)
	}
	if err != nil {
		m.rt.NotifyError(ctx, "provide_steering_inbox", err, b.merged)
		return false
	}
	s.steered = append(s.steered, b.messages...)
	return true
}

// work runs a session's turns, one after the other.
func (m *Manager) work(s *session) {
	for {
		m.mu.Lock()
		if len(s.queue) == 0 || m.stopping {
			s.working = false
			m.forget(s)
			m.mu.Unlock()
			return
		}
		b := s.queue[0]
		s.queue = s.queue[1:]
		ctx, cancel := context.WithCancelCause(m.base)
		s.running, s.cancel = b, func() { cancel(context.Canceled) }
		m.mu.Unlock()
		m.turn(ctx, s, b)
		cancel(nil)
	}
}
