package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// object is a JSON object whose members keep their order. What a command writes with
// --json is spelt out where its values are known.
type object []member

type member struct {
	name  string
	value any // a list that is nil becomes an empty one
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), '"', ':')
		if v := reflect.ValueOf(m.value); v.Kind() == reflect.Slice && v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			out = append(out, '[', ']')
		} else {
			out = append(out, marshal(m.value)...)
		}
	}
	return append(out, '}'), nil
}

// with adds a member, which is left out where it says nothing.
func (o object) with(name string, value any) object {
	if v := reflect.ValueOf(value); !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return o
	}
	return append(o, member{name, value})
}

// objects describes the items of a list.
func objects[T any](items []T, describe func(T) object) []object {
	out := make([]object, len(items))
	for i, item := range items {
		out[i] = describe(item)
	}
	return out
}

// orNull is nil for a value that says nothing, which JSON shows as null.
func orNull[T comparable](value T) any {
	var nothing T
	if value == nothing {
		return nil
	}
	return value
}

// marshal encodes without escaping what only HTML needs escaped.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
