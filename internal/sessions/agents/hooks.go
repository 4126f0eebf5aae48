package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"tape/internal/sessions/importer/record"
)

type group struct {
	Hooks []record.Handler `json:"hooks"`
}

// Options say what the hooks do, and what is installed besides them.
type Options struct {
	Program string // this program, as an absolute path
	MCP     bool   // register the MCP server
	Push    bool   // the hooks also push
	Recall  bool   // the hook at the start of a session tells the agent about the last handoff
}

// mark returns the text by which a command in the settings is known to be ours.
func mark(f *record.Format) string { return "tape hook " + f.Name }

// command returns a shell command that cannot fail and prints nothing: some agents take a failure for a refusal, and
// output for context. Only with Recall, the hook at the start of a session prints context. The command calls the program
// at its path, and if that fails, the one in PATH.
func command(f *record.Format, event record.HookEvent, o Options) string {
	flags := ""
	if o.Push {
		flags += " --push"
	}
	quiet := ">/dev/null 2>&1"
	if o.Recall && event.Is == record.Start {
		flags, quiet = flags+" --recall", "2>/dev/null"
	}
	return fmt.Sprintf("{ %s hook %s%s || %s%s; } %s; exit 0", shellQuote(o.Program), f.Name, flags, mark(f), flags, quiet)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hook returns our hook for an event.
func hook(f *record.Format, event record.HookEvent, o Options) record.Handler {
	return record.Handler{Name: f.Agent.HookName, Type: "command", Command: command(f, event, o), Timeout: event.Timeout}
}

// ours finds our hooks in a file. As for the agents and for get, upper and lower case are different names, and of members
// with the same name the last one counts.
func (d *document) ours(f *record.Format) (out []record.Hook) {
	var all map[string]any
	_ = json.Unmarshal(data(&d.root), &all) // a number that is too large is left out
	hooks, _ := all["hooks"].(map[string]any)
	for event, groups := range hooks {
		groups, _ := groups.([]any)
		for i, g := range groups {
			g, _ := g.(map[string]any)
			hooks, _ := g["hooks"].([]any)
			for j, h := range hooks {
				h, _ := h.(map[string]any)
				command, _ := h["command"].(string)
				if !strings.Contains(command, mark(f)) {
					continue
				}
				name, _ := h["name"].(string)
				kind, _ := h["type"].(string)
				timeout, _ := h["timeout"].(float64)
				out = append(out, record.Hook{Event: event, Group: i, Number: j, Handler: record.Handler{Name: name, Type: kind, Command: command, Timeout: int(timeout)}})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b record.Hook) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// addHooks adds those of our hooks that are missing, and brings the commands of the others up to date.
func (d *document) addHooks(f *record.Format, o Options) error {
	have := d.ours(f)
	for _, h := range have {
		i := slices.IndexFunc(f.Events, func(e record.HookEvent) bool { return e.Name == h.Event })
		if i < 0 || h.Handler == hook(f, f.Events[i], o) {
			continue
		}
		old := d.get("hooks", h.Event).Value.(*hujson.Array).Elements[h.Group]
		in := find(&old, "hooks").Value.(*hujson.Array).Elements[h.Number]
		at := find(&in, "command")
		text, _ := json.Marshal(command(f, f.Events[i], o))
		if err := d.splice(at.StartOffset, at.EndOffset, string(text)); err != nil {
			return err
		}
	}
	for _, event := range f.Events {
		if has(have, event) {
			continue
		}
		if err := d.addHook(event.Name, group{Hooks: []record.Handler{hook(f, event, o)}}); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether one of the hooks is for an event.
func has(hooks []record.Hook, event record.HookEvent) bool {
	return slices.ContainsFunc(hooks, func(h record.Hook) bool { return h.Event == event.Name })
}

func (d *document) addHook(event string, g group) error {
	hooks, err := d.object("hooks")
	if err != nil {
		return err
	}
	list := d.get("hooks", event)
	switch {
	case list == nil:
		return d.add(hooks, event, []group{g})
	case list.Value.Kind() != '[' && d.isEmpty(list):
		if err := d.splice(list.StartOffset, list.EndOffset, "[]"); err != nil {
			return err
		}
		list = d.get("hooks", event)
	}
	if list.Value.Kind() != '[' {
		return fmt.Errorf(`%q in "hooks" is not a list: correct it, or take it out`, event)
	}
	return d.add(list, "", g)
}

func find(v *hujson.Value, path ...string) *hujson.Value {
	return (&document{root: *v}).get(path...)
}

// removeHooks removes our hooks, and the lists and objects that have then neither content nor a comment.
func (d *document) removeHooks(f *record.Format) error {
	for {
		list := d.ours(f)
		if len(list) == 0 {
			return nil
		}
		h := list[len(list)-1] // from the end, so that the other numbers stay valid
		groups := d.get("hooks", h.Event)
		in := groups.Value.(*hujson.Array).Elements[h.Group]
		hooks := find(&in, "hooks")
		var err error
		if len(hooks.Value.(*hujson.Array).Elements) > 1 {
			err = d.remove(hooks, h.Number)
		} else if err = d.remove(groups, h.Group); err == nil && d.isEmpty(d.get("hooks", h.Event)) {
			err = d.removeMember("hooks", h.Event)
		}
		if err != nil {
			return err
		}
	}
}

// removeMember removes a member of an object, and also the object if nothing else is in it, not even a comment.
func (d *document) removeMember(path ...string) error {
	for ; len(path) > 0; path = path[:len(path)-1] {
		in := d.get(path[:len(path)-1]...)
		obj, ok := in.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := len(obj.Members) - 1
		for ; i >= 0; i-- { // if a name is there twice, the last one counts
			if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == path[len(path)-1] {
				break
			}
		}
		if i < 0 {
			return nil
		}
		if err := d.remove(in, i); err != nil || !d.isEmpty(d.get(path[:len(path)-1]...)) {
			return err
		}
	}
	return nil
}
