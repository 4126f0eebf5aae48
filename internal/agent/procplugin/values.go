package procplugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tape/hooks"
)

// args are named parameters.
type args = map[string]any

// hookTimeout returns the timeout that the plugin lists for a hook, or else the given one.
func (p *Process) hookTimeout(name string, otherwise time.Duration) time.Duration {
	for _, h := range p.manifest.Hooks {
		if h.Name == name {
			return h.timeout(otherwise)
		}
	}
	return otherwise
}

// ignoreOff drops the error of a plugin that is off, unless the plugin is required.
func (p *Process) ignoreOff(err error) error {
	var off *OffError
	if !errors.As(err, &off) {
		return err
	}
	if p.config.Required {
		return fmt.Errorf("it is off: %s", off.Why)
	}
	return nil
}

// valueOfResult returns the value in {"value": x}; nil if it is null or missing.
func valueOfResult(result json.RawMessage, err error) (json.RawMessage, error) {
	if err != nil || len(result) == 0 {
		return nil, err
	}
	var r struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, errors.New(`the result is not an object with "value"`)
	}
	if bytes.Equal(r.Value, []byte("null")) {
		return nil, nil
	}
	return r.Value, nil
}

// decode reads a value as a T; nil stays nil.
func decode[T any](raw json.RawMessage, err error) (*T, error) {
	if err != nil || raw == nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("the value %s does not fit: %w", cut(string(raw), 100), err)
	}
	return v, nil
}

// value returns *v, or the zero T for nil.
func value[T any](v *T, err error) (T, error) {
	if v == nil || err != nil {
		return *new(T), err
	}
	return *v, nil
}

// promptValue returns a prompt as JSON: a text or a list of parts.
func promptValue(p hooks.Prompt) any {
	if len(p.Parts) > 0 {
		return p.Parts
	}
	return p.Text
}

// plain returns the members of a map that JSON can hold: functions and channels, which only Go
// programs can use, are left out.
func plain[M ~map[string]any](m M) any {
	if m == nil {
		return nil
	}
	if raw, err := json.Marshal(m); err == nil {
		return json.RawMessage(raw)
	}
	fits := args{}
	for key, v := range m {
		if raw, err := json.Marshal(v); err == nil {
			fits[key] = json.RawMessage(raw)
		}
	}
	return fits
}

func errorText(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

// sessionOf returns the session in a turn's state, if the agent has put it there.
func sessionOf(s hooks.State) string { return hooks.Envelope(s).Text(hooks.KeySession) }
