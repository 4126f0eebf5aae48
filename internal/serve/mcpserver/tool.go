package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/store/layout"
	"tape/repo"
)

// tool is one of the server's tools.
type tool struct {
	*mcp.Tool
	run func(ctx context.Context, c call) (string, error) // returns the answer
}

// call is a call of a tool.
type call struct {
	*mcp.CallToolRequest
}

// define makes a tool with arguments of type A; properties are their JSON schemas, and required
// is the name of the required one, if any.
func define[A any](name, description, properties, required string, run func(ctx context.Context, c call, args A) (string, error)) tool {
	schema := `{"type":"object","properties":{` + properties + `}`
	if required != "" {
		schema += `,"required":["` + required + `"]`
	}
	schema += "}"
	return tool{&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
		func(ctx context.Context, c call) (string, error) {
			var args A
			if err := decode(c.Params.Arguments, &args, properties); err != nil {
				return "", err
			}
			return run(ctx, c, args)
		}}
}

// handler answers calls of a tool. Errors are returned as text, since an error of the protocol
// would not reach the model.
func (s *server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.caller.noteCall(req.Params.Meta)
		text, err := t.run(ctx, call{req})
		if ctx.Err() != nil {
			return nil, ctx.Err() // the client does not wait for the answer any more
		}
		if err != nil {
			text = s.errorText(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: clip(text, maxChars)}}, IsError: err != nil}, nil
	}
}

// decode reads the arguments of a call. properties are the schemas of all that the tool accepts.
func decode(raw json.RawMessage, into any, properties string) error {
	var all map[string]property
	if err := json.Unmarshal([]byte("{"+properties+"}"), &all); err != nil {
		return err
	}
	raw = meant(raw, all)
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil || errors.Is(err, repo.ErrInvalid) {
		return err
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		if field == "" {
			return layout.Invalid("", "the arguments are not a JSON object")
		}
		return layout.Invalid("", "%s cannot be a JSON %s", field, wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return layout.Invalid("there are: "+strings.Join(slices.Sorted(maps.Keys(all)), ", "), "there is no parameter %s", name)
	}
	return layout.Invalid("", "the arguments cannot be used: %s", strings.TrimPrefix(err.Error(), "json: "))
}

type property struct{ Type string }

// meant returns arguments with texts as what their tool wants there: clients write numbers, booleans, lists and objects
// as texts, and also the arguments themselves (anthropics/claude-code#32524, anthropics/claude-code#29104,
// anthropics/claude-code#73137).
func meant(raw json.RawMessage, all map[string]property) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		raw = json.RawMessage(text)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	for name, value := range members {
		kind := all[name].Type
		if kind != "" && kind != "string" && json.Unmarshal(value, &text) == nil && string(value) != "null" {
			switch {
			case kind == "array" && !strings.HasPrefix(text, "["):
				list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) // none if the text is empty
				for i := range list {
					list[i] = strings.TrimSpace(list[i])
				}
				if raw, err := json.Marshal(list); err == nil {
					value = raw
				}
			case json.Valid([]byte(text)):
				value = json.RawMessage(text)
			}
		}
		var n float64
		if kind == "integer" && bytes.ContainsAny(value, ".eE") && json.Unmarshal(value, &n) == nil && n == float64(int64(n)) { // 5.0
			value = strconv.AppendInt(nil, int64(n), 10)
		}
		members[name] = value
	}
	if mended, err := json.Marshal(members); err == nil {
		return mended
	}
	return raw
}

// entryID is the id of an entry, as a number or as @N.
type entryID int64

func (id *entryID) UnmarshalJSON(data []byte) error {
	text := strings.TrimPrefix(strings.Trim(string(data), `"`), "@")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return layout.Invalid("entries are numbered from @1", "%s is not the id of an entry", data)
	}
	*id = entryID(n)
	return nil
}

// progress returns a function that notifies the client of the number of entries done, if it
// asked for progress.
func (c call) progress(ctx context.Context, doing string) func(int64) {
	token := c.Params.GetProgressToken()
	last := time.Now()
	return func(n int64) {
		if token == nil || time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		// An error is ignored: if the client is gone, the call is cancelled anyway.
		_ = c.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n),
			Message: fmt.Sprintf("%s: %d entries", doing, n)})
	}
}
