package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"tape/hooks"
)

// define makes a tool that needs no consent: it only reads, or changes nothing but the session's tape and background
// commands. Its arguments are decoded into an A.
// properties are the JSON schemas of the arguments, required the names of those that must be given.
func define[A any](name, description, properties string, required []string, run func(ctx context.Context, c hooks.ToolContext, a A) (string, error)) hooks.Tool {
	t := definePreviewed(name, description, properties, required, nil, run)
	t.Reads = true
	return t
}

// definePreviewed makes a tool as define does, but one that may change something. preview says what a call would do;
// nil: the tool has no preview.
func definePreviewed[A any](name, description, properties string, required []string, preview func(ctx context.Context, a A) (hooks.Preview, error),
	run func(ctx context.Context, c hooks.ToolContext, a A) (string, error)) hooks.Tool {
	schema := `{"type":"object","properties":{` + properties + `},"additionalProperties":false`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	decode := func(arguments json.RawMessage) (a A, err error) {
		if err = json.Unmarshal(arguments, &a); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return a, err
	}
	t := hooks.Tool{Name: name, Description: description, Schema: json.RawMessage(schema + "}"),
		Run: func(ctx context.Context, c hooks.ToolContext, arguments json.RawMessage) (string, error) {
			a, err := decode(arguments)
			if err != nil {
				return "", err
			}
			return run(ctx, c, a)
		}}
	if preview != nil {
		t.Preview = func(ctx context.Context, arguments json.RawMessage) (p hooks.Preview, err error) {
			a, err := decode(arguments)
			if err != nil {
				return p, err
			}
			return preview(ctx, a)
		}
	}
	return Checked(t)
}

// Checked makes a tool refuse arguments that its schema does not allow, with an error that lists
// the arguments. If the schema is not valid or has references, it accepts any. A string is
// accepted as a number or boolean, or as a list or object that it has as JSON: models and comma
// commands write them so. A tool that panics returns an error.
func Checked(t hooks.Tool) hooks.Tool {
	run, preview := t.Run, t.Preview
	schema := sync.OnceValues(func() (*jsonschema.Resolved, error) {
		var s jsonschema.Schema
		if err := json.Unmarshal(t.Schema, &s); err != nil {
			return nil, err
		}
		// A recursive schema might make validation endless.
		text, err := json.Marshal(&s)
		if err == nil && (bytes.Contains(text, []byte(`"$ref"`)) || bytes.Contains(text, []byte(`"$dynamicRef"`))) {
			err = errors.New("the schema has references")
		}
		for _, found := range typeNames.FindAllSubmatch(text, -1) { // int, str: Kuadrant/mcp-gateway#662
			if name := string(found[1]); err == nil && !slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, name) {
				err = fmt.Errorf("the schema has the type %s", name)
			}
		}
		if err != nil {
			return nil, err
		}
		return s.Resolve(nil)
	})
	// If the schema cannot be used here, the plugin or server has to validate.
	check := func(arguments json.RawMessage) (json.RawMessage, error) {
		if len(bytes.TrimSpace(arguments)) == 0 {
			arguments = json.RawMessage("{}")
		}
		s, err := schema()
		if err != nil {
			return arguments, nil
		}
		if arguments, err = validate(s, arguments); err != nil {
			err = fmt.Errorf("%s: %w; its arguments are %s", t.Name, err, signature(s.Schema()))
		}
		return arguments, err
	}
	if preview != nil {
		t.Preview = func(ctx context.Context, arguments json.RawMessage) (hooks.Preview, error) {
			arguments, err := check(arguments)
			if err != nil {
				return hooks.Preview{}, err
			}
			return preview(ctx, arguments)
		}
	}
	t.Run = func(ctx context.Context, c hooks.ToolContext, arguments json.RawMessage) (out string, err error) {
		defer func() {
			if p := recover(); p != nil {
				out, err = "", fmt.Errorf("%s failed, and this is a bug: %v\n%s", t.Name, p, clip(string(debug.Stack()), 2000))
			}
		}()
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if arguments, err = check(arguments); err != nil {
			return "", err
		}
		return run(ctx, c, arguments)
	}
	return t
}

var typeNames = regexp.MustCompile(`"type":"([^"]*)"`)

// validate checks arguments against a schema, and returns them with strings converted to what the schema has there:
// numbers, booleans, lists and objects.
func validate(s *jsonschema.Resolved, arguments json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil || members == nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	changed := false
	for name, value := range members {
		if p := s.Schema().Properties[name]; p != nil {
			var text string
			wanted := p.Type == "integer" || p.Type == "number" || p.Type == "boolean" || p.Type == "array" || p.Type == "object" // coder/coder#28044
			if wanted && json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)) {
				members[name], changed = json.RawMessage(text), true
			}
		}
	}
	if changed {
		var err error
		if arguments, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	var value map[string]any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return nil, err
	}
	if err := s.Validate(value); err != nil {
		text := err.Error()
		text = strings.TrimPrefix(text[strings.LastIndex(text, "validating ")+len("validating "):], "root: ")
		return nil, errors.New(clip(text, 500))
	}
	return arguments, nil
}

// signature lists a schema's arguments on one line, with their types and a question mark if optional.
func signature(s *jsonschema.Schema) string {
	var out []string
	for name, p := range s.Properties {
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		out = append(out, name+optional+": "+p.Type)
	}
	slices.Sort(out)
	return "{" + strings.Join(out, ", ") + "}"
}

// clip cuts a text that has more than limit bytes, and adds an ellipsis.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
