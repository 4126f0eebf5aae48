package api

import "encoding/json"

// StaticAnswer is an answer with static content.
type StaticAnswer struct {
	Name   string          `json:"name"`
	SHA256 string          `json:"sha256"`
	Value  json.RawMessage `json:"value"`
}
