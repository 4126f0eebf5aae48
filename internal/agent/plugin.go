package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/internal/text/secrets"
	"tape/repo"
	"tape/repo/view"
)

// stateChosen is the model that the session has chosen; a plugin may put another one in its place
// for a turn.
const stateChosen = "_session_model"

// Model is the client that calls models.
type Model interface {
	Form(model string) (view.Format, error)
	Stream(ctx context.Context, r models.Request) hooks.Stream
}

// Tools are the built-in ones: see [tools.Set].
type Tools interface {
	All(ctx context.Context) []hooks.Tool
	Keep(ctx context.Context, c hooks.ToolContext, tool, text string) (string, *repo.Artifact)
	Stop(session string)
}

// Options say what the plugin works with. Runtime is needed; what else is missing is left out.
type Options struct {
	Runtime *hooks.Runtime
	Model   Model
	Tools   Tools
	// Name is the configured model, and Models are all that are.
	Name   string
	Models []hooks.ModelOption

	Project   string   // the root of the project, with AGENTS.md and .agents/skills
	Folder    string   // where in the project one is: AGENTS.md of the folders on the way counts, too
	Home      string   // the person's, with .agents/skills
	Keys      []string // of providers, which never stand on a tape
	MaxSteps  int      // of a turn, default 50
	MaxTokens int      // of an answer, 0: the provider's
	Now       func() time.Time
}

type agent struct {
	Options
	known *secrets.Known
}

// Plugin is the built-in plugin. It is registered first, so that it is asked last.
func Plugin(o Options) *hooks.Plugin {
	a := &agent{Options: o}
	a.defaults()
	if o.Runtime != nil {
		o.Runtime.BeforeModel = a.beforeModel
	}
	return &hooks.Plugin{
		Name:           pluginName,
		LoadState:      a.loadState,
		BuildPrompt:    a.buildPrompt,
		SystemPrompt:   a.systemPrompt,
		RunModelStream: a.runModelStream,
		SaveState:      a.saveState,
		ProvideModelOptions: func(context.Context, string) ([]hooks.ModelOption, error) {
			return o.Models, nil
		},
		OnError: hooks.ErrorMessages(o.Runtime).OnError,
	}
}

// shortestKey: what is shorter is no key, but a placeholder of a server that wants none.
const shortestKey = 12

func (a *agent) defaults() {
	if a.MaxSteps == 0 {
		a.MaxSteps = 50
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	if a.Tools == nil {
		a.Tools = noTools{}
	}
	var list []secrets.Secret
	for _, key := range a.Keys {
		if len(key) >= shortestKey {
			list = append(list, secrets.Secret{Rule: "provider-key", Text: key})
		}
	}
	if len(list) > 0 {
		a.known = secrets.NewKnown(list)
	}
}

type noTools struct{}

func (noTools) All(context.Context) []hooks.Tool { return nil }
func (noTools) Stop(string)                      {}
func (noTools) Keep(_ context.Context, _ hooks.ToolContext, _, text string) (string, *repo.Artifact) {
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// loadState gives the message's id and context, and the model that the session has chosen.
func (a *agent) loadState(ctx context.Context, m hooks.Envelope, session string) (hooks.State, error) {
	id := m.Text(hooks.KeyMessageID)
	if id == "" {
		id = newID("message-")
	}
	s := hooks.State{hooks.KeyMessageID: id, hooks.KeySession: session}
	if about := contextText(m[hooks.KeyContext]); about != "" {
		s[hooks.KeyContext] = about
	}
	t, err := a.tape(ctx, session)
	if err != nil {
		return nil, err
	}
	model, err := chosenModel(ctx, t)
	if err != nil {
		return nil, err
	}
	if model != "" {
		s[hooks.StateModel], s[stateChosen] = model, model
	}
	return s, nil
}

// chosenModel is what ,model has chosen for a session. Each run repeats it, so the last event
// of either kind tells.
func chosenModel(ctx context.Context, t *repo.Tape) (string, error) {
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindEvent}, Reverse: true}) {
		if err != nil {
			return "", err
		}
		switch name, data := eventOf(e); name {
		case eventModelSwitch:
			return data.Model, nil
		case eventRun:
			return data.Switch, nil
		}
	}
	return "", nil
}

// runModelStream is a turn's model: a comma command, or the loop.
func (a *agent) runModelStream(ctx context.Context, p hooks.Prompt, session string, s hooks.State) (hooks.Stream, error) {
	if p.Empty() {
		const text = "error: empty prompt"
		return func(yield func(hooks.Event, error) bool) {
			_ = yield(hooks.Text(text), nil) && yield(final(text, false), nil)
		}, nil
	}
	t, err := a.tape(ctx, session)
	if err != nil {
		return nil, err
	}
	delete(s, stateModelPlugin)
	r := a.turn(t, session, p, s)
	if model, ok := s[hooks.StateModel].(string); ok && model != "" {
		r.model = model
	}
	var offered []hooks.Tool // by plugins
	for _, tool := range a.Runtime.Tools() {
		offered = append(offered, tools.Checked(tool))
	}
	r.tools = tools.Distinct(slices.Concat(offered, a.Tools.All(ctx), []hooks.Tool{a.subagents()}))
	if r.past, err = lookBack(ctx, t, r.id); err != nil {
		return nil, fmt.Errorf("look for what tape %s has of the turn: %w", t.Name(), err)
	}
	if len(p.Parts) == 0 && isCommand(p.Text) {
		r.work = r.command
		return r.stream(ctx), nil
	}
	if _, err := a.form(r.model); err != nil {
		return nil, errors.Join(err, r.noModel(ctx, err))
	}
	r.work = r.run
	return r.stream(ctx), nil
}

// form is in which form a model wants messages. The error is a hooks.ErrNoModel where none is
// configured, and says how to set one.
func (a *agent) form(model string) (view.Format, error) {
	if a.Model == nil {
		return "", hooks.ErrNoModel
	}
	form, err := a.Model.Form(model)
	if errors.Is(err, models.ErrNoModel) && !errors.Is(err, hooks.ErrNoModel) {
		err = fmt.Errorf("%w: %w", hooks.ErrNoModel, err)
	}
	return form, err
}

// noModel records a message that no model answers.
func (r *turn) noModel(ctx context.Context, problem error) error {
	if r.past.prompt != nil {
		return nil
	}
	d := r.drafts()
	d.message("user", promptContent(r.prompt), meta{})
	d.failure(kindNoModel, problem.Error())
	d.run(statusError, nil)
	return d.save(ctx)
}

// newID is an id that nothing else has.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:16]) }
