package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/text/jsonl"
)

// MaxElements limits a list that is a member of a body: each element takes many times the memory of its JSON.
const MaxElements = 1_000

// Decode reads a body of JSON. It refuses unknown members, and a member that is a list of more than MaxElements;
// the members of input, manifest and policy, too. An empty body is {}. Errors: a Problem with the status 422.
func Decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if !utf8.Valid(body) {
		return Invalid("the body is not UTF-8")
	}
	for key, value := range jsonl.Fields(body) {
		long := isLong(value)
		if slices.ContainsFunc(withLists, func(name string) bool { return strings.EqualFold(name, key) }) { // as encoding/json compares names
			for _, inner := range jsonl.Fields(value) {
				long = long || isLong(inner)
			}
		}
		if long {
			return Invalid("a list in the body has more than %d elements", MaxElements)
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Invalid("the body cannot be used: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Invalid("the body is more than one JSON value")
	}
	return nil
}

// withLists are the members of bodies that are objects with lists.
var withLists = []string{"input", "manifest", "policy"}

// isLong reports whether a value is a list of more than MaxElements.
func isLong(value []byte) bool {
	n := 0
	for range jsonl.Elements(value) {
		if n++; n > MaxElements {
			return true
		}
	}
	return false
}

// OrEmpty returns a JSON object, or {} if it is missing.
func OrEmpty(object json.RawMessage) json.RawMessage {
	if len(object) == 0 {
		return json.RawMessage("{}")
	}
	return object
}
