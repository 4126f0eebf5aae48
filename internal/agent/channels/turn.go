package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tape/hooks"
)

type batchKey struct{}

// turn runs one turn, and drops its messages from disk when it is over.
func (m *Manager) turn(ctx context.Context, s *session, b *batch) {
	err := m.inbox.join(b.kept)
	if err == nil {
		ctx = context.WithValue(ctx, batchKey{}, b)
		_, err = m.rt.Process(ctx, b.message.Clone(), hooks.Options{OnEvent: m.onEvent})
	} else {
		m.rt.NotifyError(ctx, hooks.StageTurn, err, b.message)
	}
	heard, left := m.endSteering(ctx, s)
	if err != nil && errors.Is(context.Cause(ctx), errStopping) && !b.isAnswered() {
		return // it goes on at the next start
	}
	m.report(m.answering(b))
	m.report(m.inbox.done(b.kept))
	if len(heard) > 0 {
		m.report(m.inbox.answering(heard))
		m.report(m.inbox.done(heard))
	}
	if len(left) > 0 {
		m.mu.Lock()
		m.enqueue(s, &batch{message: merged(left), kept: left, follows: true}, true)
		m.mu.Unlock()
	}
}

// endSteering ends the time in which the turn can be steered: what it heard, and what it did not.
func (m *Manager) endSteering(ctx context.Context, s *session) (heard, left []kept) {
	ctx = context.WithoutCancel(ctx)
	s.steering.Lock()
	defer s.steering.Unlock()
	m.mu.Lock()
	s.running, s.cancel = nil, nil
	m.mu.Unlock()
	inbox, err := m.rt.SteeringInbox(ctx)
	var rest []hooks.Envelope
	if err == nil {
		rest, err = inbox.Drain(ctx, s.id)
	}
	m.report(err)
	// A batch that was put in as one message has that of its first.
	unheard := map[string]bool{}
	for _, e := range rest {
		unheard[e.Text(hooks.KeyMessageID)] = true
	}
	for _, k := range s.steered {
		if unheard[cmp.Or(m.inbox.headOf(k.id), k.id)] {
			left = append(left, k)
		} else {
			heard = append(heard, k)
		}
	}
	s.steered = nil
	return heard, left
}

// channelOf is where a message goes: nil if that channel does not run.
func (m *Manager) channelOf(e hooks.Envelope) hooks.Channel {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.channels[cmp.Or(e.Text(hooks.KeyOutputChannel), e.Text(hooks.KeyChannel))]
}

// dispatch sends a message. Before the first of a turn it is written down that its messages are
// being answered.
func (m *Manager) dispatch(ctx context.Context, e hooks.Envelope) (delivered bool, err error) {
	c := m.channelOf(e)
	if c == nil {
		return false, nil
	}
	if e.Text(hooks.KeyContent) == "" && e[hooks.KeyMedia] == nil {
		return true, nil // there is nothing to say
	}
	if e[hooks.KeyNoModel] == true && e.Text(hooks.KeyKind) != hooks.KindError {
		return true, nil // an echo; the error says why
	}
	stage := e.Text(hooks.KeyStage)                                                               // of an error
	if b, ok := ctx.Value(batchKey{}).(*batch); ok && (stage == "" || stage == hooks.StageTurn) { // else the answer is still to come
		if err := m.answering(b); err != nil {
			return false, fmt.Errorf("the answer is not sent: %w", err)
		}
	}
	if err := c.Send(ctx, e); err != nil {
		return false, fmt.Errorf("channel %q: %w", c.Name(), err)
	}
	return true, nil
}

// answering writes down, once, that a turn's messages are being answered.
func (m *Manager) answering(b *batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answered {
		return nil
	}
	err := m.inbox.answering(b.kept)
	b.answered = err == nil
	return err
}

func (b *batch) isAnswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered
}

func (m *Manager) onEvent(ctx context.Context, e hooks.Envelope, event hooks.Event) {
	if w, ok := m.channelOf(e).(hooks.EventWatcher); ok {
		w.OnEvent(ctx, e, event)
	}
}

func (m *Manager) report(err error) {
	if err != nil {
		m.o.Log.Error("messages on disk", "error", err)
	}
}
