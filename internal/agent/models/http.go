package models

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/agent/keys"
	"tape/internal/text/jsonl"
)

// maxError is how many bytes of an error are read.
const maxError = 1 << 20

// call makes one request, and gives what comes to the answer.
func (p *provider) call(ctx context.Context, q request, a *answer) error {
	ctx, silence := withSilenceLimit(ctx, p.silence)
	defer silence.stop()
	r, err := p.newRequest(ctx, http.MethodPost, q.path, bytes.NewReader(q.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if !q.whole {
		r.Header.Set("Accept", "text/event-stream")
	}
	res, err := (&http.Client{CheckRedirect: keys.SameHost}).Do(r)
	if err != nil {
		return silence.cause(ctx, err)
	}
	defer res.Body.Close()
	silence.reset()
	body := bufio.NewReaderSize(&timedBody{res.Body, silence}, 4<<10)
	if packed := res.Header.Get("Content-Encoding"); slices.Contains([]string{"gzip", "x-gzip", "br", "deflate", "compress", "zstd"}, strings.ToLower(packed)) { // not "none", which keeps proxies from packing streams
		return &failure{status: res.StatusCode, text: fmt.Sprintf("HTTP %d: the answer is packed with %s, which was not asked for", res.StatusCode, shorten(packed)), way: "a proxy before the server may do that"}
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		raw, _ := io.ReadAll(io.LimitReader(body, maxError)) // an error that breaks off says something, too
		return refusalOf(res, raw)
	}
	if err = silence.cause(ctx, p.read(res, body, q, a, silence)); err == nil {
		return nil
	}
	f := failureOf(err)
	address := *res.Request.URL
	address.RawQuery = ""
	f.from = address.Redacted()
	if kind := res.Header.Get("Content-Type"); kind != "" {
		f.from += ", " + shorten(kind)
	}
	if !f.waits {
		f.wait, f.waits = waitIn(res.Header, f.status, time.Now())
	}
	return f
}

// newRequest makes a request to an address below the provider's, with its key, headers and query.
func (p *provider) newRequest(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	u, err := url.Parse(p.baseURL)
	if err != nil {
		return nil, err
	}
	path, query, _ := strings.Cut(path, "?")
	if p.api == apiMessages && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") {
		path = strings.TrimPrefix(path, "/v1")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	values := u.Query()
	if more, err := url.ParseQuery(query); err == nil {
		for name, v := range more {
			values[name] = v
		}
	}
	for name, v := range p.query {
		values.Set(name, v)
	}
	u.RawQuery = values.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "tape")
	if p.api == apiMessages {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case p.key == "":
	case p.api == apiMessages:
		r.Header.Set("X-Api-Key", p.key)
	default:
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	for name, v := range p.headers {
		r.Header.Set(name, v)
	}
	return r, nil
}

// read reads an answer: a stream of events, or one object, whatever was asked for and whatever the server calls it.
func (p *provider) read(res *http.Response, body *bufio.Reader, q request, a *answer, silence *silenceTimer) error {
	first, err := firstByte(body)
	switch {
	case errors.Is(err, io.EOF):
		return &failure{text: "the server answered with nothing", passing: true}
	case err != nil:
		return err
	case first == '<':
		raw, _ := io.ReadAll(io.LimitReader(body, maxError))
		return &failure{text: fmt.Sprintf("the server answered with a page of HTML%s, and not as a model does", pageTitle(raw)),
			way: "is the address right? It often ends in /v1: tape config base_urls"}
	case first == '{' || first == '[':
		raw, err := io.ReadAll(io.LimitReader(body, maxAnswer))
		if err != nil {
			return err
		}
		return a.whole(raw, res, q)
	}
	for e, err := range serverEvents(body) {
		switch {
		case err != nil && a.ended: // and what else could come is not needed
			return a.end()
		case err != nil:
			return err
		case string(bytes.TrimSpace(e.data)) == streamEnd:
			a.ended = true
			return a.end()
		}
		if err := a.streamed(e, q); err != nil {
			return err
		}
		if e.name != "ping" {
			silence.heard = time.Now()
		}
		if a.over {
			break
		}
		if a.ended {
			silence.shorten(afterEnd)
		}
	}
	return a.end()
}

// afterEnd is how long a server may send nothing when the answer is complete: it may have left out the last event, and
// keep the connection.
const afterEnd = 10 * time.Second

// firstByte returns the first byte that is neither white space nor a byte order mark, and leaves it to be read.
func firstByte(body *bufio.Reader) (byte, error) {
	for {
		if mark, err := body.Peek(1); err == nil && mark[0] == 0xEF {
			if mark, err := body.Peek(3); err != nil || string(mark) != "\uFEFF" {
				return 0xEF, nil
			}
			_, _ = body.Discard(3)
		}
		b, err := body.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, body.UnreadByte()
		}
	}
}

// streamed adds an event of a stream.
func (a *answer) streamed(e serverEvent, q request) error {
	if e.stray {
		a.stray = cmp.Or(a.stray, shorten(string(e.data)))
		return nil
	}
	if e.data[0] == ':' {
		return nil // a comment that a proxy has made an event of (anomalyco/opencode#50871)
	}
	if !utf8.Valid(e.data) {
		e.data = a.wholeCharacters(e.data)
	}
	if !json.Valid(e.data) {
		what := "what is not JSON"
		if e.name == "error" {
			what = "an error"
		}
		return &failure{text: "the server sent " + what + ": " + shorten(string(e.data)), passing: true}
	}
	if problem := problemIn(e.name, e.data); problem != nil {
		f := errorIn(problem)
		f.text = "the server sent an error: " + f.text
		f.passing = f.passing || f.status == 0 && passes(f) || f.status >= http.StatusInternalServerError
		return f
	}
	if err := otherForm(e.data, q.api); err != nil {
		return err
	}
	return q.event(a, e.data)
}

// otherForm returns an error if a server speaks another API than it is asked by.
func otherForm(data []byte, asked string) error {
	form := ""
	switch kind := jsonl.GetString(data, "type"); {
	case strings.HasPrefix(kind, "response."), jsonl.GetString(data, "object") == "response":
		form = apiResponses
	case kind == "message_start", kind == "message":
		form = apiMessages
	case strings.HasPrefix(jsonl.GetString(data, "object"), "chat.completion"):
		form = apiChat
	}
	if form == "" || form == asked || asked == apiChat && jsonl.Get(data, "choices") != nil {
		return nil
	}
	return &failure{text: "the server speaks another API: " + form, form: form}
}

// passes reports whether an error in a stream, which has no status, sounds as if it would pass.
func passes(f *failure) bool {
	text := strings.ToLower(f.code + " " + f.text)
	for _, words := range []string{"overloaded", "server_error", "api_error", "internal", "timeout", "timed out", "unavailable", "rate_limit", "rate limit", "try again", "connection", "unexpected eof", "upstream", "network", "capacity"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// problemIn returns the error in an object that a server sends with the status 200; nil if there is none.
func problemIn(event string, data []byte) []byte {
	if event == "error" {
		return data
	}
	switch problem := jsonl.Get(data, "error"); string(problem) {
	case "", "null", `""`, "{}", "false":
	default:
		f := errorIn(data)
		if jsonl.Get(data, "choices") == nil || f.code != "" || f.text != string(data) { // not one of which all members are empty
			return data
		}
	}
	if status := jsonl.Get(data, "base_resp", "status_code"); len(status) > 0 && string(status) != "0" { // MiniMax
		return jsonl.Get(data, "base_resp")
	}
	if jsonl.GetString(data, "object") == "error" || jsonl.GetString(data, "type") == "error" {
		return data
	}
	for choice := range jsonl.Elements(jsonl.Get(data, "choices")) {
		if problem := jsonl.Get(choice, "error"); len(problem) > 0 && problem[0] == '{' {
			return problem
		}
	}
	return nil
}

// whole adds an answer that came as one object.
func (a *answer) whole(raw []byte, res *http.Response, q request) error {
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if !json.Valid(raw) {
		// A stream of objects without fields is read as events.
		for e, err := range serverEvents(bytes.NewReader(raw)) {
			if err != nil {
				return err
			}
			if err := a.streamed(e, q); err != nil {
				return err
			}
		}
		return a.end()
	}
	if problem := problemIn("", raw); problem != nil || !isAnswer(raw) {
		f := errorIn(raw)
		f.text = cmp.Or(f.text, string(raw))
		f.text = fmt.Sprintf("the server answered with an error, and the status %d: %s", res.StatusCode, f.text)
		f.passing = f.status == 0 && passes(f) || f.status >= http.StatusInternalServerError
		if f.way = "is the address right? It often ends in /v1: tape config base_urls"; f.passing || f.status > 0 {
			f.way = ""
		}
		return f
	}
	if err := otherForm(raw, q.api); err != nil {
		return err
	}
	if err := q.event(a, raw); err != nil {
		return err
	}
	a.ended = true
	return a.end()
}

// isAnswer reports whether an object has the form of an answer of one of the APIs.
func isAnswer(raw []byte) bool {
	for _, name := range []string{"choices", "content", "output", "type"} {
		if v := jsonl.Get(raw, name); len(v) > 0 && string(v) != "null" {
			return true
		}
	}
	return false
}

// end completes an answer, and says what is wrong with it.
func (a *answer) end() error {
	thought, said := a.think.rest()
	if err := a.addReasoning(thought); err != nil {
		return err
	}
	if said != "" {
		if err := a.say(said); err != nil {
			return err
		}
	}
	if err := a.endThoughts(); err != nil {
		return err
	}
	a.endCalls()
	a.endBlocks()
	return a.complete()
}

// silenceTimer cancels a call when its server sends nothing for too long. What only keeps the connection, such as the
// comments of OpenRouter, counts for some time.
type silenceTimer struct {
	timer  *time.Timer
	after  time.Duration
	heard  time.Time // when the last event came
	cancel context.CancelCauseFunc
}

// keptAlive is how many times longer than the limit of silence a server may only keep the connection.
const keptAlive = 5

var errSilence = errors.New("the server sends nothing")

// withSilenceLimit returns a context that ends when the server sends nothing for the given time.
func withSilenceLimit(ctx context.Context, after time.Duration) (context.Context, *silenceTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &silenceTimer{after: after, heard: time.Now(), cancel: cancel}
	w.timer = time.AfterFunc(after, func() { cancel(fmt.Errorf("%w for %s", errSilence, after)) })
	return ctx, w
}

func (w *silenceTimer) reset() { w.timer.Reset(w.after) }

func (w *silenceTimer) shorten(after time.Duration) {
	w.after = min(w.after, after)
	w.reset()
}

func (w *silenceTimer) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause returns the cause if ctx was cancelled because of silence, else err.
func (w *silenceTimer) cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSilence) {
		return &failure{text: cause.Error(), cause: cause, way: "the setting silence says how long to wait, for example 20m"}
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
	if n > 0 && time.Since(b.silence.heard) < keptAlive*b.silence.after {
		b.silence.reset()
	}
	if err != nil && !errors.Is(err, io.EOF) { // also of HTTP/2: stream error … INTERNAL_ERROR (earendil-works/pi#7392)
		err = &failure{text: err.Error(), cause: err, passing: true}
	}
	return n, err
}
