package telegram

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/hooks"
)

func TestNetworkErrors(t *testing.T) {
	h := start(t, nil)
	gateway := botFault{Code: 502, Body: "<html>Bad Gateway</html>"}
	h.server.Fail("getUpdates", botFault{}, gateway, botFault{Code: 429, Description: "Too Many Requests: retry after 5", RetryAfter: 5},
		botFault{Code: 200, Body: "<html>welcome"}, botFault{Done: true})
	h.server.Push(private(1, `"text":"one"`))
	h.received(1)
	for _, want := range []string{"Bad Gateway", "retry after 5", "base_url", "answers again"} {
		h.until(want+" in the log", func() bool { return strings.Contains(h.log.String(), want) })
	}
}

// Errors of net/http contain the URL, and so the token.
func TestTokenIsHidden(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	redirect := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1"+r.URL.Path, http.StatusFound)
	}))
	defer redirect.Close()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		_, _ = w.Write([]byte(`{"ok":false,"description":"` + r.URL.Path + `"}`))
	}))
	defer echo.Close()
	for _, base := range []string{gone.URL, redirect.URL, echo.URL, "http://[::1", "ftp://x", "http://\x7f", "", "127.0.0.1:1"} {
		o := Options{Token: botToken, BaseURL: base + "/", Dir: t.TempDir(), unit: time.Microsecond}
		c, err := New(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			c.identify(t.Context()), c.Send(t.Context(), hooks.Envelope{"chat_id": "1", "content": "x"}),
			c.Send(t.Context(), hooks.Envelope{"chat_id": "1", "media": []hooks.Media{{Data: []byte("x")}}}),
		} {
			if err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: %v, want an error without the token", base, err)
			}
		}
		if _, err := c.fetch(t.Context(), file{ID: "x"}); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("fetch from %s: %v, want an error without the token", base, err)
		}
	}
}

func TestTwoPollers(t *testing.T) {
	h := start(t, nil)
	h.server.Slow(100 * time.Millisecond)
	h.until("a poll", func() bool { return h.server.Calls("getUpdates") > 0 })
	other, err := New(options(h.server, t.TempDir()), h.handle)
	if err == nil {
		err = other.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h.until("a warning about the other program", func() bool {
		return strings.Contains(h.log.String(), "terminated by other getUpdates request") && strings.Contains(h.log.String(), "another program listens to this bot")
	})
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	h.server.Push(private(1, `"text":"one"`))
	h.until("the message", func() bool { return len(h.all()) > 0 })
}

func TestPauses(t *testing.T) {
	c := &Channel{api: &api{unit: time.Second}}
	conflict := &refusal{code: 409, description: "Conflict: terminated by other getUpdates request"}
	for failures, want := range []int{15, 30, 60, 120, 120} {
		if got, _ := c.trouble(conflict, failures); got.Seconds() != float64(want) {
			t.Errorf("409 after %d failures: a pause of %s, want %d s", failures, got, want)
		}
	}
	for failures, want := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		if got, _ := c.trouble(&noAnswer{err: context.DeadlineExceeded}, failures); got.Seconds() != float64(want) {
			t.Errorf("network error after %d failures: a pause of %s, want %d s", failures, got, want)
		}
	}
	if got, text := c.trouble(&refusal{code: 409, description: "Conflict: can't use getUpdates method while webhook is active"}, 0); got != time.Minute || !strings.Contains(text, "web server") {
		t.Errorf("webhook: a pause of %s, %s", got, text)
	}
}

// A call that certainly had no effect is repeated; one that may have had an effect is not.
func TestSendTrouble(t *testing.T) {
	h := start(t, nil)
	h.c.api.unit = 10 * time.Millisecond
	flood := botFault{Code: 429, Description: "Too Many Requests: retry after 7", RetryAfter: 7}
	h.server.Fail("sendMessage", flood, flood, botFault{Code: 503, Body: "x"})
	begin := time.Now()
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "one"}); err != nil {
		t.Fatal(err)
	}
	if time.Since(begin) < 2*7*10*time.Millisecond {
		t.Error("retry_after is not obeyed")
	}
	h.server.Fail("sendMessage", botFault{Done: true})
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "two"}); err == nil || !strings.Contains(err.Error(), "not known whether it arrived") {
		t.Errorf("lost answer: %v", err)
	}
	h.server.Fail("sendMessage", botFault{Code: 502, Body: "x"})
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "three"}); err == nil || !strings.Contains(err.Error(), "not known whether it arrived") {
		t.Errorf("bad gateway: %v", err)
	}
	h.c.api.unit = time.Microsecond
	h.server.Fail("sendMessage", slices.Repeat([]botFault{{Code: 503, Body: "x"}}, maxRetries+1)...)
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "three"}); err == nil || strings.Contains(err.Error(), "not known") {
		t.Errorf("out of service: %v", err)
	}
	h.server.Fail("sendMessage", botFault{Code: 403, Description: "Forbidden: bot was blocked by the user"})
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "three"}); err == nil || !strings.Contains(err.Error(), "blocked by the user") {
		t.Errorf("blocked: %v", err)
	}
	for _, chat := range []string{"", "x", "7_x", "1_2_3"} {
		if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": chat, "content": "x"}); err == nil {
			t.Errorf("a message to chat %q was sent", chat)
		}
	}
	if sent := h.server.Sent(); len(sent) != 2 || sent[1].Text != "two" {
		t.Errorf("sent %v, want one and two", sent)
	}
}

// Hostile updates never stop the channel.
func TestHostileUpdates(t *testing.T) {
	h := start(t, nil)
	pieces := []string{
		`{}`, `null`, `[]`, `-1`, `9223372036854775807`, `1e400`, `"x"`, `""`, `"/"`, `"@"`, `","`, `"/@` + botName + `"`, `"@` + botName + `"`, `"\u0000\u001b[2J\ud800"`, `true`,
		`{"id":7}`, `{"id":7,"type":"private"}`, `{"id":-100,"type":"supergroup"}`, `[{"type":"mention","offset":-1,"length":9223372036854775807}]`,
		`[{"type":"mention","offset":9223372036854775807,"length":1}]`, `[{"file_id":"x","file_size":-1}]`, `{"file_id":"../../x","file_name":"../\u0000"}`,
		`"` + strings.Repeat("😀", 100_000) + `"`, strings.Repeat(`{"reply_to_message":`, 5000) + "1" + strings.Repeat("}", 5000),
	}
	keys := []string{
		"message_id", "from", "chat", "date", "text", "entities", "caption", "caption_entities", "reply_to_message", "photo", "document", "sticker", "voice",
		"media_group_id", "edit_date", "is_topic_message", "message_thread_id", "migrate_to_chat_id", "forum_topic_created", "sender_chat",
	}
	h.server.File("../../x", []byte("x"))
	r := rand.New(rand.NewPCG(1, 3))
	for range 200 {
		var b strings.Builder
		b.WriteString(`{"` + []string{"message", "edited_message", "channel_post", "x"}[min(r.IntN(8)/2, 3)] + `":{"message_id":1`)
		if r.IntN(4) > 0 {
			b.WriteString(`,"chat":{"id":-100,"type":"supergroup"},"from":{"id":7}`)
		}
		for range r.IntN(6) {
			b.WriteString(`,"` + keys[r.IntN(len(keys))] + `":` + pieces[r.IntN(len(pieces))])
		}
		h.server.Push(b.String() + "}}")
	}
	for _, u := range []string{`{"message":null}`, `{"message":5}`, `{"x":{}}`} {
		h.server.Push(u)
	}
	h.server.Push(private(77, `"text":"still here"`))
	h.until("the last message", func() bool {
		all := h.all()
		return len(all) > 0 && all[len(all)-1].Text("content") == "still here"
	})
}
