package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"tape/repo"
)

// Runtime asks plugins. Its methods may be called from several goroutines.
type Runtime struct {
	// Workspace is the project's folder, which turns find in their state. [New] sets the current
	// folder; change it before the first turn.
	Workspace string
	// Tapes is the folder of the workspace whose tapes are used if no plugin provides a store;
	// "" is Workspace.
	Tapes string
	// Enter, if it is set, is called before the turn of a message in a session begins, and the
	// function that it returns when the turn is over. By it, turns of other processes are waited
	// for; those of this runtime follow one another by themselves.
	Enter func(ctx context.Context, session string, m Envelope) (leave func(), err error)
	// BeforeModel, if it is set, is called before a plugin is asked to run the model: who records
	// turns does so there. If it gives an answer, that counts, and the plugin is not asked.
	BeforeModel func(ctx context.Context, plugin string, p Prompt, session string, s State) (answer *string, err error)

	log      *slog.Logger
	sessions sessions

	mu         sync.RWMutex
	registered []*Plugin
	ordered    []*Plugin            // who is asked first comes first
	asked      map[string][]*Plugin // by hook, in the same order
	figures    map[figureKey]*PluginReport
	told       onceOnly // of failures that were skipped

	provided sync.Mutex // held while a plugin is asked for one of these
	store    *repo.Store
	inbox    SteeringInbox
}

// New makes a runtime without plugins. A nil log is slog's default.
func New(log *slog.Logger) *Runtime {
	if log == nil {
		log = slog.Default()
	}
	folder, err := os.Getwd()
	if err != nil {
		folder = "." // it has been removed; whoever opens it will say so
	}
	return &Runtime{Workspace: folder, log: log, figures: map[figureKey]*PluginReport{}}
}

// Register adds a plugin, which is then asked before those that are there, priorities apart.
// It is refused without a name, if its name is taken, or if it is required and has none of the
// hooks around calls.
func (r *Runtime) Register(p *Plugin) error {
	if p.Name == "" {
		return errors.New("register a plugin: it has no name")
	}
	if p.Required && !slices.ContainsFunc(p.Hooks(), AroundCalls) {
		return fmt.Errorf("register plugin %q: it is required, and has none of the hooks around calls, so it would decide nothing", p.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.registered, func(q *Plugin) bool { return q.Name == p.Name }) {
		return fmt.Errorf("register plugin %q: there is one of this name; give it another", p.Name)
	}
	r.registered = append(r.registered, p)
	ordered := slices.Clone(r.registered)
	slices.Reverse(ordered)
	slices.SortStableFunc(ordered, func(a, b *Plugin) int { return cmp.Compare(b.Priority, a.Priority) })
	asked := map[string][]*Plugin{}
	for _, q := range ordered {
		for _, hook := range q.Hooks() {
			asked[hook] = append(asked[hook], q)
		}
	}
	for hook, plugins := range asked {
		if AroundCalls(hook) {
			slices.SortStableFunc(plugins, func(a, b *Plugin) int { return cmp.Compare(rank(a), rank(b)) })
		}
	}
	r.ordered, r.asked = ordered, asked
	return nil
}

// rank puts required plugins behind the others.
func rank(p *Plugin) int {
	if p.Required {
		return 1
	}
	return 0
}

// Plugins are the registered plugins in the order in which they are asked.
func (r *Runtime) Plugins() []*Plugin {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.ordered)
}

// Hooks are the names of the hooks that the plugin implements, in the order of the contract.
func (p *Plugin) Hooks() []string {
	var names []string
	for field, value := range reflect.ValueOf(p).Elem().Fields() {
		if name, ok := field.Tag.Lookup("hook"); ok && !value.IsNil() {
			names = append(names, name)
		}
	}
	return names
}

// implementing are the plugins that implement a hook, in order. The slice is never changed.
func (r *Runtime) implementing(hook string) []*Plugin {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.asked[hook]
}

// first asks until a plugin answers. The zero value of T is none.
func first[T any](ctx context.Context, r *Runtime, hook string, ask func(*Plugin) (T, error)) (answer T, err error) {
	for _, p := range r.implementing(hook) {
		answer, err = call(ctx, r, p, hook, ask)
		if err != nil || !reflect.ValueOf(&answer).Elem().IsZero() {
			return answer, err
		}
	}
	return answer, nil
}

// many asks everybody; a failure is the last that is asked.
func many[T any](ctx context.Context, r *Runtime, hook string, ask func(*Plugin) (T, error)) ([]T, error) {
	var answers []T
	for _, p := range r.implementing(hook) {
		answer, err := call(ctx, r, p, hook, ask)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// hookError says whose hook failed.
type hookError struct {
	plugin, hook string
	err          error
}

func (e *hookError) Error() string { return fmt.Sprintf("plugin %q: %s: %v", e.plugin, e.hook, e.err) }
func (e *hookError) Unwrap() error { return e.err }

// call asks one plugin, unless ctx has ended. A panic is an error of the hook.
func call[T any](ctx context.Context, r *Runtime, p *Plugin, hook string, ask func(*Plugin) (T, error)) (answer T, err error) {
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	start := time.Now()
	defer func() {
		if x := recover(); x != nil {
			r.log.Error("a hook panicked", "hook", hook, "plugin", p.Name, "panic", x, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", x)
		}
		failure := err
		if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			failure = nil // it was told to stop
		}
		r.count(hook, p, time.Since(start), failure)
		if err != nil {
			err = &hookError{p.Name, hook, err}
		}
	}()
	return ask(p)
}
