package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tape/internal/agent/keys"
)

// retries is passed to the SDKs: they retry after 408, 409, 429, 5xx and failed connections.
const retries = 2

// silenceTimer cancels a call when its server sends nothing for too long.
type silenceTimer struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

var errSilence = errors.New("the server sends nothing")

// withSilenceLimit returns a context that ends when the server sends nothing for the given time. The call
// has to use the timer's client, and stop the timer at its end.
func withSilenceLimit(ctx context.Context, after time.Duration) (context.Context, *silenceTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &silenceTimer{after: after, cancel: cancel}
	w.timer = time.AfterFunc(after, func() { cancel(fmt.Errorf("%w for %s", errSilence, after)) })
	return ctx, w
}

func (w *silenceTimer) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// client returns a client that follows no redirect to another host: that would take the key and the
// conversation there.
func (w *silenceTimer) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: keys.SameHost}
}

// RoundTrip implements [http.RoundTripper].
func (w *silenceTimer) RoundTrip(r *http.Request) (*http.Response, error) {
	w.timer.Reset(w.after)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.timer.Reset(w.after)
		res.Body = &timedBody{res.Body, w}
		if res.StatusCode >= http.StatusBadRequest {
			res.Body = errorObject(res.Body)
		}
	}
	return res, err
}

// errorObject rewrites the body of an error to {"error": {…}}, the only form of which the SDKs keep
// the message. LM Studio's error is a text, FastAPI's body has no error.
func errorObject(body io.ReadCloser) io.ReadCloser {
	const limit = 1 << 20
	raw, err := io.ReadAll(io.LimitReader(body, limit))
	_ = body.Close() // the rest is not needed
	var form struct {
		Error json.RawMessage `json:"error"`
	}
	if err != nil || json.Unmarshal(raw, &form) == nil && bytes.HasPrefix(form.Error, []byte("{")) {
		return io.NopCloser(bytes.NewReader(raw))
	}
	said := string(raw)
	if form.Error != nil {
		said = string(form.Error)
		if text := ""; json.Unmarshal(form.Error, &text) == nil {
			said = text
		}
	}
	object, err := json.Marshal(map[string]any{"error": map[string]string{"message": said}})
	if err != nil {
		object = raw
	}
	return io.NopCloser(bytes.NewReader(object))
}

// cause returns the cause if ctx was cancelled because of silence, else err.
func (w *silenceTimer) cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilence) {
		return cause
	}
	return err
}

// timedBody restarts the timer whenever something was read.
type timedBody struct {
	io.ReadCloser
	silence *silenceTimer
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.silence.timer.Reset(b.silence.after)
	}
	return n, err
}
