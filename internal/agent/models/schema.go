package models

import (
	"strings"

	"tape/hooks"
	"tape/internal/text/jsonl"
)

// schema returns the schema of a tool's arguments, in the form that providers take: an object with properties, and
// nothing that combines schemas at its top (makenotion/notion-mcp-server#340, can1357/oh-my-pi#2652).
func (h habits) schema(t hooks.Tool) []byte {
	raw := t.Schema
	plain := h.tool[t.Name] > 0 || h.gave(plainSchemas)
	if !jsonl.IsObject(raw) {
		return encode(map[string]any{"type": "object", "properties": map[string]any{}})
	}
	if properties := jsonl.Get(raw, "properties"); !plain && jsonl.GetString(raw, "type") == "object" && jsonl.IsObject(properties) && !combines(raw) {
		return raw
	}
	return encode(objectSchema(raw, plain))
}

// description returns a tool's description, which OpenAI's API takes up to 1024 characters of.
func (h habits) description(t hooks.Tool) string {
	const most = 1000
	if text := t.Description; len(text) > most && (h.tool[t.Name] > 0 || h.gave(plainSchemas)) {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return t.Description
}

func combines(schema []byte) bool {
	for _, name := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "if"} {
		if jsonl.Get(schema, name) != nil {
			return true
		}
	}
	return false
}

// objectSchema returns a schema as one of an object. The properties of schemas that are combined at its top are all
// optional: the tool's server checks the arguments.
func objectSchema(raw []byte, plain bool) object {
	out, properties := object{}, object{}
	for name, v := range jsonl.Fields(raw) {
		switch name {
		case "anyOf", "oneOf", "allOf":
			for branch := range jsonl.Elements(v) {
				for property, schema := range jsonl.Fields(jsonl.Get(branch, "properties")) {
					properties[property] = schema
				}
			}
		case "not", "enum", "if", "then", "else", "properties", "type":
		default:
			if !plain || name == "description" || name == "required" {
				out[name] = v
			}
		}
	}
	for name, schema := range jsonl.Fields(jsonl.Get(raw, "properties")) {
		properties[name] = schema
	}
	if plain {
		for name, schema := range properties {
			properties[name] = plainSchema(raw, schema, 0)
		}
	}
	var required []string
	for _, name := range jsonl.Strings(jsonl.Get(raw, "required")) {
		if properties[name] != nil {
			required = append(required, name)
		}
	}
	if delete(out, "required"); len(required) > 0 {
		out["required"] = encode(required)
	}
	out["type"], out["properties"] = quoted("object"), encode(properties)
	return out
}

// plainSchema returns a schema with the members alone that every provider knows.
func plainSchema(root, schema []byte, depth int) []byte {
	const deepest = 8
	if ref := jsonl.GetString(schema, "$ref"); strings.HasPrefix(ref, "#/") && depth < deepest {
		if target := jsonl.Get(root, strings.Split(ref[2:], "/")...); target != nil {
			return plainSchema(root, target, depth+1)
		}
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		for branch := range jsonl.Elements(jsonl.Get(schema, name)) {
			if kind := jsonl.GetString(branch, "type"); kind != "null" && jsonl.Get(schema, "type") == nil && depth < deepest {
				return plainSchema(root, branch, depth+1)
			}
		}
	}
	out := object{}
	kind := jsonl.GetString(schema, "type")
	for _, one := range jsonl.Strings(jsonl.Get(schema, "type")) {
		if kind == "" && one != "null" {
			kind = one
		}
	}
	switch kind {
	case "string", "number", "integer", "boolean", "array", "object":
	default:
		kind = "string"
	}
	out["type"] = quoted(kind)
	if text := jsonl.GetString(schema, "description"); text != "" {
		out["description"] = quoted(text)
	}
	if values := jsonl.Strings(jsonl.Get(schema, "enum")); kind == "string" && len(values) > 0 {
		out["enum"] = encode(values)
	}
	if kind == "array" {
		out["items"] = plainSchema(root, jsonl.Get(schema, "items"), depth+1)
	}
	if kind == "object" {
		properties := object{}
		for name, v := range jsonl.Fields(jsonl.Get(schema, "properties")) {
			if depth < deepest {
				properties[name] = plainSchema(root, v, depth+1)
			}
		}
		out["properties"] = encode(properties)
	}
	return encode(out)
}
