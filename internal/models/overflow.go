package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
)

// overflows are texts with which providers say that the context is too long, in lower case.
var overflows = []string{
	"context_length_exceeded", "prompt is too long", "exceed context limit", "request_too_large", "model_context_window_exceeded",
	"maximum context length", "context window", "input is too long", "maximum prompt length", "token limit",
	"reduce the length", "exceeds the limit of",
}

// explain names the model in an error, and tells whether the context is too long: by the
// provider's code first, then by its words. 429 is something else, whatever it says.
func (p *provider) explain(model string, err error) error {
	status, said := 0, err.Error()
	var o *openai.Error
	var a *anthropic.Error
	switch {
	case errors.As(err, &o):
		status = o.StatusCode
		said = fmt.Sprintf("HTTP %d: %s %s", status, o.Code, strings.TrimSpace(firstOf(o.Message, o.RawJSON())))
	case errors.As(err, &a):
		status = a.StatusCode
		said = fmt.Sprintf("HTTP %d: %s", status, a.RawJSON())
	}
	if p.key != "" {
		said = strings.ReplaceAll(said, p.key, "…")
	}
	said = shorten(said)
	if isOverflow(status, said) {
		return fmt.Errorf("%s: %w: %s", model, ErrContextLength, said)
	}
	return fmt.Errorf("%s: %s", model, said)
}

func isOverflow(status int, said string) bool {
	if status == http.StatusTooManyRequests || strings.Contains(said, "rate_limit") {
		return false
	}
	if status == http.StatusRequestEntityTooLarge {
		return true
	}
	said = strings.ToLower(said)
	for _, words := range overflows {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func shorten(s string) string {
	const enough = 1000
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return s
}

// retries are those of the SDKs: of 408, 409, 429, 5xx and of connections that fail.
const retries = 2

// silent ends a call whose server says nothing for too long.
type silent struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

var errSilence = errors.New("the server says nothing")

// watched gives a context that ends when nothing comes for so long, and the transport that
// watches what comes.
func watched(ctx context.Context, after time.Duration) (context.Context, *silent) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &silent{after: after, cancel: cancel}
	w.timer = time.AfterFunc(after, func() { cancel(fmt.Errorf("%w for %s", errSilence, after)) })
	return ctx, w
}

func (w *silent) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// RoundTrip implements [http.RoundTripper].
func (w *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	w.timer.Reset(w.after)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.timer.Reset(w.after)
		res.Body = &heard{res.Body, w}
	}
	return res, err
}

// explain says silence instead of what follows from it.
func (w *silent) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilence) {
		return cause
	}
	return err
}

type heard struct {
	io.ReadCloser
	by *silent
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if n > 0 {
		h.by.timer.Reset(h.by.after)
	}
	return n, err
}
