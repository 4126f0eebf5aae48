package stdio

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Object is a JSON object with its members in order, as commands write it with --json.
type Object []Member

// Member is a name, which is a string, and a value. A nil slice becomes an empty list.
type Member = [2]any

// DateOrNull is a date in the format of entries, null for the zero time.
func DateOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return layout.FormatDate(t)
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 32*len(o)), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m[0].(string)...), '"', ':')
		switch v := m[1].(type) { // the common types, without the encoder
		case nil:
			out = append(out, "null"...)
		case string:
			out = jsonl.AppendString(out, v)
		case int:
			out = strconv.AppendInt(out, int64(v), 10)
		case int64:
			out = strconv.AppendInt(out, v, 10)
		case bool:
			out = strconv.AppendBool(out, v)
		default:
			if v := reflect.ValueOf(m[1]); v.Kind() == reflect.Slice && v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
				out = append(out, '[', ']')
			} else {
				out = append(out, Marshal(m[1])...)
			}
		}
	}
	return append(out, '}'), nil
}

// With adds a member, unless its value is zero or empty.
func (o Object) With(name string, value any) Object {
	if v := reflect.ValueOf(value); !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return o
	}
	return append(o, Member{name, value})
}

// Objects describes each item of a list.
func Objects[T any](items []T, describe func(T) Object) []Object {
	out := make([]Object, len(items))
	for i, item := range items {
		out[i] = describe(item)
	}
	return out
}

// OrNull is the value, or nil (JSON's null) if it is zero.
func OrNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// Marshal encodes a value as JSON, without the escapes that only HTML needs; as null if it cannot be encoded.
func Marshal(v any) []byte {
	if o, ok := v.(Object); ok {
		if out, err := o.MarshalJSON(); err == nil {
			return out
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
