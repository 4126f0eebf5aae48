package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tape/repo"
)

// Problem says why a request failed.
type Problem struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details"`

	Status int           `json:"-"`
	After  time.Duration `json:"-"` // how long to wait before trying again
}

func (p *Problem) Error() string { return p.Message }

// ErrorAnswer is the body of every error.
type ErrorAnswer struct {
	Error Problem `json:"error"`
}

// NewProblem returns a problem with an HTTP status and a code.
func NewProblem(status int, code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...), Status: status, Details: map[string]any{}}
}

// Unauthorized refuses a missing or void token.
func Unauthorized(text string) *Problem {
	return NewProblem(http.StatusUnauthorized, "unauthorized", "%s", text)
}

// Invalid says what is wrong with a request.
func Invalid(format string, args ...any) *Problem {
	return NewProblem(http.StatusUnprocessableEntity, "invalid_argument", format, args...)
}

// Conflict says what contradicts a request.
func Conflict(format string, args ...any) *Problem {
	return NewProblem(http.StatusConflict, "conflict", format, args...)
}

// TooLarge says that something has more than limit bytes.
func TooLarge(what string, limit int) *Problem {
	p := NewProblem(http.StatusRequestEntityTooLarge, "payload_too_large", "%s is too large: at most %d bytes", what, limit)
	p.Details["max_bytes"] = limit
	return p
}

// NotFound is the answer both for what does not exist and for what a run must not see.
func NotFound(what string) *Problem {
	return NewProblem(http.StatusNotFound, "not_found", "there is no such %s", what)
}

// SetHeaders sets the headers of an answer that go with the problem.
func (p *Problem) SetHeaders(h http.Header) {
	if p.After > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.After+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
}

// ProblemOf returns what a client may see of an error, which must not be nil.
func ProblemOf(err error) *Problem {
	var p *Problem
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return TooLarge("the body", int(large.Limit))
	case errors.Is(err, repo.ErrNotFound):
		p = NewProblem(http.StatusNotFound, "not_found", "%v", err)
	case errors.Is(err, repo.ErrInvalid):
		p = Invalid("%v", err)
	case errors.Is(err, repo.ErrConflict):
		p = Conflict("%v", err)
	case errors.Is(err, repo.ErrBusy):
		p = NewProblem(http.StatusServiceUnavailable, "busy", "%v", err)
		p.Retryable, p.After = true, time.Second
	case errors.Is(err, repo.ErrCorrupt): // the error's own text has paths
		p = NewProblem(http.StatusInternalServerError, "damaged", "the tape is not as it was recorded: its files or its history were changed or damaged")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), strings.Contains(err.Error(), "No space left on device"): // git's words
		p = NewProblem(http.StatusInsufficientStorage, "storage_full", "the server's disk is full: make room, and send the request again")
		p.Retryable, p.After = true, 10*time.Second
	default:
		return NewProblem(http.StatusInternalServerError, "internal", "the server could not do it; its log says why")
	}
	for _, h := range repo.Hints(err) {
		if h.Text != "" {
			p.Details["hint"] = h.Text
		}
	}
	return p
}
