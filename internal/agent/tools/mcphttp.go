package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tape/internal/text/jsonl"
)

// bounded adds a server's headers to requests, cuts off long answers, and mends the messages in them. Streams of events
// may be long: the SDK limits each event.
type bounded struct {
	http.RoundTripper
	headers map[string]string
	said    *lastWords // what the server says in the place of a message
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(b.headers) > 0 {
		req = req.Clone(req.Context())
		for name, value := range b.headers {
			req.Header.Set(name, value)
		}
	}
	res, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return res, err
	}
	kind := res.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/event-stream") {
		res.Body = &mendedEvents{messageLines{Closer: res.Body, r: bufio.NewReader(res.Body)}}
		return res, nil
	}
	raw, failed := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if failed != nil {
		_ = res.Body.Close()
		return nil, failed
	}
	isJSON := strings.HasPrefix(kind, "application/json")
	if req.Method == http.MethodPost {
		b.note(res, raw, isJSON)
	}
	if isJSON {
		raw = mended(raw)
	}
	if isJSON && res.StatusCode == http.StatusOK {
		raw = answerTo(req, raw)
	}
	res.ContentLength = int64(len(raw))
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(raw), res.Body}
	return res, nil
}

// shortestKey is the length from which on a word of a header is hidden in what its server says, in bytes.
const shortestKey = 8

// note keeps what errors of the SDK leave out: the words of a refusal, and of what is no answer.
func (b bounded) note(res *http.Response, raw []byte, isJSON bool) {
	if b.said == nil {
		return
	}
	if b.said.forget(); res.StatusCode >= http.StatusBadRequest || !isJSON && len(raw) > 0 {
		for _, value := range b.headers { // a server may repeat the key that it refuses
			for _, word := range strings.Fields(value) {
				if len(word) >= shortestKey {
					raw = bytes.ReplaceAll(raw, []byte(word), []byte("…"))
				}
			}
		}
		text := string(raw[:min(len(raw), 500)])
		if found := pageTitle.FindSubmatch(raw); found != nil {
			text = "a page of HTML, " + string(found[1])
		}
		fmt.Fprintf(b.said, "HTTP %d: %s", res.StatusCode, text)
	}
}

// answerTo gives an error that names no request, or another one, the id of the request that it was the answer to: else
// the call would wait for its own (modelcontextprotocol/python-sdk#1144).
func answerTo(req *http.Request, answer []byte) []byte {
	if jsonl.Get(answer, "error") == nil || req.GetBody == nil {
		return answer
	}
	body, err := req.GetBody()
	if err != nil {
		return answer
	}
	asked, err := io.ReadAll(body)
	id := jsonl.Get(asked, "id")
	var m map[string]json.RawMessage
	if err != nil || id == nil || bytes.Equal(id, jsonl.Get(answer, "id")) || json.Unmarshal(answer, &m) != nil {
		return answer
	}
	m["id"] = id
	if raw, err := json.Marshal(m); err == nil {
		return mended(raw)
	}
	return answer
}

// wayOver returns what a person can do about a server that does not begin to speak.
func wayOver(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "Unauthorized"), strings.Contains(text, "Forbidden"):
		return "\n" + `a key goes into its headers: {"url": "…", "headers": {"Authorization": "Bearer ${NAME}"}}`
	case strings.Contains(text, "Method Not Allowed"), strings.Contains(text, "Not Found"):
		return "\nis the url right? It often ends in /mcp; a server that has only the older SSE needs a program such as mcp-remote as command"
	}
	return ""
}
