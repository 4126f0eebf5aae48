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
	// Workspace is the project's folder, which plugins find in the [State] of a turn. [New] sets it to the
	// current folder; change it before the first turn.
	Workspace string
	// Tapes is the folder of the workspace whose tapes are used if no plugin provides a store;
	// "" means Workspace.
	Tapes string
	// Enter, if set, is called before a turn begins, and the function that it returns when the turn
	// is over. It waits for turns of other processes; the runtime itself keeps its own turns of a
	// session in order.
	Enter func(ctx context.Context, session string, m Envelope) (leave func(), err error)
	// MayRun, if set, says whether a plugin's model may get a prompt at all. A command is not for a model.
	MayRun func(plugin string, p Prompt) bool
	// BeforeModel, if set, is called before a plugin is asked to run the model, to record the turn.
	// If it returns an answer, that answer is used, and the plugin is not asked.
	BeforeModel func(ctx context.Context, plugin string, p Prompt, session string, s State) (answer *string, err error)
	// ModelStream, if set, gets the stream of a plugin's model, and returns the stream to show. It can
	// record what the model does.
	ModelStream func(ctx context.Context, plugin, session string, s State, events Stream) Stream

	// Approve, if set, is called after the hooks and before a tool is called. Its error says why the call
	// must not be made; see [ErrUnanswered].
	Approve func(ctx context.Context, c ToolCall, s State) error

	log      *slog.Logger
	sessions sessions

	mu         sync.RWMutex
	registered []*Plugin
	ordered    []*Plugin            // in the order in which they are asked
	byHook     map[string][]*Plugin // by the hook's name, in the same order
	stats      map[hookKey]*PluginReport
	reported   hookSet // failures of skipped plugins

	providedMu sync.Mutex // guards store and inbox
	store      *repo.Store
	inbox      SteeringInbox
}

// New returns a runtime without plugins. A nil log means slog's default.
func New(log *slog.Logger) *Runtime {
	folder, err := os.Getwd()
	if err != nil {
		folder = "." // it has been removed; opening it will fail with a clear error
	}
	return &Runtime{Workspace: folder, log: cmp.Or(log, slog.Default()), stats: map[hookKey]*PluginReport{}}
}

// Register adds a plugin. It is asked before earlier plugins of the same priority; internal plugins are
// asked after all others. A plugin is refused if it has no name, if the name is taken, or if it is
// required but implements no hook around calls.
func (r *Runtime) Register(p *Plugin) error {
	if p.Name == "" {
		return errors.New("register a plugin: it has no name")
	}
	if p.Required && !slices.ContainsFunc(p.Hooks(), AroundCalls) {
		return fmt.Errorf("register plugin %q: it is required, but has none of the hooks around calls, so it could not deny anything", p.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.registered, func(q *Plugin) bool { return q.Name == p.Name }) {
		return fmt.Errorf("register plugin %q: the name is taken; give it another", p.Name)
	}
	r.registered = append(r.registered, p)
	ordered := slices.Clone(r.registered)
	slices.Reverse(ordered)
	slices.SortStableFunc(ordered, func(a, b *Plugin) int {
		return cmp.Or(cmp.Compare(rank(a.Internal), rank(b.Internal)), cmp.Compare(b.Priority, a.Priority))
	})
	byHook := map[string][]*Plugin{}
	for _, q := range ordered {
		for _, hook := range q.Hooks() {
			byHook[hook] = append(byHook[hook], q)
		}
	}
	for hook, plugins := range byHook {
		if AroundCalls(hook) {
			slices.SortStableFunc(plugins, func(a, b *Plugin) int { return cmp.Compare(rank(a.Required), rank(b.Required)) })
		}
	}
	r.ordered, r.byHook = ordered, byHook
	return nil
}

// rank sorts plugins that have a property after those that do not.
func rank(has bool) int {
	if has {
		return 1
	}
	return 0
}

// Plugins returns the registered plugins in the order in which they are asked.
func (r *Runtime) Plugins() []*Plugin {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.ordered)
}

// Hooks returns the names of the hooks that the plugin implements, in the order of the contract.
func (p *Plugin) Hooks() []string {
	var names []string
	for field, value := range reflect.ValueOf(p).Elem().Fields() {
		if name, ok := field.Tag.Lookup("hook"); ok && !value.IsNil() {
			names = append(names, name)
		}
	}
	return names
}

// implementing returns the plugins that implement a hook, in order. The slice is never changed.
func (r *Runtime) implementing(hook string) []*Plugin {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byHook[hook]
}

// first returns the first answer that is not the zero value of T.
func first[T any](ctx context.Context, r *Runtime, hook string, f func(*Plugin) (T, error)) (answer T, err error) {
	for _, p := range r.implementing(hook) {
		answer, err = ask(ctx, r, p, hook, f)
		if err != nil || !reflect.ValueOf(&answer).Elem().IsZero() {
			return answer, err
		}
	}
	return answer, nil
}

// many returns the answers of all plugins. It stops at the first error.
func many[T any](ctx context.Context, r *Runtime, hook string, f func(*Plugin) (T, error)) ([]T, error) {
	var answers []T
	for _, p := range r.implementing(hook) {
		answer, err := ask(ctx, r, p, hook, f)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// hookError says which plugin's hook failed.
type hookError struct {
	plugin, hook string
	err          error
}

func (e *hookError) Error() string { return fmt.Sprintf("plugin %q: %s: %v", e.plugin, e.hook, e.err) }
func (e *hookError) Unwrap() error { return e.err }

// ask calls one plugin's hook, unless ctx has ended. A panic becomes an error.
func ask[T any](ctx context.Context, r *Runtime, p *Plugin, hook string, f func(*Plugin) (T, error)) (answer T, err error) {
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	start := time.Now()
	defer func() {
		x := recover()
		if x != nil {
			r.log.Error("a hook panicked", "hook", hook, "plugin", p.Name, "panic", x, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", x)
		}
		failure := err
		if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			failure = nil // the plugin stopped because the turn was cancelled
		}
		r.count(hook, p, time.Since(start), failure)
		if err != nil && (!p.Internal || x != nil) {
			err = &hookError{p.Name, hook, err}
		}
	}()
	return f(p)
}
