package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/git/disk"
	"tape/repo"
)

// Options of a manager.
type Options struct {
	Dir     string        // where messages are stored, for one process at a time
	Only    []string      // names of the channels to run; none: all
	Silence time.Duration // messages of a session with shorter pauses are merged; 0: a second, below 0: none are merged
	Longest time.Duration // the longest time that they are gathered; 0: ten seconds
	Grace   time.Duration // how long turns may go on at the end; 0: 30 seconds
	// Tape returns a session's tape, to record answers that may not have arrived; nil: they are only logged.
	Tape func(ctx context.Context, session string) (*repo.Tape, error)
	FS   *disk.FS
	Log  *slog.Logger
}

// errStopping ends turns that go on after the next start.
var errStopping error = stopping{}

type stopping struct{}

func (stopping) Error() string { return "the program ended, and the turn goes on after its next start" }
func (stopping) Unwrap() error { return context.Canceled }

// Manager runs channels. Its methods may be called from several goroutines.
type Manager struct {
	o  Options
	rt *hooks.Runtime

	inbox store

	mu       sync.Mutex
	channels map[string]hooks.Channel
	sessions map[string]*session
	base     context.Context // of turns and hooks; nil before Run
	cancel   context.CancelCauseFunc
	stopping bool
	workers  sync.WaitGroup
}

// New returns a manager, and registers a plugin with rt that sends messages through its channels.
func New(rt *hooks.Runtime, o Options) (*Manager, error) {
	if o.Silence == 0 {
		o.Silence = time.Second
	}
	if o.Longest == 0 {
		o.Longest = 10 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{o: o, rt: rt, inbox: store{fs: o.FS, dir: o.Dir}, channels: map[string]hooks.Channel{}, sessions: map[string]*session{}}
	return m, rt.Register(&hooks.Plugin{Name: "channels", Internal: true, DispatchOutbound: m.dispatch})
}

// Run runs the channels until ctx ends. Then running turns may go on for Grace, and waiting messages
// stay for the next start.
func (m *Manager) Run(ctx context.Context) error {
	unlock, err := m.inbox.open(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	pending, err := m.inbox.pending()
	if err != nil {
		return err
	}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	m.mu.Lock()
	m.base, m.cancel = base, cancel
	m.mu.Unlock()
	list, err := m.rt.Channels(ctx, m.Handle)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(c hooks.Channel) bool { return len(m.o.Only) > 0 && !slices.Contains(m.o.Only, c.Name()) })
	if len(list) == 0 {
		return errors.New("no channel is configured: for Telegram, set its bot's token in TAPE_TELEGRAM_TOKEN or credentials.json")
	}
	started, err := m.start(ctx, list)
	if err == nil {
		err = m.resume(base, pending)
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, m.stop(base, started))
}

func (m *Manager) start(ctx context.Context, list []hooks.Channel) (started []hooks.Channel, err error) {
	m.mu.Lock()
	for _, c := range list {
		m.channels[c.Name()] = c
	}
	m.mu.Unlock()
	for _, c := range list {
		if err := c.Start(ctx); err != nil {
			return started, fmt.Errorf("start channel %q: %w", c.Name(), err)
		}
		m.o.Log.Info("a channel has started", "channel", c.Name())
		started = append(started, c)
	}
	return started, nil
}

// stop waits for running turns, ends them after Grace, and stops the channels.
func (m *Manager) stop(ctx context.Context, started []hooks.Channel) (err error) {
	m.mu.Lock()
	m.stopping = true
	for _, s := range m.sessions {
		s.stopGathering()
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(m.o.Grace):
		m.cancel(errStopping)
		<-done
	}
	for _, c := range started {
		if e := c.Stop(ctx); e != nil {
			err = errors.Join(err, fmt.Errorf("stop channel %q: %w", c.Name(), e))
		}
	}
	return err
}

// Wait waits until a session has no messages and no turn, or the manager stops.
func (m *Manager) Wait(ctx context.Context, session string) error {
	m.mu.Lock()
	s := m.sessions[session]
	m.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
