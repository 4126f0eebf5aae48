package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// api calls the Bot API. Its errors never contain the token, which is in every URL.
type api struct {
	base  string // without a slash at its end
	token string
	http  *http.Client
	unit  time.Duration // a second; less in tests
}

const (
	callTimeout = 60 * time.Second // of each try of a call that is repeated if it fails
	maxResponse = 16 << 20         // bytes of an answer that is not a file
)

// refusal is an error that the Bot API returned.
type refusal struct {
	method      string
	code        int
	description string
	retryAfter  int   // seconds
	migrateTo   int64 // the id of the supergroup that a group has become
}

func (e *refusal) Error() string {
	return fmt.Sprintf("Telegram refuses %s: %s (%d)", e.method, e.description, e.code)
}

// noAnswer is the error of a call without a readable answer.
type noAnswer struct {
	method string
	sent   bool // the request may have arrived
	err    error
}

func (e *noAnswer) Error() string {
	return fmt.Sprintf("no answer from Telegram to %s: %v", e.method, e.err)
}
func (e *noAnswer) Unwrap() error { return e.err }

// call calls a method once, with JSON parameters.
func (a *api) call(ctx context.Context, method string, params, out any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return a.post(ctx, method, "application/json", body, out)
}

// post calls a method once. out gets the result; nil: it is not needed. The error is a [*refusal] or a [*noAnswer].
func (a *api) post(ctx context.Context, method, contentType string, body []byte, out any) error {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	status, data, err := a.fetch(ctx, http.MethodPost, "/bot"+a.token+"/"+method, contentType, body, maxResponse)
	if err != nil {
		return &noAnswer{method: method, sent: sent.Load(), err: a.hide(err)}
	}
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Code        int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"`
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	err = json.Unmarshal(data, &answer)
	switch {
	case err != nil && status == http.StatusOK:
		return &noAnswer{method: method, sent: true, err: errors.New("the answer is not JSON of the Bot API; check base_url")}
	case err != nil || !answer.OK:
		return &refusal{
			method: method, code: cmp.Or(answer.Code, status), retryAfter: answer.Parameters.RetryAfter, migrateTo: answer.Parameters.MigrateTo,
			description: a.hideText(cmp.Or(answer.Description, http.StatusText(status), "no reason given")),
		}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		return &noAnswer{method: method, sent: true, err: err}
	}
	return nil
}

// fetch makes one request, and returns the status and the body. The error is errTooLarge if the body has more than
// limit bytes.
func (a *api) fetch(ctx context.Context, verb, path, contentType string, body []byte, limit int64) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, verb, a.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return resp.StatusCode, data, err
}

var errTooLarge = errors.New("it is larger than the limit")

// hide removes the URL, and with it the token, from an error of net/http.
func (a *api) hide(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if text := err.Error(); a.hideText(text) != text {
		return errors.New(a.hideText(text))
	}
	return err
}

func (a *api) hideText(s string) string { return strings.ReplaceAll(s, a.token, "TOKEN") }

const (
	maxWait    = 600 // the longest retry_after that a call waits for, in seconds
	maxRetries = 8   // how often a call that certainly had no effect is repeated
)

// retry makes a call, waits as long as Telegram asks for, and repeats a call that certainly had no
// effect: the request was not sent, or not accepted, or it only reads.
func (a *api) retry(ctx context.Context, call func(context.Context) error) error {
	for try := 0; ; try++ {
		once, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(once)
		cancel()
		wait, again := a.pause(err, try)
		if err == nil || !again || !sleep(ctx, wait) {
			return err
		}
	}
}

// pause returns how long to wait before a call that has failed is repeated; again is false if it must not be.
func (a *api) pause(err error, try int) (wait time.Duration, again bool) {
	var refused *refusal
	var unanswered *noAnswer
	switch {
	case errors.As(err, &refused) && refused.retryAfter > 0:
		return time.Duration(refused.retryAfter) * a.unit, refused.retryAfter <= maxWait
	// A gateway says 502 also when only the answer was lost.
	case errors.As(err, &refused) && (refused.code == http.StatusServiceUnavailable || refused.code == http.StatusBadGateway && !strings.HasPrefix(refused.method, "send")),
		errors.As(err, &unanswered) && !unanswered.sent:
		return a.backoff(try), try < maxRetries
	}
	return 0, false
}

// backoff is the pause after a number of failures: 1 s, 2 s, 4 s … 60 s.
func (a *api) backoff(failures int) time.Duration {
	return time.Duration(min(1<<min(failures, 6), 60)) * a.unit
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
