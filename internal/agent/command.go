package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/hooks"
	"tape/internal/agent/tools"
	"tape/internal/show/display"
	"tape/repo"
)

// isCommand reports whether a message is a comma command.
func isCommand(content string) bool {
	return strings.HasPrefix(strings.TrimSpace(content), ",")
}

// isCommandPrompt reports whether a prompt is a comma command: no model gets it, also none of a plugin.
func isCommandPrompt(p hooks.Prompt) bool { return len(p.Parts) == 0 && isCommand(p.Text) }

const help = `Commands begin with a comma:
  ,help                                      this list
  ,tools                                     the tools, which are commands, too
  ,tape.info                                 how long the session's tape is
  ,tape.search what to find                  search the tape
  ,tape.anchors                              the tape's phases
  ,compact                                   let the model summarize: a new context begins with the summary
  ,tape.handoff name=phase-1 summary='done'  end a phase: a new context begins
  ,skill name=x                              show a skill; without name, list them
  ,model provider:model                      use another model from now on; without one, list them
  ,sessions                                  choose another session (on a terminal)
  ,bash cmd='make test' background=true      run a command
  ,stop                                      interrupt the running turn
  ,quit                                      end what the session has left running
Every tool is a command: ,NAME key=value …  Anything else is run by the shell: ,git status`

// command runs a comma command, unless the tape says that it was run before. The start of a command
// is recorded before it runs.
func (r *turn) command(ctx context.Context) error {
	line := strings.TrimSpace(strings.TrimPrefix(r.prompt.Text, ","))
	if p := r.past; p.status != "" {
		r.failed = p.status != statusOK
		if p.status != statusStarted {
			r.say(p.text)
			return nil
		}
		r.say("the program ended while this ran: " + line + "\nIt may have been done in part or completely: check before you do it again.")
		if err := r.discardFork(ctx, r.id); err != nil { // of the command ,subagent
			return err
		}
		return r.commandEvent(ctx, line, statusInterrupted, "interrupted", nil)
	}
	r.began = time.Now()
	if err := r.commandEvent(ctx, line, statusStarted, "", nil); err != nil {
		return err
	}
	output, err := r.runCommand(ctx, line)
	status := statusOK
	if err != nil {
		r.failed = true
		status, output = statusError, strings.TrimSpace(output+"\nerror: "+err.Error())
	}
	kept, artifact := r.agent.Tools.Keep(context.WithoutCancel(ctx), r.toolContext(r.id), "command", output)
	r.say(output)
	return r.commandEvent(ctx, line, status, kept, artifact)
}

func (r *turn) commandEvent(ctx context.Context, line, status, output string, artifact *repo.Artifact) error {
	name, _, _ := strings.Cut(line, " ")
	data := map[string]any{"raw": line, "name": name, "status": status}
	if status != statusStarted {
		data["output"], data["elapsed_ms"] = output, time.Since(r.began).Milliseconds()
	}
	if artifact != nil {
		data["artifact"] = artifact
	}
	d := r.drafts()
	d.event(eventCommand, data)
	return d.save(ctx)
}

func (r *turn) runCommand(ctx context.Context, line string) (string, error) {
	name, rest, _ := strings.Cut(line, " ")
	if name == "" {
		return help, nil
	}
	run, err := r.commandNamed(ctx, name)
	if err != nil {
		return "", err
	}
	if run == nil {
		run = r.toolCommand(ctx, name)
	}
	if run == nil {
		return r.commandTool(ctx, "bash", object(map[string]string{"cmd": line}))
	}
	words, err := split(rest)
	if err != nil {
		return "", fmt.Errorf(",%s: %w", name, err)
	}
	return run(words)
}

// commandNamed returns the command of that name, the runtime's own or a plugin's; nil if there is none. Tools
// are not among them.
func (r *turn) commandNamed(ctx context.Context, name string) (func(words []string) (string, error), error) {
	if run, ok := builtIn()[name]; ok {
		return func(words []string) (string, error) { return run(r, ctx, words) }, nil
	}
	commands, err := r.agent.Runtime.Commands(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(commands, func(c hooks.Command) bool { return c.Name == name })
	if i < 0 {
		return nil, nil
	}
	return func(words []string) (string, error) {
		var out bytes.Buffer
		err := commands[i].Run(ctx, words, &out)
		return out.String(), err
	}, nil
}

// builtIn returns the runtime's own commands, which come before those of plugins and before tools.
func builtIn() map[string]func(r *turn, ctx context.Context, words []string) (string, error) {
	quit := func(r *turn, _ context.Context, _ []string) (string, error) {
		r.agent.Tools.Stop(r.session)
		return "What the session had left running was ended.", nil
	}
	return map[string]func(r *turn, ctx context.Context, words []string) (string, error){
		"compact": func(r *turn, ctx context.Context, _ []string) (string, error) { return r.compact(ctx) },
		"exit":    quit,
		"help":    (*turn).help,
		"model":   (*turn).chooseModel,
		"quit":    quit,
		"stop":    func(*turn, context.Context, []string) (string, error) { return "No turn is running.", nil },
		"tools":   func(r *turn, _ context.Context, _ []string) (string, error) { return r.toolList(), nil },
	}
}

// Commands returns the names of the comma commands of a session, sorted.
func Commands(ctx context.Context, rt *hooks.Runtime) ([]string, error) {
	var out []string
	for name := range builtIn() {
		out = append(out, ","+name)
	}
	commands, err := rt.Commands(ctx)
	for _, c := range commands {
		out = append(out, ","+c.Name)
	}
	for _, t := range rt.Tools(ctx) {
		out = append(out, ","+t.Name)
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// help returns the list of commands.
func (r *turn) help(ctx context.Context, _ []string) (string, error) {
	commands, err := r.agent.Runtime.Commands(ctx)
	out := help
	for _, c := range commands {
		out += fmt.Sprintf("\n  ,%-41s %s", c.Name, c.Short)
	}
	return out, err
}

// toolList returns the names of the tools, with what they do.
func (r *turn) toolList() string {
	var out strings.Builder
	for _, t := range r.tools {
		what, _, _ := strings.Cut(t.Description, ". ")
		fmt.Fprintf(&out, ",%-20s %s\n", t.Name, display.Truncate(display.Line(strings.TrimSuffix(what, ".")), 100))
	}
	return strings.TrimSpace(out.String())
}

// chooseModel records another model for the session.
func (r *turn) chooseModel(ctx context.Context, words []string) (string, error) {
	if len(words) == 0 {
		return r.modelList(ctx)
	}
	id := strings.TrimPrefix(words[0], "model_id=")
	if len(words) > 1 || id == "" {
		return "", errors.New("write ,model provider:model")
	}
	if _, err := r.agent.form(id); err != nil {
		return "", err
	}
	d := r.drafts()
	d.event(eventModelSwitch, map[string]any{"model": id})
	if err := d.save(ctx); err != nil {
		return "", err
	}
	return "The session's model is " + id + " from the next message on.", nil
}

// modelList returns the session's model and the others that can be chosen.
func (r *turn) modelList(ctx context.Context) (string, error) {
	options, err := r.agent.Runtime.ModelOptions(ctx, r.session)
	if err != nil {
		return "", err
	}
	out := r.model
	for _, o := range options {
		if o.ID == r.model {
			continue
		}
		out += "\n  ,model " + o.ID
		if o.Label != o.ID {
			out += "  " + o.Label
		}
		if o.Window > 0 {
			out += fmt.Sprintf("  (%d tokens)", o.Window)
		}
	}
	if out == "" {
		return "", errors.New("no model is chosen: choose one with ,model provider:model")
	}
	if r.model == "" {
		out = "no model is chosen" + out
	}
	return out, nil
}

// toolCommand returns a command that runs a tool; nil if there is no such tool.
func (r *turn) toolCommand(ctx context.Context, name string) func(words []string) (string, error) {
	t, ok := tools.Find(r.tools, name)
	if !ok || t.Name != name {
		return nil
	}
	return func(words []string) (string, error) {
		arguments, err := toolArguments(t, words)
		if err != nil {
			return "", err
		}
		return r.commandTool(ctx, t.Name, arguments)
	}
}

// toolArguments makes a tool's arguments from words. A word key=value sets the argument key. The other words are
// the required arguments that are not set yet, in order; the last one gets all remaining words. The only
// argument of a tool counts as required.
func toolArguments(t hooks.Tool, words []string) (json.RawMessage, error) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		return nil, err
	}
	if len(schema.Required) == 0 && len(schema.Properties) == 1 {
		for name := range schema.Properties {
			schema.Required = []string{name}
		}
	}
	out, plain := map[string]string{}, []string{}
	for _, w := range words {
		key, value, found := strings.Cut(w, "=")
		if _, exists := schema.Properties[key]; found && exists {
			out[key] = value
		} else {
			plain = append(plain, w)
		}
	}
	unset := slices.DeleteFunc(slices.Clone(schema.Required), func(name string) bool { _, given := out[name]; return given })
	for i, w := range plain {
		if len(unset) == 0 {
			return nil, fmt.Errorf("write ,%s key=value: there is no argument for %q", t.Name, w)
		}
		name := unset[min(i, len(unset)-1)]
		out[name] = strings.TrimSpace(out[name] + " " + w)
	}
	return object(out), nil
}

// object returns a JSON object of strings; tools convert them to numbers and booleans.
func object(members map[string]string) json.RawMessage {
	raw, err := encoded(members)
	if err != nil {
		return json.RawMessage("{}") // cannot happen: strings can always be encoded
	}
	return raw
}

// split cuts a line into words as a shell does, without expansions.
func split(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			begun, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				out, begun = append(out, word.String()), false
				word.Reset()
			}
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if escaped {
		return nil, fmt.Errorf("nothing comes after the last backslash; write it twice: %s", line)
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed: %s", line)
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}
