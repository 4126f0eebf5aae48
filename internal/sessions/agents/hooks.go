package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// handler is a hook as Claude Code, Codex and Gemini CLI write it.
type handler struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// Options say what is installed besides the hooks.
type Options struct {
	Program string // this program, as an absolute path
	MCP     bool
	Push    bool
	Recall  bool
}

// mark is in each command of ours, and in no other.
func mark(agent string) string { return "tape hook " + agent }

// command is a line for the shell that cannot fail, and prints nothing: some agents take any other end
// for a refusal, and plain output for context. The program is looked for where it was, then in PATH.
func command(agent, event string, o Options) string {
	flags := ""
	if o.Push {
		flags += " --push"
	}
	quiet := ">/dev/null 2>&1"
	if o.Recall && event == "SessionStart" {
		flags, quiet = flags+" --recall", "2>/dev/null"
	}
	return fmt.Sprintf("{ %s hook %s%s || %s%s; } %s; exit 0", shellQuote(o.Program), agent, flags, mark(agent), flags, quiet)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hook is ours for an event.
func hook(agent, event string, o Options) handler {
	h := handler{Type: "command", Command: command(agent, event, o)}
	// An agent waits for its hooks: should the disk hang, not for long.
	switch agent {
	case Gemini:
		h.Name, h.Timeout = "tape", 5000 // ms
	case ClaudeCode, Codex:
		if agent == ClaudeCode || event != "SessionEnd" { // there Codex has less of its own, and would complain
			h.Timeout = 5 // s
		}
		if agent == Codex && event == "Interrupt" {
			h.Timeout = 3 // of more it warns, at each start
		}
	}
	return h
}

// place is where a hook of ours stands: the numbers of its group and of it in the group.
type place struct {
	event       string
	group, hook int
	handler     handler
}

// ours finds the hooks in a file that are ours.
func (d *document) ours(agent string) (out []place) {
	var all struct {
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	_ = json.Unmarshal(data(&d.root), &all) // what is of another shape has none of ours
	for event, raw := range all.Hooks {
		var groups []group
		if json.Unmarshal(raw, &groups) != nil {
			continue
		}
		for i, g := range groups {
			for j, h := range g.Hooks {
				if strings.Contains(h.Command, mark(agent)) {
					out = append(out, place{event, i, j, h})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		return strings.Compare(fmt.Sprintf("%s %4d %4d", a.event, a.group, a.hook), fmt.Sprintf("%s %4d %4d", b.event, b.group, b.hook))
	})
	return out
}

// addHooks adds what is missing of our hooks, and brings the others up to date.
func (d *document) addHooks(agent string, o Options) error {
	have := d.ours(agent)
	for _, p := range have {
		if !slices.Contains(events(agent), p.event) || p.handler == hook(agent, p.event, o) {
			continue
		}
		old := d.get("hooks", p.event).Value.(*hujson.Array).Elements[p.group]
		in := find(&old, "hooks").Value.(*hujson.Array).Elements[p.hook]
		at := find(&in, "command")
		text, _ := json.Marshal(hook(agent, p.event, o).Command)
		if err := d.splice(at.StartOffset, at.EndOffset, string(text)); err != nil {
			return err
		}
	}
	for _, event := range events(agent) {
		if slices.ContainsFunc(have, func(p place) bool { return p.event == event }) {
			continue
		}
		if err := d.addHook(event, group{Hooks: []handler{hook(agent, event, o)}}); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) addHook(event string, g group) error {
	hooks := d.get("hooks")
	if hooks == nil {
		if err := d.add(&d.root, "hooks", struct{}{}); err != nil {
			return err
		}
		hooks = d.get("hooks")
	}
	if _, ok := hooks.Value.(*hujson.Object); !ok {
		return fmt.Errorf(`"hooks" is not an object`)
	}
	list := d.get("hooks", event)
	if list == nil {
		return d.add(hooks, event, []group{g})
	}
	if _, ok := list.Value.(*hujson.Array); !ok {
		return fmt.Errorf(`"hooks" has something else than a list for %s`, event)
	}
	return d.add(list, "", g)
}

func find(v *hujson.Value, path ...string) *hujson.Value {
	return (&document{root: *v}).get(path...)
}

// removeHooks takes our hooks out, and what is empty without them.
func (d *document) removeHooks(agent string) error {
	for {
		list := d.ours(agent)
		if len(list) == 0 {
			return nil
		}
		p := list[len(list)-1] // from the end, so that the numbers of the others stay
		groups := d.get("hooks", p.event)
		in := groups.Value.(*hujson.Array).Elements[p.group]
		hooks := find(&in, "hooks")
		var err error
		switch {
		case len(hooks.Value.(*hujson.Array).Elements) > 1:
			err = d.remove(hooks, p.hook)
		case len(groups.Value.(*hujson.Array).Elements) > 1:
			err = d.remove(groups, p.group)
		default:
			err = d.removeMember("hooks", p.event)
		}
		if err != nil {
			return err
		}
	}
}

// removeMember takes out a member of an object, and the object, too, if nothing else is in it.
func (d *document) removeMember(path ...string) error {
	for ; len(path) > 0; path = path[:len(path)-1] {
		in := d.get(path[:len(path)-1]...)
		obj, ok := in.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := len(obj.Members) - 1
		for ; i >= 0; i-- { // of two of a name, the last one counts
			if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == path[len(path)-1] {
				break
			}
		}
		if i < 0 {
			return nil
		}
		last := len(obj.Members) == 1
		if err := d.remove(in, i); err != nil || !last {
			return err
		}
	}
	return nil
}
