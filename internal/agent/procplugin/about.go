package procplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tape/hooks"
)

// protocol is the version of the protocol.
const protocol = 1

// about is what a plugin says of itself.
type about struct {
	Protocol int          `json:"protocol"` // 0: it says nothing of it
	Name     string       `json:"name"`
	Version  string       `json:"version"`
	Hooks    []listed     `json:"hooks"`
	Tools    []listedTool `json:"tools"`
	Channels []listedWay  `json:"channels"`
}

type listed struct {
	Name    string `json:"name"`
	Timeout int    `json:"timeout_ms"`
}

type listedTool struct {
	listed
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

type listedWay struct {
	listed
	Events bool `json:"events"` // it wants to see answers while they come
}

func (l listed) limit(otherwise time.Duration) time.Duration {
	if l.Timeout > 0 {
		return time.Duration(l.Timeout) * time.Millisecond
	}
	return otherwise
}

// decides reports whether the plugin has a hook around calls, as one that is required must.
func (a *about) decides() bool {
	return slices.ContainsFunc(a.Hooks, func(h listed) bool { return hooks.AroundCalls(h.Name) })
}

// check refuses what the host does not know.
func (a *about) check() error {
	if a.Protocol != 0 && a.Protocol != protocol {
		return fmt.Errorf("it speaks protocol %d; this host speaks %d", a.Protocol, protocol)
	}
	known := map[string]bool{}
	for field := range reflect.TypeFor[hooks.Plugin]().Fields() {
		known[field.Tag.Get("hook")] = true
	}
	delete(known, "provide_channels")                                                          // those that are listed are provided
	slices.SortFunc(a.Hooks, func(x, y listed) int { return strings.Compare(x.Name, y.Name) }) // for same
	for _, h := range a.Hooks {
		if h.Name == "" || !known[h.Name] {
			return fmt.Errorf("it lists the hook %q, which there is not", h.Name)
		}
	}
	for i, t := range a.Tools {
		if t.Name == "" {
			return errors.New("it lists a tool without a name")
		}
		if len(t.Schema) == 0 {
			a.Tools[i].Schema = json.RawMessage(`{"type":"object"}`)
			continue
		}
		var schema map[string]json.RawMessage
		if json.Unmarshal(t.Schema, &schema) != nil || schema == nil {
			return fmt.Errorf("the schema of the tool %q is not an object", t.Name)
		}
	}
	for _, c := range a.Channels {
		if c.Name == "" {
			return errors.New("it lists a channel without a name")
		}
	}
	return nil
}

// same reports whether a plugin that was started again is what it was.
func (a about) same(b about) bool {
	a.Version, b.Version = "", ""
	return reflect.DeepEqual(a, b)
}
