package procplugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/hooks"
)

// Process is a plugin that is a process.
type Process struct {
	config Config
	o      Options
	about  about              // what the plugin said of itself when it was first started
	end    context.CancelFunc // of the process and of its restarts
	over   chan struct{}      // closed when nothing is restarted any more

	mu       sync.Mutex
	in       *instance     // nil while it is down
	changed  chan struct{} // closed when in or off changes
	off      string        // why it is not asked any more
	closed   bool
	last     string      // why it was last restarted
	times    []time.Time // of restarts in the last minute
	restarts int
	strays   int // of instances that have ended
	handler  hooks.Handler
	open     map[string]bool // channels that were started
}

// Start starts a plugin and waits until it is ready, or ctx ends. The plugin then runs until
// Close. One that cannot be started is given with the error: it is off, and says so when asked
// for its status.
func Start(ctx context.Context, c Config, o Options) (*Process, error) {
	o = o.defaults()
	o.Log = o.Log.With("plugin", c.Name)
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	p := &Process{config: c, o: o, end: end, over: make(chan struct{}), changed: make(chan struct{}), open: map[string]bool{}}
	in, a, err := p.launch(run, ctx)
	if err == nil && c.Required && !a.decides() {
		err = errors.New("it is required, and lists none of the hooks around calls, so it would decide nothing")
		in.fail(err, true)
		<-in.dead
	}
	if err != nil {
		p.turnOff(err.Error())
		err = fmt.Errorf("start plugin %q: %w", c.Name, err)
		close(p.over)
		end()
		return p, err
	}
	p.about = a
	p.up(run, in)
	go p.supervise(run, in)
	return p, nil
}

// launch starts the process, which ends with run, and lets it say what it is.
func (p *Process) launch(run, ctx context.Context) (*instance, about, error) {
	in, err := start(run, p.config, p.o, p.serve)
	if err != nil {
		return nil, about{}, err
	}
	params := map[string]any{"protocol": protocol, "host": p.o.Host, "workspace": p.o.Project}
	if len(p.config.Config) > 0 {
		params["config"] = p.config.Config
	}
	result, err := in.ask(ctx, ask{method: "initialize", params: params, timeout: p.o.limits.initialize})
	var a about
	if err == nil {
		if err = json.Unmarshal(result, &a); err == nil {
			err = a.check()
		}
	}
	if err != nil {
		err = fmt.Errorf("initialize: %w", err)
		in.fail(err, false)
		<-in.dead
		return nil, a, err
	}
	return in, a, nil
}

// supervise starts the process again when it has ended.
func (p *Process) supervise(ctx context.Context, in *instance) {
	defer close(p.over)
	for {
		<-in.dead
		final, why := in.failure()
		p.down(in)
		for {
			if p.isClosed() || ctx.Err() != nil {
				p.turnOff("it was ended")
				return
			}
			pause, again := p.restart(time.Now(), why)
			if final || !again {
				p.o.Log.Error("the plugin is off", "error", why)
				p.turnOff(why.Error())
				return
			}
			p.o.Log.Warn("the plugin is started again", "error", why, "pause", pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				continue
			}
			next, a, err := p.launch(ctx, ctx)
			if err == nil && !a.same(p.about) {
				err = errors.New("it lists other hooks, tools or channels than before: restart the host")
				next.fail(err, true)
				<-next.dead
				final = true
			}
			if err == nil {
				in = next
				p.up(ctx, in)
				break
			}
			why = err
		}
	}
}

// restart notes a restart: after which pause, and whether there is to be one.
func (p *Process) restart(now time.Time, why error) (pause time.Duration, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.times) > 0 && now.Sub(p.times[0]) > window {
		p.times = p.times[1:]
	}
	if len(p.times) >= restarts {
		return 0, false
	}
	pause = p.o.limits.pause << (2 * len(p.times))
	p.times = append(p.times, now)
	p.restarts++
	p.last = why.Error()
	return pause, true
}

// up lets the process be asked, once the channels that were open are open again.
func (p *Process) up(ctx context.Context, in *instance) {
	p.mu.Lock()
	open := slices.Sorted(maps.Keys(p.open))
	p.mu.Unlock()
	for _, name := range open {
		if _, err := in.ask(ctx, p.channelAsk("channel/start", name, nil)); err != nil {
			p.o.Log.Error("a channel was not started again", "channel", name, "error", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = in
	p.announce()
}

func (p *Process) down(in *instance) {
	in.mu.Lock()
	strays := in.stray
	in.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = nil
	p.strays += strays
	p.announce()
}

func (p *Process) turnOff(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in, p.off = nil, cmp.Or(why, "it ended")
	p.announce()
}

// announce wakes those who wait for a change. p.mu is held.
func (p *Process) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Process) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Off is the error of a plugin that is not asked any more.
type Off struct{ Name, Why string }

func (e *Off) Error() string { return fmt.Sprintf("plugin %q is off: %s", e.Name, e.Why) }

// Off says why the process is not asked any more, if it is not.
func (p *Process) Off() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off == "" {
		return nil
	}
	return &Off{Name: p.config.Name, Why: p.off}
}

// running gives the process; while it is being restarted it waits.
func (p *Process) running(ctx context.Context) (*instance, error) {
	for {
		p.mu.Lock()
		in, off, changed, last := p.in, p.off, p.changed, p.last
		p.mu.Unlock()
		switch {
		case off != "":
			return nil, &Off{Name: p.config.Name, Why: off}
		case in != nil:
			if _, err := in.failure(); err == nil {
				return in, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if last != "" {
				return nil, fmt.Errorf("it is being restarted: %s", last)
			}
			return nil, ctx.Err()
		}
	}
}

// begin asks, once the process runs.
func (p *Process) begin(ctx context.Context, a ask) (*call, error) {
	wait, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	in, err := p.running(wait)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return in.begin(ctx, a)
}

// ask asks, and gives the result.
func (p *Process) ask(ctx context.Context, a ask) (json.RawMessage, error) {
	c, err := p.begin(ctx, a)
	if err != nil {
		return nil, err
	}
	_, result, err := c.next(ctx)
	return result, err
}

// Status says how the process does.
func (p *Process) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	strays := p.strays
	var words []string
	switch {
	case p.off != "":
		words = append(words, "off: "+p.off)
	case p.in == nil:
		words = append(words, "down")
	default:
		words = append(words, fmt.Sprintf("running, pid %d", p.in.cmd.Process.Pid))
		p.in.mu.Lock()
		strays += p.in.stray
		p.in.mu.Unlock()
	}
	if p.config.Required {
		words = append(words, "required")
	}
	if p.restarts > 0 {
		words = append(words, fmt.Sprintf("restarts: %d, the last because: %s", p.restarts, p.last))
	}
	if strays > 0 {
		words = append(words, fmt.Sprintf("stray lines: %d", strays))
	}
	return strings.Join(words, "; ")
}

// Close asks the process to shut down and to exit; one that does not is ended, with all that it
// has started.
func (p *Process) Close() {
	p.mu.Lock()
	in := p.in
	p.closed = true
	p.mu.Unlock()
	if in != nil {
		p.shutDown(in)
	}
	p.end()
	<-p.over
}

func (p *Process) shutDown(in *instance) {
	ctx, cancel := context.WithTimeout(context.Background(), p.o.limits.shutdown)
	defer cancel()
	if _, err := in.ask(ctx, ask{method: "shutdown", timeout: p.o.limits.shutdown}); err != nil {
		p.o.Log.Warn("the plugin did not shut down", "error", err)
	}
	in.notify("exit", nil)
	select {
	case in.out <- nil: // the end of its input
	default:
	}
	select {
	case <-in.dead:
	case <-time.After(p.o.limits.shutdown):
		p.o.Log.Warn("the plugin did not exit and is ended")
	}
}
