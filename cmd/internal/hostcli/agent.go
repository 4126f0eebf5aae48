package hostcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tape/cmd/internal/cli"
	"tape/hooks"
	"tape/internal/agent"
	"tape/internal/agent/approve"
	"tape/internal/agent/channels/telegram"
	"tape/internal/agent/keys"
	"tape/internal/agent/models"
	"tape/internal/agent/procplugin"
	"tape/internal/agent/sandbox"
	"tape/internal/agent/tools"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
	"tape/repo/view"
)

// assembly is an agent with all its parts.
type assembly struct {
	cli.AgentOptions
	rt         *hooks.Runtime
	log        *slog.Logger
	set        *tools.Set
	box        *sandbox.Sandbox // nil: commands are not confined
	unconfined string           // why they are not, if the settings say so
	gate       *approve.Gate
	procs      []*procplugin.Process
	models     *modelList
}

// readSettings reads the setting of each key in texts into the string that the key maps to.
func readSettings(s *repo.Store, texts map[string]*string) (err error) {
	for key, into := range texts {
		if *into, err = s.Setting(key); err != nil {
			return err
		}
	}
	return nil
}

func jsonSetting(s *repo.Store, key string, into any) error {
	text, err := s.Setting(key)
	if err != nil || text == "" {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the setting %s: %w", key, err)
	}
	return nil
}

func modelSettings(o cli.AgentOptions) (models.Settings, error) {
	var c models.Config
	var fallbacks string
	err := cmp.Or(readSettings(o.Store, map[string]*string{"model": &c.Model, "fallback_models": &fallbacks}), serverSettings(o.Store, &c))
	if err != nil {
		return models.Settings{}, err
	}
	if fallbacks != "" {
		c.Fallbacks = strings.Split(fallbacks, ",")
	}
	return models.Load(o.Getenv, c, keys.File(o.Home))
}

// serverSettings reads the settings that say how servers of models are asked.
func serverSettings(s *repo.Store, c *models.Config) error {
	var stream, silence, maxTokens string
	err := cmp.Or(jsonSetting(s, "base_urls", &c.BaseURLs), jsonSetting(s, "apis", &c.APIs), jsonSetting(s, "headers", &c.Headers), jsonSetting(s, "query", &c.Query),
		readSettings(s, map[string]*string{"stream": &stream, "silence": &silence, "max_tokens": &maxTokens}))
	if err != nil {
		return err
	}
	c.Whole = stream == "false"
	if silence != "" {
		if c.Silence, err = time.ParseDuration(silence); err != nil {
			return fmt.Errorf("the setting silence: %w", err)
		}
	}
	c.MaxTokens, err = strconv.Atoi(cmp.Or(maxTokens, "0"))
	return err
}

// noPlugins is the argument of newAssembly for commands without plugins of their own.
func noPlugins(*assembly) error { return nil }

// newAssembly builds an agent, which the caller closes. register registers the command's own plugins. Those of
// the settings are registered after them, and so are asked first.
func newAssembly(ctx context.Context, o cli.AgentOptions, register func(a *assembly) error) (*assembly, error) {
	a := &assembly{AgentOptions: o, log: slog.New(slog.DiscardHandler)} // commands report errors themselves
	if o.Verbose {
		a.log = slog.New(slog.NewTextHandler(o.Err, nil))
	}
	a.rt = hooks.New(a.log)
	a.rt.Enter, a.rt.Approve = a.enter, a.approve
	a.rt.Workspace, a.rt.Tapes = o.Project, o.Store.Dir()
	s, err := modelSettings(o)
	if err == nil {
		a.gate, err = a.newGate()
	}
	if err != nil {
		return nil, err
	}
	chat, err := a.telegram()
	if err != nil {
		return nil, err
	}
	s.Log = a.log
	secret := s.Keys()
	if chat.Token != "" {
		secret = append(secret, chat.Token)
	}
	if err := a.builtin(s, secret); err != nil {
		return nil, err
	}
	err = errors.Join(a.rt.Register(telegram.Plugin(chat)), register(a))
	if err == nil {
		err = a.programs(ctx, secret)
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// builtin registers the built-in plugin, which is asked last.
func (a *assembly) builtin(s models.Settings, secret []string) error {
	project := a.Project
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are no skills of the user
	}
	serversDir, err := a.programsDir("mcp_servers")
	if err != nil {
		return err
	}
	var servers map[string]tools.Server
	if text, err := a.programSetting("mcp_servers"); err != nil {
		return err
	} else if text != "" {
		if err := json.Unmarshal([]byte(text), &servers); err != nil {
			return fmt.Errorf("mcp_servers: %w", err)
		}
	}
	var maxSteps, privateWeb, summaryModel, autoHandoffs string
	if err := readSettings(a.Store, map[string]*string{
		"max_steps": &maxSteps, "web_private": &privateWeb, "summary_model": &summaryModel, "auto_handoffs": &autoHandoffs}); err != nil {
		return err
	}
	steps, err := strconv.Atoi(cmp.Or(maxSteps, "0")) // 0: the agent's default
	if err != nil {
		return err
	}
	handoffs, err := strconv.Atoi(cmp.Or(autoHandoffs, "3"))
	if err != nil {
		return err
	}
	if handoffs == 0 {
		handoffs = -1 // never
	}
	confine, err := a.confine(home)
	if err != nil {
		return err
	}
	a.set = tools.New(tools.Options{Dir: project, Servers: servers, ServersDir: serversDir, Keys: secret, PrivateWeb: privateWeb == "true", Confine: confine, Settle: a.settle, Log: a.log,
		CommandEnv: strings.FieldsFunc(a.Getenv("TAPE_COMMAND_ENV"), func(r rune) bool { return r == ',' || r == ' ' }),
		Tape:       func(ctx context.Context, c hooks.ToolContext) (*repo.Tape, error) { return a.tape(ctx, c.Session) },
		Skills: func(context.Context, hooks.ToolContext) ([]tools.Skill, error) {
			return agent.Skills(project, home), nil
		},
	})
	a.models = &modelList{client: models.New(s), configured: append([]string{s.Model}, s.Fallbacks...)}
	return a.rt.Register(agent.Plugin(agent.Options{Runtime: a.rt, Model: client{a.models.client}, Tools: a.set, Name: s.Model, Models: a.models.options,
		Project: project, Folder: a.Folder, Home: home, Keys: secret, MaxSteps: steps, AutoHandoffs: handoffs, SummaryModel: summaryModel, Commands: a.Typed, Plan: func() bool { return a.gate.Mode() == approve.ModePlan }}))
}

// client is a client whose error for a missing model says how to set one.
type client struct{ *models.Client }

func (c client) Form(model string) (view.Format, error) {
	form, err := c.Client.Form(model)
	if errors.Is(err, models.ErrNoModel) {
		err = noModel{err}
	}
	return form, err
}

type noModel struct{ error }

func (noModel) Error() string {
	return "no model is set: tape onboard asks for one, and tape config model PROVIDER:MODEL or TAPE_MODEL sets one"
}
func (e noModel) Unwrap() error { return e.error }

// telegram returns the channel's settings; without a token there is no channel.
func (a *assembly) telegram() (o telegram.Options, err error) {
	text, err := a.Store.Setting("telegram")
	if err != nil {
		return o, err
	}
	stored, err := keys.Read(keys.File(a.Home))
	if err != nil {
		return o, err
	}
	o, err = telegram.Settings(json.RawMessage(text), a.Getenv, stored)
	o.Dir, o.Log = a.messages("telegram"), a.log
	return o, err
}

// programs starts the plugins that the settings name, and registers them in that order.
func (a *assembly) programs(ctx context.Context, secret []string) error {
	text, err := a.programSetting("plugins")
	if err != nil {
		return err
	}
	list, err := workspace.ParsePlugins(text)
	if err != nil {
		return err
	}
	dir, err := a.programsDir("plugins")
	if err != nil {
		return err
	}
	var configs []procplugin.Config
	for _, p := range list {
		configs = append(configs, procplugin.Config(p))
	}
	a.procs = procplugin.StartAll(ctx, configs, procplugin.Options{Host: "tape " + a.Version, Project: a.Project, Dir: dir, Keys: secret, Runtime: a.rt, Tape: a.tape, Log: a.log})
	for _, p := range a.procs {
		if err := a.rt.Register(p.Plugin()); err != nil {
			return err
		}
	}
	return nil
}

// programSetting returns a setting with programs. Relative paths, which former versions kept, are those of files of the
// workspace's project, not of the folder where somebody stands.
func (a *assembly) programSetting(key string) (string, error) {
	text, global, err := (*workspace.Store)(a.Store).SettingFrom(key)
	if err != nil || global {
		return text, err
	}
	now, err := workspace.AbsolutePrograms(key, text, a.home())
	if err == nil && now != text && workspace.ProjectOf(a.Store.Dir()).Dir == "" {
		err = layout.Invalid("set them again in the folder that has them", "%s: programs or files are named by relative paths, and would be others in each folder", key)
	}
	return now, err
}

// home returns the directory of the workspace's project; if none is noted, the folder where somebody stands.
func (a *assembly) home() string {
	return cmp.Or(workspace.ProjectOf(a.Store.Dir()).Dir, a.Project)
}

// programsDir returns the folder in which the programs of a setting run: the project or its worktree. In another clone,
// which is linked to the workspace, it is the project, and for a setting of all workspaces it is a folder of the user's
// own, so that files of the clone, or of any project, are not run by accident.
func (a *assembly) programsDir(key string) (string, error) {
	_, global, err := (*workspace.Store)(a.Store).SettingFrom(key)
	if err != nil {
		return "", err
	}
	if !global {
		if home := a.home(); workspace.ProjectDir(a.Project) != workspace.ProjectDir(home) {
			return home, nil
		}
		return a.Project, nil
	}
	dir, err := workspace.ProgramsDir()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// warnOff warns of plugins that could not be started.
func (a *assembly) warnOff() {
	for _, p := range a.procs {
		if off := p.Off(); off != nil {
			a.Warn(off.Error() + "; --verbose shows its output")
		}
	}
}

// tape returns the tape of the running turn or, outside of a turn, that of a session.
func (a *assembly) tape(ctx context.Context, session string) (*repo.Tape, error) {
	if t, err := agent.TapeOf(ctx); err == nil {
		return t, nil
	}
	if session == "" {
		return nil, errors.New("there is no tape: the call belongs to no session")
	}
	store, err := a.rt.TapeStore(ctx)
	if err != nil {
		return nil, err
	}
	return store.Tape(ctx, agent.TapeName(session))
}

// messages returns a folder for waiting messages. It never comes with somebody else's workspace, because messages are
// answered, and the commands among them are run.
func (a *assembly) messages(name string) string {
	return a.Store.UsersPath("messages", filepath.Base(name))
}

func (a *assembly) close() {
	procplugin.CloseAll(a.procs)
	a.set.Close()
	if a.box != nil {
		a.box.Close()
	}
}
