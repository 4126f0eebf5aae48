package models

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tape/internal/agent/keys"
	"tape/internal/text/jsonl"
)

// failure is why a call of a model has given no answer.
type failure struct {
	status  int    // of HTTP; 0: there is none
	code    string // the server's codes and types of errors
	text    string // what happened
	way     string // what the user can do; "": [provider.way] says it
	from    string // the address and the type of what was answered; "": there was no answer, or HTTP says what is wrong
	form    string // the API that the server speaks, if it is another one
	cause   error  // what it stands for, if that matters
	passing bool   // the same request may succeed
	fixed   bool   // the server says that trying again does not help
	wait    time.Duration
	waits   bool // the server says how long to wait
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

// failureOf makes a failure of an error.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	f = &failure{text: err.Error(), cause: err}
	var broken networkError
	var u *url.Error
	switch {
	case errors.Is(err, errSilence):
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.passing = true
	case errors.As(err, new(*tls.CertificateVerificationError)), noTLS(err):
	case errors.As(err, &u):
		f.passing = !errors.Is(err, keys.ErrRedirect)
	case errors.As(err, &broken):
		f.passing = true
	}
	return f
}

// noTLS reports whether a server that was asked with https does not speak it.
func noTLS(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || err != nil && strings.HasSuffix(err.Error(), "server gave HTTP response to HTTPS client")
}

// networkError is an error of the network.
type networkError interface{ Timeout() bool }

// Retries of a call that fails before its first word.
const (
	maxTries    = 3
	firstWait   = 500 * time.Millisecond
	longestWait = time.Minute // a server that asks for more is not waited for
)

// again reports whether a call should be made once more, and after what time.
func (f *failure) again(tries int) (time.Duration, bool) {
	passing := f.passing
	switch f.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		passing = true
	}
	passing = passing || f.status >= http.StatusInternalServerError
	if !passing || f.fixed || tries >= maxTries || f.overflow() || f.spent() || f.wait > longestWait {
		return 0, false
	}
	if f.waits {
		return f.wait, true
	}
	return firstWait << (2 * (tries - 1)), true
}

// spent reports whether money or a quota is used up, which no waiting helps. A quota for which the server says how long
// to wait is none for good: Gemini's of a minute.
func (f *failure) spent() bool {
	text := strings.ToLower(f.code + " " + f.text)
	for _, words := range []string{"insufficient_quota", "billing_hard_limit", "credit balance", "insufficient credits", "insufficient balance", "insufficient_balance", "payment required", "out of credits"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	for _, words := range []string{"exceeded your current quota", "quota_exceeded", "quota exceeded", "usage limit", "spending limit"} {
		if strings.Contains(text, words) && !f.waits {
			return true
		}
	}
	return f.status == http.StatusPaymentRequired
}

// refusalOf reads an answer of HTTP that is an error.
func refusalOf(res *http.Response, raw []byte) *failure {
	f := errorIn(raw)
	f.status = res.StatusCode
	if f.text == "" {
		f.text = http.StatusText(res.StatusCode)
	}
	f.text = fmt.Sprintf("HTTP %d: %s", res.StatusCode, f.text)
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		f.passing = true
	case "false":
		f.fixed = true
	}
	if wait, ok := waitIn(res.Header, res.StatusCode, time.Now()); ok {
		f.wait, f.waits = wait, true
	}
	return f
}

// waitIn returns the time to wait that the headers of an answer ask for. When a limit is reset, many servers say with each
// answer: it counts if the status says that the fault is the client's.
func waitIn(h http.Header, status int, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	if wait, ok := waitFor(h.Get("Retry-After"), now); ok || status < 400 || status >= http.StatusInternalServerError {
		return wait, ok
	}
	for _, name := range []string{"RateLimit-Reset", "X-RateLimit-Reset", "Anthropic-Ratelimit-Unified-Reset"} {
		if wait, ok := waitUntil(h.Get(name), now); ok {
			return wait, true
		}
	}
	return waitFor(h.Get("RateLimit-Reset"), now) // of a draft: seconds
}

// waitFor reads the time of Retry-After: seconds, as of proxies "2s", or a date.
func waitFor(text string, now time.Time) (time.Duration, bool) {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second)), true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// waitUntil returns how long it is to a time in seconds or milliseconds since 1970.
func waitUntil(text string, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1e9 {
		return 0, false
	}
	if n < 1e12 {
		n *= 1000
	}
	return max(0, time.UnixMilli(n).Sub(now)), true
}

// saidWait finds the time to wait in words: "Please try again in 1.378s", "Please retry in 34.5s", "retryDelay":"34s",
// "will reset after 27h41m36s", "Resets in 16 days" (earendil-works/pi#4991, diegosouzapw/OmniRoute#858).
var (
	saidWait = regexp.MustCompile(`(?i)(?:try again|retry|retrying|resets?) (?:in|after) ((?:[0-9.]+ ?(?:ms|s|m|h|d)[a-z]*[ ,]*(?:and )?)+)|"retryDelay": ?"([0-9.]+s)"`)
	waitPart = regexp.MustCompile(`([0-9.]+) ?(ms|s|m|h|d)`)
)

func waitSaid(text string) (wait time.Duration, ok bool) {
	found := saidWait.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	for _, part := range waitPart.FindAllStringSubmatch(strings.ToLower(cmp.Or(found[1], found[2])), -1) {
		n, err := strconv.ParseFloat(strings.TrimSuffix(part[1], "."), 64)
		if err != nil || n > 1e6 {
			return 0, false
		}
		wait += time.Duration(n * float64(units[part[2]]))
	}
	return wait, true
}

// errorIn reads what a server says of an error. There is no common form: {"error": {…}}, {"error": "…"},
// [{"error": {…}}] of Gemini, {"detail": …} of FastAPI, {"message": …}. OpenRouter has the cause in metadata.raw
// (https://openrouter.ai/docs), often JSON in a text.
func errorIn(raw []byte) *failure {
	f := &failure{}
	raw = []byte(strings.TrimSpace(string(raw)))
	if len(raw) > 0 && raw[0] == '<' {
		f.text = "a page of HTML" + pageTitle(raw)
		return f
	}
	if !json.Valid(raw) {
		f.text = string(raw)
		return f
	}
	var texts, codes []string
	collectError(raw, 0, &texts, &codes)
	f.text, f.code = strings.Join(texts, ": "), strings.Join(codes, " ")
	for _, code := range codes {
		if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 && f.status == 0 {
			f.status = n // in a stream, OpenRouter gives the status as the code
		}
	}
	if f.text == "" && len(raw) > len("{}") && f.code == "" {
		f.text = string(raw)
	}
	words := codes[:0:0]
	for _, code := range codes {
		if _, err := strconv.Atoi(code); (err != nil || len(code) > 3) && !strings.Contains(f.text, code) {
			words = append(words, code)
		}
	}
	f.text = strings.TrimSpace(strings.Join(words, " ") + " " + f.text)
	if wait, ok := waitSaid(f.text + string(jsonl.Get(raw, "error", "details"))); ok {
		f.wait, f.waits = wait, true
	} else if wait, ok := waitUntil(jsonl.GetString(raw, "error", "metadata", "headers", "X-RateLimit-Reset"), time.Now()); ok { // OpenRouter
		f.wait, f.waits = wait, true
	}
	return f
}

// collectError collects the messages and codes of an error, and of those in it.
func collectError(raw []byte, depth int, texts, codes *[]string) {
	const deepest = 6
	add := func(list *[]string, text string) {
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(strings.Join(*list, "\n"), text) {
			*list = append(*list, text)
		}
	}
	switch {
	case depth > deepest || len(raw) == 0:
	case raw[0] == '"':
		text, _ := jsonl.String(raw)
		if inner := strings.TrimSpace(text); strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
			collectError([]byte(inner), depth+1, texts, codes)
			return
		}
		add(texts, text)
	case raw[0] == '[':
		for el := range jsonl.Elements(raw) {
			collectError(el, depth+1, texts, codes)
		}
	case raw[0] == '{':
		for _, name := range []string{"code", "type", "status", "status_code", "errorCode", "__type"} {
			v := jsonl.Get(raw, name)
			if text, ok := jsonl.String(v); ok && text != "error" {
				add(codes, text)
			} else if len(v) > 0 && v[0] >= '0' && v[0] <= '9' {
				add(codes, string(v))
			}
		}
		if loc := jsonl.Get(raw, "loc"); loc != nil { // FastAPI's
			add(texts, strings.Join(strings.FieldsFunc(string(loc), func(r rune) bool { return strings.ContainsRune(`[]", `, r) }), "."))
		}
		for _, name := range []string{"message", "msg", "Message", "status_msg", "error_description", "detail", "error", "errors"} {
			collectError(jsonl.Get(raw, name), depth+1, texts, codes)
		}
		add(texts, jsonl.GetString(raw, "metadata", "provider_name"))
		collectError(jsonl.Get(raw, "metadata", "raw"), depth+1, texts, codes)
		if param := jsonl.GetString(raw, "param"); param != "" && !strings.Contains(strings.Join(*texts, " "), param) {
			add(texts, param)
		}
	}
}

// pageTitle returns the title of a page of HTML in quotes, after a space.
func pageTitle(raw []byte) string {
	_, rest, ok := strings.Cut(string(raw[:min(len(raw), 64<<10)]), "<title>")
	title, _, closed := strings.Cut(rest, "</title>")
	if title = strings.Join(strings.Fields(title), " "); !ok || !closed || title == "" {
		return ""
	}
	return fmt.Sprintf(" %q", shorten(title))
}

// explain returns an error that names the model and hides the key. It wraps ErrContextLength if the context is too
// long, which it finds by the server's code first, then by its words, and ErrCut. HTTP 429 never means an overflow.
func (p *provider) explain(model string, f *failure, tries int) error {
	text := shorten(p.hide(f.text))
	switch {
	case f.overflow():
		return fmt.Errorf("%s: %w: %s", model, ErrContextLength, text)
	case errors.Is(f.cause, ErrCut):
		return fmt.Errorf("%s: %w: %s (%s)", model, ErrCut, text, f.way)
	}
	var more []string
	for _, said := range []string{p.hide(f.from), cmp.Or(f.way, p.way(f, tries))} {
		if said != "" {
			more = append(more, said)
		}
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return fmt.Errorf("%s: %s", model, text)
}

// hide replaces the provider's key and secret headers in a text.
func (p *provider) hide(text string) string {
	for _, secret := range p.secrets() {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

// way returns what the user can do about a failure; "" if there is nothing.
func (p *provider) way(f *failure, tries int) string {
	variable := keys.Variable(p.name, "API_KEY")
	tried := ""
	if tries > 1 {
		tried = fmt.Sprintf("tried %d times; ", tries)
	}
	switch {
	case f.status == http.StatusUnauthorized && p.key == "":
		return fmt.Sprintf("no key of %s is set: set %s, or run tape onboard", p.name, variable)
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden && p.key != "":
		return fmt.Sprintf("the key of %s was refused: set another one in %s, or run tape onboard", p.name, variable)
	case f.form != "":
		return fmt.Sprintf("set tape config apis '{%q: %q}'", p.name, f.form)
	case f.spent():
		return fmt.Sprintf("what %s allows is used up: add to it there, or choose another model", p.name)
	case f.waits && f.wait > longestWait:
		return tried + "the server says: try again in " + spoken(f.wait)
	case p.api == apiChat && (strings.Contains(f.text, "v1/responses") || strings.Contains(f.text, "Responses API")):
		return fmt.Sprintf("set tape config apis '{%q: \"responses\"}'", p.name)
	case f.status == http.StatusNotFound:
		return fmt.Sprintf("is the name of the model right, and the address %s?", p.baseURL)
	case f.status == http.StatusTooManyRequests, f.status >= http.StatusInternalServerError:
		return tried + "send a message to try again"
	case errors.As(f.cause, new(*tls.CertificateVerificationError)):
		return "SSL_CERT_FILE may name a file of the certificates that you trust, such as that of a company's proxy"
	case noTLS(f.cause):
		return "the server does not speak https; if that is right, write its address with http"
	case strings.Contains(f.text, "proxyconnect"):
		return tried + "does the proxy run that HTTPS_PROXY or HTTP_PROXY names?"
	case errors.Is(f.cause, syscall.ECONNREFUSED):
		return tried + fmt.Sprintf("does the server of %s run?", p.name)
	case errors.Is(f.cause, io.ErrUnexpectedEOF), errors.Is(f.cause, syscall.ECONNRESET):
		return tried + "the connection broke off; send a message to go on"
	case f.passing:
		return tried + "send a message to try again"
	}
	return strings.TrimSuffix(tried, "; ")
}

// spoken returns a time as a person would say it: 0.5 s, 12 s, 5 min, 2 h, 3 days.
func spoken(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d.Round(100*time.Millisecond))/float64(time.Second), 'g', 3, 64) + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	case d < 48*time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Hours()), ".0") + " h"
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func shorten(s string) string {
	const enough = 1000
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return s
}
