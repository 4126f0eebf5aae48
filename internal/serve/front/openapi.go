package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"tape/internal/serve/host/api"

	"github.com/google/jsonschema-go/jsonschema"
)

type object = map[string]any

// Endpoint is a method and a path, with what it accepts and answers.
type Endpoint[C any] struct {
	Method, Path, Summary string

	Scope string // the scope that a run needs
	Admin bool   // for the admin only
	Open  bool   // without a token
	Ended bool   // also with the token of a run that has ended
	Ends  bool   // may end the run
	Key   bool   // accepts an Idempotency-Key
	Code  int    // on success; 0: 200

	Query  []Param
	Body   reflect.Type // of a JSON body; nil: there is none
	Raw    bool         // the body is of any media type
	Answer reflect.Type
	Media  string // the media type of the answer; "": JSON

	Do func(c C) (any, error)
}

// Param is a query parameter: its name, its type and its description.
type Param [3]string

// Status returns the status of success.
func (rt Endpoint[C]) Status() int {
	if rt.Code == 0 {
		return http.StatusOK
	}
	return rt.Code
}

// CheckQuery refuses unknown parameters, which would otherwise be ignored. With repeats, a parameter may be
// given several times.
func (rt Endpoint[C]) CheckQuery(q url.Values, repeats bool) error {
	for name, values := range q {
		if !slices.ContainsFunc(rt.Query, func(p Param) bool { return p[0] == name }) {
			return api.Invalid("there is no parameter %.60q here", name)
		}
		if len(values) > 1 && !repeats {
			return api.Invalid("the parameter %s is given more than once", name)
		}
	}
	return nil
}

// OpenAPI describes endpoints as an OpenAPI 3.1 document. Its paths begin with /v1.
func OpenAPI[C any](version string, all []Endpoint[C]) (map[string]any, error) {
	schemas := object{}
	paths := map[string]object{}
	for _, rt := range all {
		op, err := rt.operation(schemas)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rt.Method, rt.Path, err)
		}
		path := "/v1" + rt.Path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(rt.Method)] = op
	}
	return object{"openapi": "3.1.0", "info": object{"title": "tape", "version": version},
		"paths": paths, "security": []object{{"bearer": []string{}}},
		"components": object{"schemas": schemas, "securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}}}}, nil
}

// operation describes an endpoint, and adds the schemas of its types to schemas.
func (rt Endpoint[C]) operation(schemas object) (object, error) {
	op := object{"summary": rt.Summary, "operationId": rt.id()}
	says := []string{}
	if rt.Scope != "" {
		says = append(says, "A run needs the scope "+rt.Scope+".")
		op["x-scope"] = rt.Scope
	}
	if rt.Admin {
		says = append(says, "Only with the admin's token.")
	}
	if rt.Open {
		op["security"] = []object{}
	}
	op["description"] = strings.Join(says, " ")
	op["parameters"] = rt.parameters()
	if rt.Raw {
		op["requestBody"] = object{"required": true, "content": object{"*/*": object{}}}
	}
	if rt.Body != nil {
		ref, err := schemaOf(rt.Body, schemas)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref}}}
	}
	content := object{}
	if rt.Media != "" {
		content[rt.Media] = object{}
	}
	if rt.Answer != nil {
		ref, err := schemaOf(rt.Answer, schemas)
		if err != nil {
			return nil, err
		}
		content["application/json"] = object{"schema": ref}
	}
	failed, err := schemaOf(reflect.TypeFor[api.ErrorAnswer](), schemas)
	if err != nil {
		return nil, err
	}
	op["responses"] = object{fmt.Sprint(rt.Status()): object{"description": rt.Summary, "content": content},
		"default": object{"description": "An error", "content": object{"application/json": object{"schema": failed}}}}
	return op, nil
}

func (rt Endpoint[C]) id() string {
	name := strings.ToLower(rt.Method)
	for part := range strings.SplitSeq(strings.Trim(rt.Path, "/"), "/") {
		name += "_" + strings.NewReplacer("{", "", "}", "", ".", "_").Replace(part)
	}
	return name
}

func (rt Endpoint[C]) parameters() []object {
	out := []object{}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(rt.Path, -1) {
		out = append(out, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range rt.Query {
		out = append(out, object{"name": p[0], "in": "query", "description": p[2], "schema": object{"type": p[1]}})
	}
	if rt.Key {
		out = append(out, object{"name": "Idempotency-Key", "in": "header", "description": "a repeated request with the same key is carried out once", "schema": object{"type": "string"}})
	}
	if rt.Path == "/state/{scope}/{key}" && rt.Method != "GET" {
		out = append(out, object{"name": "If-Match", "in": "header", "description": "the version that the value must have now", "schema": object{"type": "string"}},
			object{"name": "If-None-Match", "in": "header", "description": "*: the key must not have a value yet", "schema": object{"type": "string", "enum": []string{"*"}}})
	}
	if rt.Media == "text/event-stream" {
		out = append(out, object{"name": "Last-Event-ID", "in": "header", "description": "continue after this event", "schema": object{"type": "string"}})
	}
	return out
}

// schemaOf returns a reference to a type's schema, and adds the schema to schemas.
func schemaOf(t reflect.Type, schemas object) (object, error) {
	if t.Name() == "" {
		return object{"type": "object"}, nil
	}
	if schemas[t.Name()] == nil {
		schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}, reflect.TypeFor[api.Conversation](): conversationSchema()}})
		if err != nil {
			return nil, err
		}
		schemas[t.Name()] = schema
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}, nil
}

// conversationSchema returns the schema of [api.Conversation].
func conversationSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Description: "the name of a tape, which is created if needed", OneOf: []*jsonschema.Schema{{Type: "string"},
		{Type: "object", Required: []string{"conversation_id"}, Properties: map[string]*jsonschema.Schema{"conversation_id": {Type: "string"}}}}}
}
