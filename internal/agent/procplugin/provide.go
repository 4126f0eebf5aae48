package procplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tape/hooks"
	"tape/repo"
)

// provide sets the hooks for what is used later: contexts, a store, an inbox, commands and channels.
func (p *Process) provide(q *hooks.Plugin) {
	q.BuildTapeContext = func(context.Context) (hooks.TapeContext, error) {
		return func(ctx context.Context, t *repo.Tape, form string) ([]json.RawMessage, error) {
			return value(answer(ctx, p, "build_tape_context", args{"tape": t.Name(), "form": form}, "", nil, objects))
		}, nil
	}
	q.ProvideTapeStore = func(ctx context.Context) (*repo.Store, error) {
		dir, err := answer(ctx, p, "provide_tape_store", args{}, "", nil, as[string])
		if dir == nil || err != nil {
			return nil, err
		}
		return repo.Open(ctx, *dir, nil)
	}
	q.ProvideSteeringInbox = func(ctx context.Context) (hooks.SteeringInbox, error) {
		yes, err := answer(ctx, p, "provide_steering_inbox", args{}, "", nil, as[bool])
		if yes == nil || !*yes || err != nil {
			return nil, err
		}
		return &inbox{p: p}, nil
	}
	q.RegisterCommands = p.commands
	q.ProvideChannels = func(_ context.Context, h hooks.Handler) ([]hooks.Channel, error) {
		p.mu.Lock()
		p.handler = h
		p.mu.Unlock()
		var list []hooks.Channel
		for _, c := range p.manifest.Channels {
			if c.Events {
				list = append(list, &watcher{channel{p, c}})
			} else {
				list = append(list, &channel{p, c})
			}
		}
		return list, nil
	}
}

// service calls a method that is not a hook and belongs to the result of one.
func (p *Process) service(ctx context.Context, method string, a args, timeout time.Duration) (json.RawMessage, error) {
	return valueOfResult(p.call(ctx, callParams{method: method, params: a, timeout: timeout}))
}

func (p *Process) commands() []hooks.Command {
	list, err := answer(context.Background(), p, "register_cli_commands", args{}, "", nil, listOf[struct {
		Name  string `json:"name"`
		Short string `json:"short"`
	}])
	if err != nil {
		panic(err) // the hook cannot return an error; the runtime turns the panic into one
	}
	if list == nil {
		return nil
	}
	var commands []hooks.Command
	for _, c := range *list {
		commands = append(commands, hooks.Command{Name: c.Name, Short: c.Short,
			Run: func(ctx context.Context, arguments []string, out io.Writer) error {
				if arguments == nil {
					arguments = []string{}
				}
				text, err := value(decode[string](p.service(ctx, "command/run", args{"name": c.Name, "args": arguments}, p.o.limits.long)))
				if err == nil {
					_, err = io.WriteString(out, text)
				}
				return err
			}})
	}
	return commands
}

// inbox is a plugin's steering inbox.
type inbox struct{ p *Process }

func (b *inbox) Put(ctx context.Context, session string, m hooks.Envelope) error {
	_, err := b.p.service(ctx, "steering/put", args{"session_id": session, "message": plain(m)}, b.p.o.limits.hook)
	return err
}

func (b *inbox) Drain(ctx context.Context, session string) ([]hooks.Envelope, error) {
	return value(decode[[]hooks.Envelope](b.p.service(ctx, "steering/drain", args{"session_id": session}, b.p.o.limits.hook)))
}

func (b *inbox) Len(session string) int {
	n, err := value(decode[int](b.p.service(context.Background(), "steering/len", args{"session_id": session}, b.p.o.limits.hook)))
	if err != nil {
		b.p.o.Log.Error("the steering inbox does not say how many messages wait", "error", err)
	}
	return n
}

// channel is a channel that the plugin lists.
type channel struct {
	p *Process
	channelInfo
}

func (c *channel) Name() string { return c.channelInfo.Name }

// Start starts the channel. It is started again whenever the plugin is.
func (c *channel) Start(ctx context.Context) error {
	c.p.mu.Lock()
	c.p.open[c.Name()] = true
	c.p.mu.Unlock()
	_, err := c.p.call(ctx, c.p.channelCall("channel/start", c.Name(), nil))
	return err
}

func (c *channel) Stop(ctx context.Context) error {
	c.p.mu.Lock()
	delete(c.p.open, c.Name())
	c.p.mu.Unlock()
	_, err := c.p.call(ctx, c.p.channelCall("channel/stop", c.Name(), nil))
	return err
}

func (c *channel) Send(ctx context.Context, m hooks.Envelope) error {
	_, err := c.p.call(ctx, c.p.channelCall("channel/send", c.Name(), args{"message": plain(m)}))
	return err
}

// channelCall returns a call of a channel's method.
func (p *Process) channelCall(method, name string, a args) callParams {
	if a == nil {
		a = args{}
	}
	a["channel"] = name
	timeout := p.o.limits.long
	for _, c := range p.manifest.Channels {
		if c.Name == name {
			timeout = c.timeout(timeout)
		}
	}
	return callParams{method: method, params: a, timeout: timeout}
}

// watcher is a channel that shows answers while they are being written.
type watcher struct{ channel }

func (w *watcher) OnEvent(ctx context.Context, m hooks.Envelope, e hooks.Event) {
	ctx, cancel := context.WithTimeout(ctx, w.p.o.limits.hook)
	defer cancel()
	in, err := w.p.running(ctx)
	if err == nil {
		var line []byte
		line, err = encode(message{Method: "channel/event", Params: args{"channel": w.Name(), "message": plain(m),
			"kind": e.Kind, "data": plain(e.Data)}}, w.p.o.limits.line)
		if err == nil {
			err = in.send(ctx, line)
		}
	}
	if err != nil {
		w.p.o.Log.Warn("an event was not shown", "channel", w.Name(), "kind", e.Kind, "error", fmt.Errorf("channel/event: %w", err))
	}
}
