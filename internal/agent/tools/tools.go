package tools

import (
	"cmp"
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/internal/text/secrets"
	"tape/repo"
	"tape/repo/view"
)

// Options say which tools there are, and what they work on.
type Options struct {
	Dir     string                                                             // the project
	Tape    func(ctx context.Context, c hooks.ToolContext) (*repo.Tape, error) // nil: no tape tools, and long results are cut
	Skills  func(ctx context.Context, c hooks.ToolContext) ([]Skill, error)    // nil: no tool skill
	Servers map[string]Server                                                  // MCP servers, by name
	// ServersDir is the folder in which MCP servers are started; "": Dir.
	ServersDir string
	// Keys are the providers' keys. They are masked in results, and removed from the environment of
	// commands and MCP servers.
	Keys       []string
	CommandEnv []string // variables that commands get although they look like keys
	// Confine changes a command, before it starts, so that it runs in a sandbox; nil: commands are not confined.
	Confine func(cmd *exec.Cmd) error
	// Settle is called when a confined command has ended, and before output of one that runs is shown; its error is added
	// to the command's output.
	Settle     func(ended bool) error
	PrivateWeb bool         // web.fetch may connect to private and local addresses
	Log        *slog.Logger // nil: nothing is logged
}

// problems are what a person has not been told yet.
type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, text)
}

// Problems returns what went wrong with MCP servers since the last call, each problem once.
func (s *Set) Problems() []string {
	s.problems.mu.Lock()
	defer s.problems.mu.Unlock()
	out := s.problems.list
	s.problems.list = nil
	slices.Sort(out)
	return out
}

// Set has the tools of one host. Close ends everything that they have started.
type Set struct {
	o        Options
	keys     *secrets.KnownFinder
	scanner  func() *secrets.Scanner
	watchdog *watchdog
	shells   *shells
	files    *files
	servers  []*server
	builtIn  []hooks.Tool
	problems problems
}

// New returns the tools. It starts nothing: MCP servers are started by the first All.
func New(o Options) *Set {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if dir, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = dir
	}
	s := &Set{o: o, scanner: sync.OnceValue(secrets.New), keys: keys.Mask(o.Keys), watchdog: &watchdog{}, files: &files{dir: o.Dir}}
	s.shells = &shells{dir: o.Dir, env: environment(o.CommandEnv, o.Keys), watchdog: s.watchdog, confine: o.Confine, settle: o.Settle, all: map[string]*shell{}}
	env := environment(nil, o.Keys)
	for name, config := range o.Servers {
		s.servers = append(s.servers, &server{Server: config, name: name, dir: cmp.Or(o.ServersDir, o.Dir), env: env, watchdog: s.watchdog, log: o.Log, tell: s.problems.add, silence: answerTimeout})
	}
	slices.SortFunc(s.servers, func(a, b *server) int { return strings.Compare(a.name, b.name) })
	s.builtIn = slices.Concat(s.shells.tools(), s.files.tools(), []hooks.Tool{webTool(o.PrivateWeb)}, skillTools(o), tapeTools(o), artifactTools(o))
	return s
}

// All returns the host's tools: the built-in ones, then those of the MCP servers, which are started
// if they do not run. If a server fails, that is logged, and its tools are those that it listed last.
// Every tool checks its arguments; see [Checked].
func (s *Set) All(ctx context.Context) []hooks.Tool {
	offered := make([][]hooks.Tool, len(s.servers))
	var wait sync.WaitGroup
	for i, server := range s.servers {
		wait.Go(func() { offered[i] = server.tools(ctx) })
	}
	wait.Wait()
	return Distinct(slices.Concat(s.builtIn, slices.Concat(offered...)))
}

// Stop ends the commands that a session has in the background.
func (s *Set) Stop(session string) {
	s.shells.stop(func(sh *shell) bool { return sh.session == session })
}

// Close ends everything that the tools have started.
func (s *Set) Close() {
	var wait sync.WaitGroup
	for _, server := range s.servers {
		wait.Go(server.close)
	}
	s.shells.stop(func(*shell) bool { return true })
	wait.Wait()
	s.watchdog.close()
}

// Find returns the tool that a model, a setting or a person names: by its own name, or by the name
// that models see.
func Find(list []hooks.Tool, name string) (hooks.Tool, bool) {
	i := slices.IndexFunc(list, func(t hooks.Tool) bool { return t.Name == name })
	if i < 0 {
		i = slices.IndexFunc(list, func(t hooks.Tool) bool {
			return strings.EqualFold(view.ToolName(t.Name), view.ToolName(strings.TrimSpace(name)))
		})
	}
	if i < 0 {
		return hooks.Tool{}, false
	}
	return list[i], true
}

// Distinct drops tools whose name, as models see it, differs from an earlier one's at most in case.
func Distinct(list []hooks.Tool) []hooks.Tool {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(t hooks.Tool) bool {
		name := strings.ToLower(view.ToolName(t.Name))
		defer func() { seen[name] = true }()
		return seen[name]
	})
}
