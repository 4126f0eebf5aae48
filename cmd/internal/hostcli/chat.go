package hostcli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/stdio"
	"tape/hooks"
	"tape/internal/agent"
	"tape/internal/agent/channels"
	"tape/internal/agent/chatui"
	"tape/internal/show/conversation"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// isScreen reports whether input and output are a terminal that can show the chat.
func isScreen(o cli.AgentOptions) bool {
	in, ok := o.In.(*os.File)
	out, okOut := o.Out.(interface{ Fd() uintptr })
	return ok && okOut && !stdio.IsDumb(o.Getenv) && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// Chat talks to a person until they leave.
func (Host) Chat(ctx context.Context, o cli.AgentOptions, session string) error {
	o.Typed = isScreen(o)
	for {
		if session == "" {
			return layout.Invalid("", "the session's id is empty")
		}
		err := chat(ctx, o, session)
		next := (*chatui.ChosenSession)(nil)
		if !errors.As(err, &next) {
			return err
		}
		session = next.Session
	}
}

func chat(ctx context.Context, o cli.AgentOptions, session string) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var m *channels.Manager
	var ui *chatui.UI
	a, err := newAssembly(ctx, o, func(a *assembly) (err error) {
		m, err = channels.New(a.rt, channels.Options{Dir: a.chatMessages(ctx, session), Only: []string{chatui.TerminalName},
			Silence: -1, Grace: time.Second, Tape: a.tape, Log: a.log})
		if err != nil {
			return err
		}
		t := chatui.TerminalOptions{In: o.In, Out: o.Out, Err: o.Err, Session: session, Wait: m.Wait, End: func(err error) { end(err) }}
		if o.Typed {
			c := &chatScreen{assembly: a, manager: m, session: session}
			ui = chatui.New(c.options())
			t.UI = ui
			a.gate.SetAsker(ui)
		}
		return a.rt.Register(chatui.TerminalPlugin(t))
	})
	if err != nil {
		return err
	}
	defer a.close()
	a.warnOff()
	if ui == nil {
		a.warnOpen(a.Warn)
	} else { // the first prompt does not wait for the warning
		go func() {
			a.warnOpen(ui.Warn)
			if a.lacksModel() {
				ui.Tell("no model is set: leave with Ctrl-D, and run tape onboard, which asks for one")
			}
		}()
	}
	err = m.Run(ctx)
	if next := (*chatui.ChosenSession)(nil); err == nil && errors.As(context.Cause(ctx), &next) {
		return next
	}
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// lacksModel reports whether nothing answers messages: no model is set, and no plugin answers in its place.
func (a *assembly) lacksModel() bool {
	if a.models.configured[0] != "" {
		return false
	}
	for _, h := range a.rt.Report() {
		if (h.Hook == "run_model" || h.Hook == "run_model_stream") && slices.ContainsFunc(h.Plugins, func(p hooks.PluginReport) bool { return p.Name != agent.Name }) {
			return false
		}
	}
	return true
}

// chatScreen connects the screen of a chat with the agent and the tape of the session.
type chatScreen struct {
	*assembly
	manager *channels.Manager
	session string
}

func (c *chatScreen) options() chatui.Options {
	return chatui.Options{In: c.In, Out: c.Out, Env: os.Environ(), Session: c.session, Dir: c.Project,
		Cancel: func() { c.manager.Cancel(c.session) },
		Send: func(ctx context.Context, id, text string, how hooks.Admission) error {
			m := chatui.TypedMessage(c.session, text)
			m[hooks.KeyMessageID], m[hooks.KeyAdmission] = id, string(how)
			return c.manager.Handle(ctx, m)
		},
		TakeBack: func(ctx context.Context, id string) (bool, error) { return c.manager.TakeBack(ctx, c.session, id) },
		Mode:     c.gate.Mode, NextMode: c.gate.NextMode,
		Status: c.status, Past: c.past, History: c.history, Whole: c.whole, Sessions: c.sessionNames, Pick: c.pick,
		Commands: func(ctx context.Context) ([]string, error) {
			list, err := agent.Commands(ctx, c.rt)
			return append(list, ",sessions"), err
		},
		Models: func(ctx context.Context) (ids []string, err error) {
			list, err := c.rt.ModelOptions(ctx, c.session)
			for _, o := range list {
				ids = append(ids, o.ID)
			}
			return ids, err
		},
	}
}

// open returns the session's tape; nil if there is none yet.
func (c *chatScreen) open(ctx context.Context) (*repo.Tape, error) {
	store, err := c.rt.TapeStore(ctx)
	if err != nil {
		return nil, err
	}
	t, err := store.Tape(ctx, agent.TapeName(c.session))
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	return t, err
}

// status returns the model that the session chose last, or else the configured one, and the context's size at the
// last call of a model.
func (c *chatScreen) status(ctx context.Context) (chatui.Status, error) {
	s := chatui.Status{}
	t, err := c.open(ctx)
	if t == nil || err != nil {
		s.Model = c.models.configured[0]
		return s, err
	}
	if _, s.Last, err = t.Stamp(); err != nil {
		return s, err
	}
	const searched = 1000
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindEvent}, Reverse: true, Tail: repo.N(searched)}) {
		if err != nil {
			return s, err
		}
		if e.Hidden() {
			continue // a subagent's
		}
		data := jsonl.Get(e.Payload, "data")
		switch jsonl.GetString(e.Payload, "name") {
		case "model_switch":
			s.Model = cmp.Or(s.Model, jsonl.GetString(data, "model"))
		case "run":
			s.Model = cmp.Or(s.Model, jsonl.GetString(data, "model_switch"))
		}
		if usage, ok := about.UsageOf(e); ok && usage.TotalTokens != nil {
			s.Used = *usage.TotalTokens
			break
		}
	}
	s.Model = cmp.Or(s.Model, c.models.configured[0])
	s.Window = c.models.window(ctx, s.Model)
	return s, nil
}

// How many of the last turns of an old session are shown, and from how many entries at most.
const (
	turnsShown   = 3
	entriesShown = 300
)

// past returns the entries of the last turns, the oldest first; nil if there is no tape yet.
func (c *chatScreen) past(ctx context.Context) (out []repo.Entry, err error) {
	t, err := c.open(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	turns := 0
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindMessage, repo.KindToolCall, repo.KindToolResult, repo.KindError}, Reverse: true, Tail: repo.N(entriesShown)}) {
		if err != nil {
			return nil, err
		}
		if e.Hidden() || repeated(e) {
			continue
		}
		out = append(out, e)
		if e.Role() == "user" {
			if turns++; turns == turnsShown {
				break
			}
		}
	}
	slices.Reverse(out)
	return out, nil
}

// repeated reports whether an entry repeats a turn's prompt in a new phase.
func repeated(e repo.Entry) bool { return string(jsonl.Get(e.Meta, "again")) == "true" }

// searchedHistory is how many entries are searched for what was typed.
const searchedHistory = 5000

// history returns what was typed in the session, the oldest first.
func (c *chatScreen) history(ctx context.Context) (out []string, err error) {
	t, err := c.open(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindMessage, repo.KindEvent}, Reverse: true, Tail: repo.N(searchedHistory)}) {
		if err != nil {
			return nil, err
		}
		text := ""
		switch {
		case e.Hidden() || repeated(e):
		case e.Role() == "user":
			text = conversation.WithoutContext(conversation.Of(e).Text())
		case e.Kind == repo.KindEvent && jsonl.GetString(e.Payload, "name") == "command" && jsonl.GetString(e.Payload, "data", "status") == "started":
			text = "," + jsonl.GetString(e.Payload, "data", "raw")
		}
		if text != "" && (len(out) == 0 || out[len(out)-1] != text) {
			out = append(out, text)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// whole reads an artifact of the session, up to 64 MiB of it; "" if there is no tape yet.
func (c *chatScreen) whole(ctx context.Context, id string) (string, error) {
	const most = 64 << 20
	t, err := c.open(ctx)
	if t == nil || err != nil {
		return "", err
	}
	r, err := t.Artifact(ctx, id)
	if err != nil {
		return "", err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, most))
	return string(raw), err
}

// sessions lists the sessions of tape's own agent, the newest first.
func (c *chatScreen) sessions(ctx context.Context) (list []about.Tape, err error) {
	store, err := c.rt.TapeStore(ctx)
	if err != nil {
		return nil, err
	}
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := c.About(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tapes {
		if f := facts[t.Branch()]; f.Agent == "tape" && f.Messages > 0 {
			f.Name = t.Name()
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b about.Tape) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

func (c *chatScreen) sessionNames(ctx context.Context) (names []string, err error) {
	list, err := c.sessions(ctx)
	for _, t := range list {
		if t.Name != agent.TapeName(c.session) {
			names = append(names, t.Name)
		}
	}
	return names, err
}

// pick lets the person choose a session, and returns the name of its tape; "" if they leave.
func (c *chatScreen) pick(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
	list, err := c.sessions(ctx)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", errors.New("there are no sessions yet; ,sessions NAME begins one")
	}
	rows := make([]pickerSession, len(list))
	for i, t := range list {
		rows[i] = pickerSession{Tape: t}
	}
	chosen, err := newPicker(pickerOptions{Sessions: rows, In: in, Out: out, Env: os.Environ(), Now: time.Now}).Pick(ctx)
	if err != nil || chosen < 0 {
		return "", err
	}
	return list[chosen].Name, nil
}
