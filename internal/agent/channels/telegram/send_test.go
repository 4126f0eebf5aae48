package telegram

import (
	"bytes"
	"strings"
	"testing"

	"tape/hooks"
)

func TestSendPieces(t *testing.T) {
	h := start(t, nil)
	text := "Look:\n\n```go\n" + strings.Repeat("f(\"😀\") // something\n", 1000) + "```\nThat is **all**."
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": text}); err != nil {
		t.Fatal(err)
	}
	sent := h.server.Sent()
	if len(sent) < 5 {
		t.Fatalf("%d pieces, want at least 5", len(sent))
	}
	var joined strings.Builder
	for _, s := range sent {
		joined.WriteString(s.Text)
		if len(s.Entities) == 0 || s.Entities[0].Type != "pre" || s.Entities[0].Language != "go" {
			t.Errorf("no code in a piece: %+v", s.Entities)
		}
	}
	want := strings.NewReplacer("```go\n", "", "```\n", "", "**", "").Replace(text)
	if joined.String() != want {
		t.Errorf("the pieces, joined, are not the text: %q", joined.String())
	}
	for _, content := range []any{"", " \n", "```\n```", nil, "\x00\x01"} {
		if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": content}); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
	if more := h.server.Sent(); len(more) != len(sent) {
		t.Errorf("empty messages were sent: %v", more[len(sent):])
	}
}

func TestMedia(t *testing.T) {
	h := start(t, nil)
	h.server.File("small", []byte("small picture"))
	h.server.File("big", make([]byte, 3<<20))
	h.server.File("doc", []byte("a report"))
	h.server.File("hidden", make([]byte, 3<<20))
	h.server.Fail("download", botFault{}, botFault{Code: 502, Body: "x"})
	h.server.Push(private(1, `"caption":"what is this?","photo":[{"file_id":"thumb","file_size":10},{"file_id":"small","file_size":13},{"file_id":"big","file_size":3145728}]`))
	h.server.Push(private(2, `"document":{"file_id":"doc","file_name":"r.txt","mime_type":"text/plain"}`))
	h.server.Push(private(3, `"document":{"file_id":"big","file_name":"b.iso","file_size":3145728}`))
	h.server.Push(private(4, `"voice":{"file_id":"hidden","duration":5}`)) // without its size
	h.server.Push(private(5, `"document":{"file_id":"unknown"}`))
	h.server.Push(private(6, `"sticker":{"file_id":"a","is_animated":true,"emoji":"😀"}`))
	h.server.Push(private(7, `"text":"and this?","reply_to_message":{"message_id":2,"from":{"id":7},"document":{"file_id":"doc","file_name":"r.txt","mime_type":"text/plain"}}`))
	h.server.Push(private(8, `"new_chat_title":"x"`)) // not something that was said
	got := h.received(7)
	want := []string{
		"what is this?\n[photo]", "[document r.txt]", "[document b.iso: larger than 2 MB, so it was not fetched]",
		"[voice message, 5 s: larger than 2 MB, so it was not fetched]", "[document: it could not be fetched]", "[moving sticker 😀]",
		"and this?\n[document r.txt of the message that this one answers]",
	}
	for i, m := range got {
		if m.Text("content") != want[i] {
			t.Errorf("content %q, want %q", m.Text("content"), want[i])
		}
	}
	for i, want := range map[int]hooks.Media{
		0: {Type: "image/jpeg", Name: "photo.jpg", Data: []byte("small picture")}, 1: {Type: "text/plain", Name: "r.txt", Data: []byte("a report")},
		6: {Type: "text/plain", Name: "r.txt", Data: []byte("a report")},
	} {
		media, _ := got[i][hooks.KeyMedia].([]hooks.Media)
		if len(media) != 1 || media[0].Type != want.Type || media[0].Name != want.Name || !bytes.Equal(media[0].Data, want.Data) {
			t.Errorf("media of message %d: %+v, want %+v", i, media, want)
		}
	}
}

func TestSendMedia(t *testing.T) {
	h := start(t, nil)
	h.server.Fail("sendPhoto", botFault{Code: 429, RetryAfter: 1, Description: "Too Many Requests: retry after 1"}, botFault{Code: 400, Description: "Bad Request: PHOTO_INVALID_DIMENSIONS"})
	png, text := hooks.Media{Type: "image/png", Name: "a.png", Data: []byte("png")}, hooks.Media{Type: "text/plain", Name: "ä \"x\".txt", Data: []byte("text")}
	big := hooks.Media{Type: "text/plain", Name: "big.log", Data: make([]byte, maxMedia+1)}
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "here", "media": []hooks.Media{png, text, big}}); err != nil {
		t.Fatal(err)
	}
	fromJSON := []any{map[string]any{"type": "image/png", "name": "c.png", "data": "cG5n"}}
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "media": fromJSON}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range h.server.Sent() {
		got = append(got, s.Method+" "+s.Text+s.File+" "+string(s.Data))
	}
	want := "sendMessage here\n[big.log: 2.0 MB, larger than 2 MB, so it was not sent] |sendDocument a.png png|sendDocument ä \"x\".txt text|sendPhoto c.png png"
	if strings.Join(got, "|") != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A group that becomes a supergroup gets another id, which the settings have to name.
func TestMigration(t *testing.T) {
	h := start(t, func(o *Options) { o.AllowChats = []string{"-5", "-1005"} })
	h.server.Know(-5)
	h.server.Know(-1005)
	h.server.Fail("sendMessage", botFault{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -1005})
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "-5", "content": "hi"}); err != nil {
		t.Error(err)
	}
	if list := h.server.Sent(); len(list) != 1 || list[0].Chat != -1005 || list[0].Text != "hi" || !strings.Contains(h.log.String(), "put its id into telegram.allow_chats") {
		t.Errorf("sent %+v; the log says %s", list, h.log)
	}
	h.server.Push(`{"message":{"message_id":9,"from":{"id":7},"chat":{"id":-5,"type":"group"},"migrate_to_chat_id":-1005}}`)
	h.server.Push(`{"message":{"message_id":1,"text":"/ask@` + botName + ` x","from":{"id":7},"chat":{"id":-1005,"type":"supergroup"}}}`)
	m := h.received(1)[0]
	if m.Text("session_id") != "telegram:-1005" || m.Text("chat_id") != "-1005" || m.Text("message_id") != "telegram:-1005:1" {
		t.Errorf("message in the supergroup: %v", m)
	}
	if !strings.Contains(h.log.String(), "id=-1005") {
		t.Errorf("the new id is not in the log: %s", h.log)
	}
}

// What was said before an error is sent, too: the chat has not shown it.
func TestPartialAnswer(t *testing.T) {
	h := start(t, nil)
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "kind": "error", "content": "Error: it was cut", hooks.KeyPartial: "First, se"}); err != nil {
		t.Error(err)
	}
	if list := h.server.Sent(); len(list) != 1 || list[0].Text != "First, se […]\n\nError: it was cut" {
		t.Errorf("sent %+v", list)
	}
}

// What Telegram cannot parse is sent without its form, and what a topic does not take goes to the chat itself. People
// lost whole answers (https://github.com/bubbuild/bub/pull/56, https://github.com/ruitunion-org/feedback-bot/issues/1).
func TestRefusedForms(t *testing.T) {
	h := start(t, nil)
	parse := botFault{Code: 400, Description: "Bad Request: can't parse entities: unsupported entity"}
	gone := botFault{Code: 400, Description: "Bad Request: message thread not found"}
	for _, c := range []struct {
		chat   string
		faults []botFault
		thread int64
		plain  bool
	}{{"7", []botFault{parse}, 0, true}, {"-100_33", []botFault{gone}, 0, false}, {"-100_33", []botFault{gone, parse}, 0, true}, {"-100_33", []botFault{parse}, 33, true},
		{"-100_33", []botFault{{Code: 400, Description: "Bad Request: TOPIC_CLOSED"}}, 0, false}} {
		h.server.Fail("sendMessage", c.faults...)
		if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": c.chat, "content": "**bold** text"}); err != nil {
			t.Errorf("%v: %v", c.faults, err)
			continue
		}
		list := h.server.Sent()
		if s := list[len(list)-1]; s.Text != "bold text" || s.Thread != c.thread || (len(s.Entities) == 0) != c.plain {
			t.Errorf("%v: sent %+v, want plain %v in topic %d", c.faults, s, c.plain, c.thread)
		}
	}
	h.server.Fail("sendMessage", parse, parse)
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "**bold**"}); err == nil {
		t.Error("a message that was refused twice is taken for sent")
	}
}
