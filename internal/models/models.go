// Package models calls models.
package models

import (
	"encoding/json"
	"errors"

	"tape/hooks"
)

// Request is a call of a model.
type Request struct {
	Model     string // provider:model
	System    string
	Messages  []json.RawMessage
	Tools     []hooks.Tool
	MaxTokens int
}

// The errors that callers tell apart.
var (
	ErrContextLength = errors.New("the context is too long for the model")
	ErrNoModel       = errors.New("no model is configured")
)
