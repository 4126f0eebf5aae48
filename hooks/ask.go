package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tape/repo"
	"tape/repo/view"
)

// ResolveSession finds a message's session and writes its id into the message. If no plugin names
// one, it is the message's own session_id, else "channel:chat_id".
func (r *Runtime) ResolveSession(ctx context.Context, m Envelope) (string, error) {
	answer, err := first(ctx, r, "resolve_session", func(p *Plugin) (*string, error) { return p.ResolveSession(ctx, m) })
	if err != nil {
		return "", err
	}
	session := ""
	if answer != nil {
		session = *answer
	}
	if strings.TrimSpace(session) == "" {
		session = m.Text(KeySession)
	}
	if strings.TrimSpace(session) == "" {
		session = cmp.Or(m.Text(KeyChannel), "default") + ":" + cmp.Or(m.Text(KeyChat), "default")
	}
	m[KeySession] = session
	return session, nil
}

// NewState returns the state with which a turn begins.
func (r *Runtime) NewState() State {
	return State{StateWorkspace: r.Workspace, StateTapes: cmp.Or(r.Tapes, r.Workspace)}
}

// LoadState merges the plugins' state for a turn. If two set a key, the one asked first wins.
func (r *Runtime) LoadState(ctx context.Context, m Envelope, session string) (State, error) {
	answers, err := many(ctx, r, "load_state", func(p *Plugin) (State, error) { return p.LoadState(ctx, m, session) })
	if err != nil {
		return nil, err
	}
	state := r.NewState()
	for _, answer := range slices.Backward(answers) {
		maps.Copy(state, answer)
	}
	return state, nil
}

// BuildPrompt returns the prompt for a message. If no plugin makes one, or the first that does makes an empty one,
// the prompt is the message's content.
func (r *Runtime) BuildPrompt(ctx context.Context, m Envelope, session string, s State) (Prompt, error) {
	answer, err := first(ctx, r, "build_prompt", func(p *Plugin) (*Prompt, error) { return p.BuildPrompt(ctx, m, session, s) })
	if err != nil {
		return Prompt{}, err
	}
	if answer == nil || answer.Empty() {
		return contentPrompt(m), nil
	}
	return *answer, nil
}

// ContinuePrompt returns the prompt of an agent's next step; nil if no plugin has one.
func (r *Runtime) ContinuePrompt(ctx context.Context, p Prompt, t *repo.Tape, s State) (*Prompt, error) {
	return first(ctx, r, "continue_prompt", func(q *Plugin) (*Prompt, error) { return q.ContinuePrompt(ctx, p, t, s) })
}

// SaveState lets every plugin save, even if one fails or ctx has ended.
func (r *Runtime) SaveState(ctx context.Context, session string, s State, m Envelope, output string) error {
	ctx = context.WithoutCancel(ctx)
	var failures []error
	for _, p := range r.implementing("save_state") {
		_, err := ask(ctx, r, p, "save_state", func(p *Plugin) (any, error) { return nil, p.SaveState(ctx, session, s, m, output) })
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// RenderOutbound returns the messages to send, from all plugins. If there are none, it returns one message
// with the output.
func (r *Runtime) RenderOutbound(ctx context.Context, m Envelope, session string, s State, output string) ([]Envelope, error) {
	batches, err := many(ctx, r, "render_outbound", func(p *Plugin) ([]Envelope, error) {
		return p.RenderOutbound(ctx, m, session, s, output)
	})
	if err != nil {
		return nil, err
	}
	messages := slices.DeleteFunc(slices.Concat(batches...), func(e Envelope) bool { return e == nil })
	if len(messages) == 0 {
		messages = []Envelope{reply(m, output, cmp.Or(m.Text(KeyKind), KindNormal))}
		if NoModel(ctx) {
			messages[0][KeyNoModel] = true
		}
	}
	return messages, nil
}

// reply makes a message to the chat that m came from.
func reply(m Envelope, content, kind string) Envelope {
	e := Envelope{KeyContent: content, KeyKind: kind}
	for _, key := range []string{KeySession, KeyChannel, KeyChat, KeyOutputChannel} {
		if v, ok := m[key]; ok {
			e[key] = v
		}
	}
	return e
}

// Dispatch hands a message to all plugins that send messages, and reports whether one of them delivered it.
func (r *Runtime) Dispatch(ctx context.Context, m Envelope) (delivered bool, err error) {
	answers, err := many(ctx, r, dispatchOutbound, func(p *Plugin) (bool, error) { return p.DispatchOutbound(ctx, m) })
	return slices.Contains(answers, true), err
}

const dispatchOutbound = "dispatch_outbound"

// undelivered tells observers that no plugin has sent the answer to m. They get m without its output channel, so that
// they can reply to the chat that m came from.
func (r *Runtime) undelivered(ctx context.Context, m, out Envelope) {
	m = m.Clone()
	delete(m, KeyOutputChannel)
	channel := cmp.Or(out.Text(KeyOutputChannel), out.Text(KeyChannel), "default")
	err := fmt.Errorf("an answer was not sent: there is no channel %q", channel)
	r.log.Warn("an answer was not sent", "channel", channel, "session", m.Text(KeySession))
	r.NotifyError(ctx, dispatchOutbound, err, m)
}

// SystemPrompt joins the plugins' texts with blank lines. The plugin asked first comes last.
func (r *Runtime) SystemPrompt(ctx context.Context, p Prompt, s State) (string, error) {
	answers, err := many(ctx, r, "system_prompt", func(q *Plugin) (*string, error) { return q.SystemPrompt(ctx, p, s) })
	var texts []string
	for _, answer := range slices.Backward(answers) {
		if answer != nil && *answer != "" {
			texts = append(texts, *answer)
		}
	}
	return strings.Join(texts, "\n\n"), err
}

// BuildTapeContext returns the function that builds a model's messages from a tape: by default
// [view.Build], from the last anchor.
func (r *Runtime) BuildTapeContext(ctx context.Context) (TapeContext, error) {
	answer, err := first(ctx, r, "build_tape_context", func(p *Plugin) (TapeContext, error) { return p.BuildTapeContext(ctx) })
	if err != nil || answer == nil {
		return tapeContext, err
	}
	return func(ctx context.Context, t *repo.Tape, form string) ([]json.RawMessage, error) {
		messages, err := answer(ctx, t, form)
		if err != nil || messages != nil {
			return messages, err
		}
		return tapeContext(ctx, t, form)
	}, nil
}

func tapeContext(ctx context.Context, t *repo.Tape, form string) ([]json.RawMessage, error) {
	c, err := view.Build(ctx, t, view.Options{Format: view.Format(form)})
	if err != nil {
		return nil, err
	}
	if c.System == nil {
		return c.Messages, nil
	}
	// Anthropic has no messages with the role system, so the tape's system messages become one user message.
	system := json.RawMessage(`{"role":"user","content":` + string(c.System) + `}`)
	return append([]json.RawMessage{system}, c.Messages...), nil
}

// TapeStore returns the store with the sessions' tapes: a plugin's, else the workspace's. Every call
// returns the same store.
func (r *Runtime) TapeStore(ctx context.Context) (*repo.Store, error) {
	r.providedMu.Lock()
	defer r.providedMu.Unlock()
	if r.store != nil {
		return r.store, nil
	}
	store, err := first(ctx, r, "provide_tape_store", func(p *Plugin) (*repo.Store, error) { return p.ProvideTapeStore(ctx) })
	if store == nil && err == nil {
		store, err = repo.Open(ctx, cmp.Or(r.Tapes, r.Workspace), nil)
	}
	if err == nil {
		r.store = store
	}
	return store, err
}

// SteeringInbox returns the inbox in which messages wait for a running turn: a plugin's, else one
// in memory. Every call returns the same inbox.
func (r *Runtime) SteeringInbox(ctx context.Context) (SteeringInbox, error) {
	r.providedMu.Lock()
	defer r.providedMu.Unlock()
	if r.inbox != nil {
		return r.inbox, nil
	}
	inbox, err := first(ctx, r, "provide_steering_inbox", func(p *Plugin) (SteeringInbox, error) { return p.ProvideSteeringInbox(ctx) })
	if inbox == nil && err == nil {
		inbox = &memoryInbox{waiting: map[string][]Envelope{}}
	}
	if err == nil {
		r.inbox = inbox
	}
	return inbox, err
}

// Admit decides what happens to a message. By default, the message gets a turn.
func (r *Runtime) Admit(ctx context.Context, session string, m Envelope, t Turn) (Admission, error) {
	answer, err := first(ctx, r, "admit_message", func(p *Plugin) (Admission, error) { return p.AdmitMessage(ctx, session, m, t) })
	return cmp.Or(answer, Admit), err
}
