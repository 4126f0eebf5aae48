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

// client asks one address. A redirect would take the key and the conversation to another.
func (w *silent) client() *http.Client { return &http.Client{Transport: w, CheckRedirect: keys.Stay} }

// RoundTrip implements [http.RoundTripper].
func (w *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	w.timer.Reset(w.after)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.timer.Reset(w.after)
		res.Body = &heard{res.Body, w}
		if res.StatusCode >= http.StatusBadRequest {
			res.Body = errorObject(res.Body)
		}
	}
	return res, err
}

// errorObject gives the body of an error the form that the SDKs read, {"error": {…}}, where it
// has another: LM Studio's error is a text, FastAPI's has no error. They would lose what it says.
func errorObject(body io.ReadCloser) io.ReadCloser {
	const most = 1 << 20
	raw, err := io.ReadAll(io.LimitReader(body, most))
	_ = body.Close() // what is left of it is not wanted
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
