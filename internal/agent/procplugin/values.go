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

func (p *Process) hookTime(name string, otherwise time.Duration) time.Duration {
	for _, h := range p.about.Hooks {
		if h.Name == name {
			return h.limit(otherwise)
		}
	}
	return otherwise
}

// unlessOff: a plugin that is off is not asked, which is an error only where it is required.
func (p *Process) unlessOff(err error) error {
	var off *Off
	if !errors.As(err, &off) {
		return err
	}
	if p.config.Required {
		return fmt.Errorf("it is off: %s", off.Why)
	}
	return nil
}

// valueOfResult takes the value out of {"value": x}. Null and a missing one are none.
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

// decode reads a value as a T. Nil stays nil; what is empty or zero does not become nil.
func decode[T any](raw json.RawMessage, err error) (*T, error) {
	if err != nil || raw == nil {
		return nil, err
	}
	v := new(T)
	if err := wrong(json.Unmarshal(raw, v), raw); err != nil {
		return nil, err
	}
	return v, nil
}

func wrong(err error, raw json.RawMessage) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the value %s does not fit: %w", cut(string(raw), 100), err)
}

// value is the zero T for none.
func value[T any](v *T, err error) (T, error) {
	if v == nil || err != nil {
		return *new(T), err
	}
	return *v, nil
}

// promptValue is a prompt as JSON has it: text, or parts.
func promptValue(p hooks.Prompt) any {
	if len(p.Parts) > 0 {
		return p.Parts
	}
	return p.Text
}

// plain gives of a map what JSON can hold. What only Go programs can use (functions, channels)
// is left out.
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

// sessionOf is the session in a turn's state, if the agent has put it there.
func sessionOf(s hooks.State) string { return hooks.Envelope(s).Text(hooks.KeySession) }
