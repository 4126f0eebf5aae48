package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tape/hooks"
)

type batchKey struct{}

// turnWatcher is a channel that shows which of its messages are being answered.
type turnWatcher interface {
	// TurnBegins gets a turn's message, and the ids of the messages from which it was merged.
	TurnBegins(m hooks.Envelope, ids []string)
	// TurnEnds gets the turn's context, which has ended if the turn was interrupted.
	TurnEnds(ctx context.Context)
}

// turn runs one turn, and then drops its messages from disk.
func (m *Manager) turn(ctx context.Context, s *session, b *batch) {
	if w, ok := m.channelOf(b.merged).(turnWatcher); ok {
		w.TurnBegins(b.merged, idsOf(b.messages))
		defer w.TurnEnds(ctx)
	}
	err := m.inbox.join(b.messages)
	if err == nil {
		ctx = context.WithValue(ctx, batchKey{}, b)
		_, err = m.rt.Process(ctx, b.merged.Clone(), hooks.Options{OnEvent: m.onEvent})
	} else {
		m.rt.NotifyError(ctx, hooks.StageTurn, err, b.merged)
	}
	read, unread := m.endSteering(ctx, s)
	if err != nil && errors.Is(context.Cause(ctx), errStopping) && !b.isAnswered() {
		return // the turn goes on after the next start
	}
	m.report(m.answering(b))
	m.report(m.inbox.done(b.messages))
	if len(read) > 0 {
		m.report(m.inbox.answering(read))
		m.report(m.inbox.done(read))
	}
	m.mu.Lock()
	for _, b := range slices.Backward(batches(unread)) {
		m.enqueue(s, b, true)
	}
	m.mu.Unlock()
}

// batches joins messages that the turn has not read; commands stay by themselves.
func batches(list []stored) (out []*batch) {
	for _, k := range list {
		if last := len(out) - 1; last >= 0 && !isCommand(k.message) && !out[last].hasCommand() {
			out[last].messages = append(out[last].messages, k)
		} else {
			out = append(out, &batch{messages: []stored{k}, follows: true})
		}
	}
	for _, b := range out {
		b.merged = merge(b.messages)
	}
	return out
}

// endSteering closes the turn to steering. It returns the steered messages that the turn has read,
// and those that it has not.
func (m *Manager) endSteering(ctx context.Context, s *session) (read, unread []stored) {
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
	// A batch that was steered as one message has the id of its first message.
	left := map[string]bool{}
	for _, e := range rest {
		left[e.Text(hooks.KeyMessageID)] = true
	}
	for _, k := range s.steered {
		if left[cmp.Or(m.inbox.headOf(k.id), k.id)] {
			unread = append(unread, k)
		} else {
			read = append(read, k)
		}
	}
	s.steered = nil
	return read, unread
}

// channelOf returns the channel for a message; nil if it does not run.
func (m *Manager) channelOf(e hooks.Envelope) hooks.Channel {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.channels[cmp.Or(e.Text(hooks.KeyOutputChannel), e.Text(hooks.KeyChannel))]
}

// dispatch sends a message. Before a turn's first message, the journal is told that the turn is
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
		return true, nil // it repeats the prompt; the error message says why
	}
	// An error within the turn is not its answer, which is still to come.
	stage := e.Text(hooks.KeyStage)
	if b, ok := ctx.Value(batchKey{}).(*batch); ok && (stage == "" || stage == hooks.StageTurn) {
		if err := m.answering(b); err != nil {
			return false, fmt.Errorf("the answer is not sent: %w", err)
		}
	}
	if err := c.Send(ctx, e); err != nil {
		return false, fmt.Errorf("channel %q: %w", c.Name(), err)
	}
	return true, nil
}

// answering records, once, that a turn's messages are being answered.
func (m *Manager) answering(b *batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answered {
		return nil
	}
	err := m.inbox.answering(b.messages)
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
		m.o.Log.Error("storing messages failed", "error", err)
	}
}
