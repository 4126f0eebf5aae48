package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tape/repo"
)

// Problem is why a request was not done.
type Problem struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details"`

	status int
	after  time.Duration
}

func (p *Problem) Error() string { return p.Message }

// ErrorAnswer is the body of every error.
type ErrorAnswer struct {
	Error Problem `json:"error"`
}

func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...), status: status, Details: map[string]any{}}
}

func unauthorized(text string) *Problem {
	return problem(http.StatusUnauthorized, "unauthorized", "%s", text)
}
func invalid(format string, args ...any) *Problem {
	return problem(http.StatusUnprocessableEntity, "invalid_argument", format, args...)
}

func conflict(format string, args ...any) *Problem {
	return problem(http.StatusConflict, "conflict", format, args...)
}

func tooLarge(what string, most int) *Problem {
	p := problem(http.StatusRequestEntityTooLarge, "payload_too_large", "%s is too large: at most %d bytes", what, most)
	p.Details["max_bytes"] = most
	return p
}

// notFound is the same for what is not there and what a run must not see.
func notFound(what string) *Problem {
	return problem(http.StatusNotFound, "not_found", "there is no such %s", what)
}

// problemOf is what a client is told of an error.
func problemOf(err error) *Problem {
	var p *Problem
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return tooLarge("the body", int(large.Limit))
	case errors.Is(err, repo.ErrNotFound):
		p = problem(http.StatusNotFound, "not_found", "%v", err)
	case errors.Is(err, repo.ErrInvalid):
		p = invalid("%v", err)
	case errors.Is(err, repo.ErrConflict):
		p = conflict("%v", err)
	case errors.Is(err, repo.ErrBusy):
		p = problem(http.StatusServiceUnavailable, "busy", "%v", err)
		p.Retryable, p.after = true, time.Second
	default:
		return problem(http.StatusInternalServerError, "internal", "the server could not do it; its log says why")
	}
	for _, h := range repo.Hints(err) {
		if h.Text != "" {
			p.Details["hint"] = h.Text
		}
	}
	return p
}

func (s *Server) fail(c *call, err error) {
	p := problemOf(err)
	if p.status == http.StatusInternalServerError && c.r.Context().Err() == nil {
		s.Log.Error("request", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
	}
	h := c.w.Header()
	if p.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.after+time.Second-1)/time.Second)))
	}
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	c.result = p.Code
	s.answer(c, p.status, ErrorAnswer{*p})
}

func (s *Server) answer(c *call, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.Log.Error("answer", "path", c.r.URL.Path, "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON","retryable":false,"details":{}}}`)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	n, _ := c.w.Write(append(data, '\n')) // a client that has gone needs no answer
	c.bytes += int64(n)
}
