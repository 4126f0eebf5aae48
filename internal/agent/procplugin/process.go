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

// Process is a plugin that runs as a process.
type Process struct {
	config   Config
	o        Options
	manifest manifest           // from the first start
	cancel   context.CancelFunc // ends the process and its restarts
	done     chan struct{}      // closed when nothing is restarted any more

	mu       sync.Mutex
	in       *instance     // nil while it is down
	changed  chan struct{} // closed when in or off changes
	off      string        // why it was turned off; "" if it is not
	closed   bool
	last     string      // why it was last restarted
	times    []time.Time // of restarts within window
	restarts int
	strays   int // stray lines of instances that have ended
	handler  hooks.Handler
	open     map[string]bool // the names of channels that are started
}

// Start starts a plugin and waits until it is ready, or ctx ends. The plugin then runs until
// Close. If it cannot be started, it is returned with the error: it is off, and its status says
// why.
func Start(ctx context.Context, c Config, o Options) (*Process, error) {
	o = o.withDefaults()
	o.Log = o.Log.With("plugin", c.Name)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Process{config: c, o: o, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}), open: map[string]bool{}}
	in, a, err := p.launch(run, ctx)
	if err == nil && c.Required && !a.guards() {
		err = errors.New("it is required, but lists none of the hooks around calls, so it could not deny anything")
		in.fail(err, true)
		<-in.dead
	}
	if err != nil {
		p.turnOff(err.Error())
		err = fmt.Errorf("start plugin %q: %w", c.Name, err)
		close(p.done)
		cancel()
		return p, err
	}
	p.manifest = a
	p.up(run, in)
	go p.supervise(run, in)
	return p, nil
}

// launch starts the process, which ends when run does, and initializes it within ctx.
func (p *Process) launch(run, ctx context.Context) (*instance, manifest, error) {
	in, err := start(run, p.config, p.o, p.serve)
	if err != nil {
		return nil, manifest{}, err
	}
	params := map[string]any{"protocol": protocol, "host": p.o.Host, "workspace": p.o.Project}
	if len(p.config.Config) > 0 {
		params["config"] = p.config.Config
	}
	result, err := in.call(ctx, callParams{method: "initialize", params: params, timeout: p.o.limits.initialize})
	var a manifest
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

// supervise restarts the process when it has ended.
func (p *Process) supervise(ctx context.Context, in *instance) {
	defer close(p.done)
	for {
		<-in.dead
		final, why := in.failure()
		p.down(in)
		for {
			if p.isClosed() || ctx.Err() != nil {
				p.turnOff("it was closed")
				return
			}
			var pause time.Duration
			again := !final
			if again {
				pause, again = p.restart(time.Now(), why)
			}
			if !again {
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
			if err == nil && !a.equal(p.manifest) {
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

// restart records a restart, and returns the pause before it; again is false if there were too many.
func (p *Process) restart(now time.Time, why error) (pause time.Duration, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.times) > 0 && now.Sub(p.times[0]) > window {
		p.times = p.times[1:]
	}
	if len(p.times) >= maxRestarts {
		return 0, false
	}
	pause = p.o.limits.pause << (2 * len(p.times))
	p.times = append(p.times, now)
	p.restarts++
	p.last = why.Error()
	return pause, true
}

// up starts the channels that were started before a restart, and then lets the process be called.
func (p *Process) up(ctx context.Context, in *instance) {
	p.mu.Lock()
	open := slices.Sorted(maps.Keys(p.open))
	p.mu.Unlock()
	for _, name := range open {
		if _, err := in.call(ctx, p.channelCall("channel/start", name, nil)); err != nil {
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

// announce wakes those that wait for a change. p.mu is held.
func (p *Process) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Process) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// OffError is the error of a plugin that was turned off.
type OffError struct{ Name, Why string }

func (e *OffError) Error() string { return fmt.Sprintf("plugin %q is off: %s", e.Name, e.Why) }

// Off returns why the plugin was turned off; nil if it was not.
func (p *Process) Off() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off == "" {
		return nil
	}
	return &OffError{Name: p.config.Name, Why: p.off}
}

// running returns the process. It waits while the process is being restarted.
func (p *Process) running(ctx context.Context) (*instance, error) {
	for {
		p.mu.Lock()
		in, off, changed, last := p.in, p.off, p.changed, p.last
		p.mu.Unlock()
		switch {
		case off != "":
			return nil, &OffError{Name: p.config.Name, Why: off}
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

// begin sends a call once the process runs.
func (p *Process) begin(ctx context.Context, a callParams) (*call, error) {
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

// call calls the plugin and returns the result.
func (p *Process) call(ctx context.Context, a callParams) (json.RawMessage, error) {
	c, err := p.begin(ctx, a)
	if err != nil {
		return nil, err
	}
	_, result, err := c.next(ctx)
	return result, err
}

// Status says whether the plugin works.
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

// Close asks the process to shut down and to exit. If it does not, it is killed, with everything
// that it has started.
func (p *Process) Close() {
	p.mu.Lock()
	in := p.in
	p.closed = true
	p.mu.Unlock()
	if in != nil {
		p.shutDown(in)
	}
	p.cancel()
	<-p.done
}

func (p *Process) shutDown(in *instance) {
	ctx, cancel := context.WithTimeout(context.Background(), p.o.limits.shutdown)
	defer cancel()
	if _, err := in.call(ctx, callParams{method: "shutdown", timeout: p.o.limits.shutdown}); err != nil {
		p.o.Log.Warn("the plugin did not shut down", "error", err)
	}
	in.notify("exit", nil)
	select {
	case in.out <- nil: // closes its standard input
	default:
	}
	select {
	case <-in.dead:
	case <-time.After(p.o.limits.shutdown):
		p.o.Log.Warn("the plugin did not exit, and is killed")
	}
}
