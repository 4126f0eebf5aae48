package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/internal/text/secrets"
	"tape/repo"
	"tape/repo/view"
)

// stateChosen is the model that the session has chosen with ,model. hooks.StateModel may differ: a
// plugin can set another model for a turn.
const stateChosen = "_session_model"

// Model calls models; see [models.Client].
type Model interface {
	Form(model string) (view.Format, error)
	Stream(ctx context.Context, r models.Request) hooks.Stream
}

// Tools are the built-in tools; see [tools.Set].
type Tools interface {
	All(ctx context.Context) []hooks.Tool
	Keep(ctx context.Context, c hooks.ToolContext, tool, text string) (string, *repo.Artifact)
	Stop(session string)
	Problems() []string // since the last call, of tools that cannot be used
}

// Options of the plugin. Runtime is required; without the others, their features are missing.
type Options struct {
	Runtime      *hooks.Runtime
	Model        Model
	Tools        Tools
	Name         string // the configured model
	SummaryModel string // summarizes a context that is too long; "": the turn's model
	// Models returns the models that ,model lists.
	Models func(ctx context.Context, session string) ([]hooks.ModelOption, error)

	Project   string   // the root of the project, with AGENTS.md and .agents/skills
	Folder    string   // the current folder in the project; AGENTS.md on the way to it count, too
	Home      string   // the user's home, with .agents/skills
	Keys      []string // of providers, masked on the tape
	MaxSteps  int      // of a turn; 0: 50
	MaxTokens int      // of an answer; 0: the provider's default
	// AutoHandoffs is how often a turn begins a new context because it was too long; 0: 3, -1: never.
	AutoHandoffs int
	// Commands says that a person types the comma commands, so that nobody is asked whether they may run.
	Commands bool
	// Plan reports whether tools that change something are refused. If so, the system prompt says it. nil:
	// they are not.
	Plan func() bool
	Now  func() time.Time // nil: time.Now
}

type agent struct {
	Options
	masked *secrets.KnownFinder // finds Keys
}

// Plugin returns the built-in plugin. Register it first, so that it is asked last.
func Plugin(o Options) *hooks.Plugin {
	a := &agent{Options: o}
	a.setDefaults()
	if o.Runtime != nil {
		o.Runtime.BeforeModel, o.Runtime.ModelStream = a.beforeModel, a.recordStream
		o.Runtime.MayRun = func(plugin string, p hooks.Prompt) bool { return plugin == Name || !isCommandPrompt(p) }
	}
	return &hooks.Plugin{
		Name:                Name,
		Internal:            true,
		LoadState:           a.loadState,
		BuildPrompt:         a.buildPrompt,
		SystemPrompt:        a.systemPrompt,
		RunModelStream:      a.runModelStream,
		SaveState:           a.saveState,
		ProvideModelOptions: o.Models,
		OnError:             hooks.ErrorMessages(o.Runtime).OnError,
		MoreTools: func(ctx context.Context) []hooks.Tool {
			return append(a.Tools.All(ctx), a.newSubagentTool())
		},
	}
}

func (a *agent) setDefaults() {
	if a.MaxSteps == 0 {
		a.MaxSteps = 50
	}
	if a.AutoHandoffs == 0 {
		a.AutoHandoffs = 3
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	if a.Tools == nil {
		a.Tools = noTools{}
	}
	a.masked = keys.Mask(a.Keys)
}

type noTools struct{}

func (noTools) All(context.Context) []hooks.Tool { return nil }
func (noTools) Stop(string)                      {}
func (noTools) Problems() []string               { return nil }
func (noTools) Keep(_ context.Context, _ hooks.ToolContext, _, text string) (string, *repo.Artifact) {
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// loadState returns the message's id and context, and the model that the session has chosen.
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

// chosenModel returns the model that a session has chosen with ,model. Each event run of its turns repeats it, so the
// last event run or model_switch has it.
func chosenModel(ctx context.Context, t *repo.Tape) (string, error) {
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindEvent}, Reverse: true}) {
		if err != nil {
			return "", err
		}
		if e.Hidden() {
			continue // a subagent's
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

// runModelStream runs a comma command or the loop.
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
	r := a.newTurn(t, session, p, s)
	if model, ok := s[hooks.StateModel].(string); ok && model != "" {
		r.model = model
	}
	for _, tool := range tools.Distinct(a.Runtime.Tools(ctx)) {
		r.tools = append(r.tools, tools.Checked(tool))
	}
	if r.past, err = lookBack(ctx, t, r.id); err != nil {
		return nil, fmt.Errorf("read what tape %s has of the turn: %w", t.Name(), err)
	}
	if isCommandPrompt(p) {
		r.work = r.command
		return r.stream(ctx), nil
	}
	if _, err := a.form(r.model); err != nil {
		return nil, errors.Join(err, r.noModel(ctx, err))
	}
	r.work, r.problems = r.run, a.Tools.Problems()
	return r.stream(ctx), nil
}

// form returns the form of a model's messages; an error if the model cannot be called. If none is configured, the
// error wraps hooks.ErrNoModel.
func (a *agent) form(model string) (view.Format, error) {
	if a.Model == nil {
		return "", hooks.ErrNoModel
	}
	return a.Model.Form(model)
}

// noModel records a message that no model can answer.
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

// newID returns a random id.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:16]) }
