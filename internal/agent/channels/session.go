package channels

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"tape/hooks"
)

// batch is what one turn answers: one message, or several that came fast.
type batch struct {
	message hooks.Envelope
	kept    []kept
	follows bool // others that wait may join it

	mu       sync.Mutex
	answered bool // it is written down that the answer is being sent
}

// session is what one session does. The manager's lock guards it.
type session struct {
	id       string
	gathered []kept
	first    time.Time // when the first of them came
	timer    *time.Timer
	arrived  [][]kept // batches whose admission is to be asked, in this order
	deciding bool     // somebody asks
	queue    []*batch
	working  bool
	running  *batch
	cancel   func()
	idle     chan struct{} // closed when it has nothing to do and is forgotten

	steering sync.Mutex // held while somebody steers, and when a turn ends
	steered  []kept     // by steering; guarded as well
}

func (s *session) hold() {
	s.flush()
	s.arrived = nil
}

// flush ends the gathering.
func (s *session) flush() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if len(s.gathered) > 0 {
		s.arrived, s.gathered = append(s.arrived, s.gathered), nil
	}
}

// session returns what a session does; m.mu is held.
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

// Handle takes a message: when it returns nil, the message is safe. It does not wait for the turn.
func (m *Manager) Handle(ctx context.Context, e hooks.Envelope) error {
	m.mu.Lock()
	if m.stopping || m.base == nil {
		m.mu.Unlock()
		return errors.New("the program ends: it takes no messages any more")
	}
	m.mu.Unlock()
	e = e.Clone()
	id, err := m.rt.ResolveSession(ctx, e)
	if err != nil { // the turn will fail of it, and say so
		id = sessionOf(e)
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

// arrive gathers messages; commands do not wait. What is decided is so in the order in which it came.
func (m *Manager) arrive(id string, k kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return // it is on disk
	}
	s := m.session(id)
	if m.o.Silence < 0 || isCommand(k.message) {
		s.arrived = append(s.arrived, []kept{k})
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

// release has what was gathered decided.
func (m *Manager) release(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.flush()
	m.admit(s)
}

func isCommand(e hooks.Envelope) bool {
	return strings.HasPrefix(strings.TrimSpace(e.Text(hooks.KeyContent)), ",")
}

// admit has what arrived decided, one batch after the other; m.mu is held.
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
			s.arrived = s.arrived[1:]
			m.mu.Unlock()
			b, done := m.decide(s, list)
			m.mu.Lock()
			if !done {
				m.enqueue(s, b, false)
			}
		}
		s.deciding = false
		m.forget(s)
	})
}

// decide asks what becomes of a batch. It is done if it needs no turn.
func (m *Manager) decide(s *session, list []kept) (b *batch, done bool) {
	b = &batch{message: merged(list), kept: list}
	m.mu.Lock()
	turn := hooks.Turn{Session: s.id, Running: s.running != nil, Pending: len(s.queue)}
	ctx := m.base
	m.mu.Unlock()
	if inbox, err := m.rt.SteeringInbox(ctx); err == nil {
		turn.Steering = inbox.Len(s.id)
	}
	admission, err := m.rt.Admit(ctx, s.id, b.message, turn)
	if err != nil { // nobody's message is lost because a plugin fails
		m.rt.NotifyError(ctx, "admit_message", err, b.message)
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

// enqueue has a batch wait for its turn; m.mu is held.
func (m *Manager) enqueue(s *session, b *batch, front bool) {
	switch last := len(s.queue) - 1; {
	case front:
		s.queue = append([]*batch{b}, s.queue...)
	case b.follows && last >= 0 && s.queue[last].follows:
		list := append(s.queue[last].kept, b.kept...)
		s.queue[last] = &batch{message: merged(list), kept: list, follows: true}
	default:
		s.queue = append(s.queue, b)
	}
	if !s.working && !m.stopping {
		s.working = true
		m.workers.Go(func() { m.work(s) })
	}
}

// steer puts a message into the running turn. It reports whether there is one that can hear it.
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
		err = m.inbox.join(b.kept)
	}
	if err == nil {
		err = inbox.Put(ctx, s.id, b.message)
	}
	if err != nil {
		m.rt.NotifyError(ctx, "provide_steering_inbox", err, b.message)
		return false
	}
	s.steered = append(s.steered, b.kept...)
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
