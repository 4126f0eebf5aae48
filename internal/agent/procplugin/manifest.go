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

// protocol is the version of the protocol that the host speaks.
const protocol = 1

// manifest is a plugin's answer to initialize.
type manifest struct {
	Protocol int           `json:"protocol"` // 0: the plugin does not say
	Name     string        `json:"name"`
	Version  string        `json:"version"`
	Hooks    []hookInfo    `json:"hooks"`
	Tools    []toolInfo    `json:"tools"`
	Channels []channelInfo `json:"channels"`
}

type hookInfo struct {
	Name    string `json:"name"`
	Timeout int    `json:"timeout_ms"`
}

type toolInfo struct {
	hookInfo
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

type channelInfo struct {
	hookInfo
	Events bool `json:"events"` // it shows answers while they are being written
}

func (l hookInfo) timeout(otherwise time.Duration) time.Duration {
	if l.Timeout > 0 {
		return time.Duration(l.Timeout) * time.Millisecond
	}
	return otherwise
}

// guards reports whether the plugin has a hook around calls. A required plugin must have one.
func (a *manifest) guards() bool {
	return slices.ContainsFunc(a.Hooks, func(h hookInfo) bool { return hooks.AroundCalls(h.Name) })
}

// check refuses another protocol, hooks that do not exist, and incomplete tools and channels. It sorts the hooks, and
// gives tools without a schema one that takes any object.
func (a *manifest) check() error {
	if a.Protocol != 0 && a.Protocol != protocol {
		return fmt.Errorf("it speaks protocol %d; this host speaks %d", a.Protocol, protocol)
	}
	existing := map[string]bool{}
	for field := range reflect.TypeFor[hooks.Plugin]().Fields() {
		existing[field.Tag.Get("hook")] = true
	}
	delete(existing, "provide_channels") // follows from the list of channels
	slices.SortStableFunc(a.Hooks, func(x, y hookInfo) int { return strings.Compare(x.Name, y.Name) })
	for _, h := range a.Hooks {
		if h.Name == "" || !existing[h.Name] {
			return fmt.Errorf("it lists the hook %q, which does not exist", h.Name)
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

// equal reports whether two checked manifests differ in the version at most.
func (a manifest) equal(b manifest) bool {
	a.Version, b.Version = "", ""
	return reflect.DeepEqual(a, b)
}
