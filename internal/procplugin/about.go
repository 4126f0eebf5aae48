package procplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"tape/hooks"
)

// about is what a plugin says of itself.
type about struct {
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

func (a *about) check() error {
	known := map[string]bool{}
	for field := range reflect.TypeFor[hooks.Plugin]().Fields() {
		known[field.Tag.Get("hook")] = true
	}
	delete(known, "provide_channels") // those that are listed are provided
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
