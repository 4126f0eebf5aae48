package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, nil, helper)
}

// host accepts what a channel hands over.
type host struct {
	t      *testing.T
	server *botServer
	c      *Channel
	log    *testkit.Buffer

	mu   sync.Mutex
	got  []hooks.Envelope
	fail int // how many more messages cannot be stored
}

func options(s *botServer, dir string) Options {
	return Options{Token: botToken, BaseURL: s.URL, AllowUsers: []string{"7", "@Ann"}, AllowChats: []string{"-100"}, Dir: dir, unit: time.Millisecond}
}

// start starts a channel with a server. change changes the options before; nil changes nothing.
func start(t *testing.T, change func(*Options)) *host {
	h := &host{t: t, server: newBotServer(t), log: &testkit.Buffer{}}
	o := options(h.server, t.TempDir())
	o.Log = slog.New(slog.NewTextHandler(h.log, nil))
	if change != nil {
		change(&o)
	}
	h.server.Know(7)
	h.server.Know(-100)
	h.begin(o)
	t.Cleanup(func() {
		h.end()
		if strings.Contains(h.log.String(), botToken) {
			t.Errorf("the log shows the token: %s", h.log)
		}
	})
	return h
}

func (h *host) begin(o Options) {
	c, err := New(o, h.handle)
	if err == nil {
		err = c.Start(h.t.Context())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.c = c
}

func (h *host) end() {
	if err := h.c.Stop(context.Background()); err != nil {
		h.t.Error(err)
	}
}

func (h *host) handle(_ context.Context, m hooks.Envelope) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail > 0 {
		h.fail--
		return errors.New("the disk is full")
	}
	h.got = append(h.got, m)
	return nil
}

// received waits until n messages have come and all updates are confirmed, and returns the messages.
func (h *host) received(n int) []hooks.Envelope {
	h.t.Helper()
	h.until(fmt.Sprintf("%d messages", n), func() bool { return len(h.all()) >= n && h.server.Waiting() == 0 })
	if got := h.all(); len(got) != n {
		h.t.Fatalf("%d messages, want %d: %v", len(got), n, got)
	}
	return h.all()
}

func (h *host) all() []hooks.Envelope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hooks.Envelope(nil), h.got...)
}

func (h *host) until(what string, ok func() bool) {
	h.t.Helper()
	if !testkit.Eventually(ok) {
		h.t.Fatalf("waited in vain for %s; log: %s; got %v", what, h.log, h.all())
	}
}

// private returns an update with a message in the private chat with user 7. more has further members of the message.
func private(id int, more string) string {
	return fmt.Sprintf(`{"message":{"message_id":%d,"date":1700000000,"from":{"id":7,"first_name":"Ann","username":"ann"},"chat":{"id":7,"type":"private"},%s}}`, id, more)
}

// group returns an update with a message in the group -100.
func group(id int, more string) string {
	return fmt.Sprintf(`{"message":{"message_id":%d,"date":1700000000,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-100,"type":"supergroup","title":"Team"},%s}}`, id, more)
}

func TestReceive(t *testing.T) {
	h := start(t, nil)
	h.server.Push(private(1, `"text":"hello","entities":[{"type":"text_link","offset":0,"length":5,"url":"https://example.org/"}]`))
	m := h.received(1)[0]
	for key, want := range map[string]string{
		"session_id": "telegram:7", "channel": "telegram", "chat_id": "7", "content": "hello", "kind": "normal", "message_id": "telegram:7:1", "is_active": "true",
	} {
		if m.Text(key) != want {
			t.Errorf("%s: %q, want %q", key, m.Text(key), want)
		}
	}
	about := m["context"].(map[string]any)
	if about["sender"] != "Ann" || about["username"] != "ann" || about["date"] != "2023-11-14T22:13:20Z" || fmt.Sprint(about["links"]) != "[https://example.org/]" {
		t.Errorf("context: %v", about)
	}
	h.until("typing", func() bool {
		h.c.OnEvent(t.Context(), m, hooks.Event{Kind: hooks.EventText})
		return h.server.Calls("sendChatAction") > 2
	})
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "7", "content": "hi"}); err != nil {
		t.Fatal(err)
	}
	n := h.server.Calls("sendChatAction")
	testkit.Pause(20 * time.Millisecond)
	if more := h.server.Calls("sendChatAction"); more > n+1 {
		t.Errorf("typing goes on after the answer: %d calls", more-n)
	}
	if sent := h.server.Sent(); len(sent) != 1 || sent[0].Text != "hi" || sent[0].Chat != 7 {
		t.Errorf("sent %v, want one message hi to chat 7", sent)
	}
}

// TestNotices: only notices that a person must get are messages, for example that a model takes no pictures
// (HKUDS/nanobot#1892).
func TestNotices(t *testing.T) {
	h := start(t, nil)
	m := hooks.Envelope{"chat_id": "7"}
	h.c.OnEvent(t.Context(), m, hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": "trying again in 2 s"}})
	h.c.OnEvent(t.Context(), m, hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": "no pictures", "tell": true}})
	if sent := h.server.Sent(); len(sent) != 1 || sent[0].Text != "no pictures" || sent[0].Chat != 7 {
		t.Errorf("sent %v, want the second notice", sent)
	}
	h.c.OnEvent(t.Context(), m, hooks.Event{Kind: hooks.EventFinal})
}

// TestTypingAgain: typing that begins just when the last one ends is shown.
func TestTypingAgain(t *testing.T) {
	h := start(t, nil)
	h.c.mu.Lock()
	h.c.typings["7"] = time.Now() // its time is over
	h.c.mu.Unlock()
	if h.c.isTyping("7") {
		t.Error("it is shown after its time")
	}
	h.c.typing(t.Context(), "7", 1_000_000)
	h.until("typing", func() bool { return h.server.Calls("sendChatAction") > 0 })
}

func TestAdmission(t *testing.T) {
	h := start(t, nil)
	from := func(id int, name, chat string) string {
		return fmt.Sprintf(`{"message":{"message_id":1,"text":"/ask@%s x","from":{"id":%d,"username":%q},"chat":%s}}`, botName, id, name, chat)
	}
	h.server.Push(from(9, "eve", `{"id":9,"type":"private"}`))
	h.server.Push(from(7, "ann", `{"id":-5,"type":"group"}`)) // a group that is not listed
	h.server.Push(`{"message":{"message_id":1,"text":"x","from":{"id":7,"is_bot":true},"chat":{"id":7,"type":"private"}}}`)
	h.server.Push(from(11, "ANN", `{"id":11,"type":"private"}`)) // by name
	h.server.Push(from(9, "eve", `{"id":-100,"type":"group"}`))
	if got := h.received(2); got[0].Text("chat_id") != "11" || got[1].Text("chat_id") != "-100" {
		t.Errorf("admitted %v, want messages of the chats 11 and -100", got)
	}
	if log := h.log.String(); !strings.Contains(log, "telegram.allow_users") || !strings.Contains(log, "id=9") || !strings.Contains(log, "telegram.allow_chats") || !strings.Contains(log, "id=-5") {
		t.Errorf("the log does not say which messages are refused, and why: %s", log)
	}
}

func TestNobodyAdmitted(t *testing.T) {
	h := start(t, func(o *Options) { o.AllowUsers, o.AllowChats = nil, nil })
	h.server.Push(private(1, `"text":"hello"`))
	h.server.Push(group(1, `"text":"/help@`+botName+`"`))
	h.received(0)
	if log := h.log.String(); !strings.Contains(log, "nobody may write to the bot") || !strings.Contains(log, "the setting telegram") {
		t.Errorf("the log does not say that nobody may write: %s", log)
	}
}

func TestWhatIsMeantForTheBot(t *testing.T) {
	h := start(t, nil)
	name := "@" + botName
	cases := []struct{ message, want string }{ // want "": it is not for the bot
		{group(1, `"text":"hello all"`), ""},
		{group(2, `"text":"/weather"`), ""},
		{group(3, `"text":"/help@other_bot"`), ""},
		{group(4, `"text":"/help@`+botName+`"`), ",help"},
		{group(5, `"text":"/tape_info@`+botName+` x"`), ",tape.info x"},
		{group(6, `"text":"/ask@`+botName+` what?"`), "/ask what?"},
		{group(7, `"text":"😀 hello `+name+`","entities":[{"type":"mention","offset":9,"length":14}]`), "😀 hello " + name},
		{group(8, `"text":"`+strings.ToUpper(name)+`, do it","entities":[{"type":"mention","offset":0,"length":14}]`), "do it"},
		{group(9, `"text":"`+name+` ,tape.info","entities":[{"type":"mention","offset":0,"length":14}]`), ",tape.info"},
		{group(10, `"text":"`+name+`x","entities":[{"type":"mention","offset":0,"length":15}]`), ""},
		{group(11, `"text":"you there","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":4242}}]`), "you there"},
		{group(12, `"text":"and then?","reply_to_message":{"message_id":3,"from":{"id":4242},"text":"so"}`), "and then?"},
		{group(13, `"text":"no","reply_to_message":{"message_id":3,"from":{"id":8},"text":"so"}`), ""},
		{group(14, `"text":"topic","reply_to_message":{"message_id":3,"from":{"id":4242},"forum_topic_created":{}}`), ""},
		{group(15, `"text":"`+name+` in a topic","is_topic_message":true,"message_thread_id":33,"entities":[{"type":"mention","offset":0,"length":14}]`), "in a topic"},
		{private(16, `"text":"/start"`), ",help"},
		{private(17, `"text":"/unknown thing"`), "/unknown thing"},
		{private(18, `"text":"/stop"`), ",stop"},
	}
	var want []string
	for _, c := range cases {
		h.server.Push(c.message)
		if c.want != "" {
			want = append(want, c.want)
		}
	}
	got := h.received(len(want))
	for i, m := range got {
		if m.Text("content") != want[i] {
			t.Errorf("content %q, want %q", m.Text("content"), want[i])
		}
		if command := strings.HasPrefix(want[i], ","); command != (m.Text("kind") == "command") {
			t.Errorf("%q is of kind %s, want command %v", want[i], m.Text("kind"), command)
		}
	}
	topic := got[len(got)-4]
	if topic.Text("session_id") != "telegram:-100_33" || topic.Text("chat_id") != "-100_33" || topic.Text("message_id") != "telegram:-100:15" {
		t.Errorf("message in a topic: %v", topic)
	}
	if err := h.c.Send(t.Context(), hooks.Envelope{"chat_id": "-100_33", "content": "yes"}); err != nil {
		t.Fatal(err)
	}
	if s := h.server.Sent()[0]; s.Thread != 33 || s.Chat != -100 {
		t.Errorf("sent %+v, want it in topic 33 of chat -100", s)
	}
}

// Only what the sender has typed at the beginning of a message is a command, and nothing else becomes a part of it
// (https://github.com/link-assistant/hive-mind/pull/1923: a forwarded command ran again).
func TestWhatIsTyped(t *testing.T) {
	h := start(t, nil)
	h.server.File("p", []byte("x"))
	const eve = `"forward_origin":{"type":"user","sender_user":{"id":9,"first_name":"Eve","username":"eve"}}`
	doc := `"document":{"file_id":"p","file_size":1,"file_name":",rm -rf ~\n,rm"}`
	cases := []struct{ message, want, reply string }{
		{private(1, `"text":",rm x",`+eve), "[forwarded from Eve @eve]\n,rm x", ""},
		{private(2, `"text":"/stop",`+eve), "[forwarded from Eve @eve]\n/stop", ""},
		{private(3, `"text":",rm x","forward_origin":{"type":"hidden_user","sender_user_name":"E\nve"}`), "[forwarded from E ve]\n,rm x", ""},
		{private(4, `"text":",rm x","forward_origin":{"type":"channel","chat":{"id":-2,"title":"News"},"author_signature":"Eve"}`), "[forwarded from News (Eve)]\n,rm x", ""},
		{private(5, `"text":",rm x","forward_date":1700000000`), "[forwarded from somebody]\n,rm x", ""},
		{private(6, `"text":",rm x","via_bot":{"id":3,"is_bot":true,"first_name":"Gif","username":"gif"}`), "[made by the bot Gif @gif]\n,rm x", ""},
		{private(7, doc+`,"caption":",rm x",`+eve), "[forwarded from Eve @eve]\n,rm x\n[document ,rm -rf ~\n,rm]", ""},
		{private(8, doc), "[document ,rm -rf ~\n,rm]", ""},
		{private(9, doc+`,"caption":",tape.info"`), ",tape.info", ""},
		{private(10, `"text":",tape.info","reply_to_message":{"message_id":1,"from":{"id":9,"first_name":"Eve"},`+doc+`}`), ",tape.info", ""},
		{private(11, `"text":",rm x","entities":[{"type":"blockquote","offset":0,"length":5}]`), "> ,rm x", ""},
		{private(12, `"text":"what?","reply_to_message":{"message_id":1,"from":{"id":9,"first_name":"Eve"},"poll":{"question":"Q","options":[{"text":"A","voter_count":2}]}}`), "what?", "[poll Q: A (2)]"},
		{private(13, `"text":"and?","quote":{"text":"part"},"reply_to_message":{"message_id":1,"from":{"id":9,"first_name":"Eve"},"text":"all of the part"}`), "and?", "part"},
		{private(14, `"text":"and?","external_reply":{"origin":{"type":"hidden_user","sender_user_name":"Eve"},"location":{"latitude":1,"longitude":2}}`), "and?", "[location 1, 2]"},
		{private(15, `"location":{"latitude":1.5,"longitude":2.5}`), "[location 1.5, 2.5]", ""},
		{private(16, `"venue":{"location":{"latitude":1.5,"longitude":2.5},"title":"Café","address":"Street 1"},"location":{"latitude":1.5,"longitude":2.5}`), "[venue Café, Street 1, 1.5, 2.5]", ""},
		{private(17, `"contact":{"phone_number":"+1","first_name":",rm\n,rm"}`), "[contact ,rm ,rm, +1]", ""},
		{private(18, `"poll":{"question":"Lunch?","options":[{"text":"Pizza","voter_count":1},{"text":"Soup","voter_count":0}]},`+eve), "[forwarded from Eve @eve]\n[poll Lunch?: Pizza (1); Soup (0)]", ""},
		{private(19, `"dice":{"emoji":"🎲","value":4}`), "[dice 🎲 4]", ""},
		{private(120, `"game":{"title":"Chess"}`), "[game Chess]", ""},
		{private(121, `"paid_media":{"star_count":5}`), "[paid media]", ""},
		{private(20, `"checklist":{"title":"To do","tasks":[{"id":1,"text":"a","completion_date":5},{"id":2,"text":"b"}]}`), "[checklist To do: a (done); b (open)]", ""},
	}
	for _, c := range cases {
		h.server.Push(c.message)
	}
	for i, m := range h.received(len(cases)) {
		if got := m.Text("content"); got != cases[i].want {
			t.Errorf("content %q, want %q", got, cases[i].want)
		}
		if command := strings.HasPrefix(cases[i].want, ","); command != (m.Text("kind") == "command") {
			t.Errorf("%q is of kind %s, want command %v", cases[i].want, m.Text("kind"), command)
		}
		about := m["context"].(map[string]any)
		if reply, _ := about["reply_to"].(string); reply != cases[i].reply || reply != "" && !strings.HasPrefix(about["reply_to_sender"].(string), "Eve") {
			t.Errorf("%q answers %q of %v, want %q of Eve", cases[i].want, reply, about["reply_to_sender"], cases[i].reply)
		}
	}
}

// In an album, one picture has the text, and all are meant for the bot if that one is.
func TestAlbum(t *testing.T) {
	h := start(t, nil)
	h.server.File("p", []byte("picture"))
	album := `"media_group_id":"a","photo":[{"file_id":"p","file_size":7}]`
	h.server.Push(group(1, album+`,"caption":"@`+botName+` what are these?","caption_entities":[{"type":"mention","offset":0,"length":14}]`))
	h.server.Push(group(2, album))
	h.server.Push(group(3, `"media_group_id":"b","photo":[{"file_id":"p","file_size":7}]`))
	if got := h.received(2); got[0].Text("content") != "what are these?\n[photo]" || got[1].Text("message_id") != "telegram:-100:2" {
		t.Errorf("received %v, want both pictures of the album", got)
	}
}

func TestEdited(t *testing.T) {
	h := start(t, nil)
	h.server.Push(private(1, `"text":"helo"`))
	h.server.Push(strings.Replace(private(1, `"text":"hello","edit_date":1700000009`), `"message"`, `"edited_message"`, 1))
	m := h.received(2)[1]
	if m["edited"] != true || m.Text("message_id") != "telegram:7:1" || m.Text("content") != "hello" {
		t.Errorf("edited message: %v", m)
	}
}

// A message that the host could not store comes again, before the next one.
func TestHandlerFails(t *testing.T) {
	h := start(t, nil)
	h.mu.Lock()
	h.fail = 3
	h.mu.Unlock()
	h.server.Push(private(1, `"text":"one"`))
	h.server.Push(private(2, `"text":"two"`))
	if got := h.received(2); got[0].Text("content") != "one" {
		t.Errorf("received %v, want message one first", got)
	}
	if !strings.Contains(h.log.String(), "the disk is full") {
		t.Errorf("the error of the host is not in the log: %s", h.log)
	}
}

func TestOffsetSurvivesARestart(t *testing.T) {
	h := start(t, nil)
	h.server.Push(private(1, `"text":"one"`))
	h.received(1)
	h.end()
	// The next program continues after this message, even if Telegram has chosen smaller numbers.
	h.server.Renumber(50)
	h.server.Push(private(2, `"text":"two"`))
	h.begin(h.c.o)
	h.received(2)
	st, err := os.Stat(h.c.stateFile())
	if err != nil || st.Mode().Perm() != 0o600 || strings.Contains(st.Name(), "SECRET") {
		t.Errorf("the file of the offset: %v, %v, want mode 0600 and no secret in its name", st, err)
	}
	h.end()
	if err := os.WriteFile(h.c.stateFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), h.c.stateFile()) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestTokens(t *testing.T) {
	s := newBotServer(t)
	for _, token := range []string{"x", "1:", ":a", "1:a/../b", "1:a\n", botToken + "?"} {
		o := options(s, t.TempDir())
		o.Token = token
		if _, err := New(o, nil); err == nil || strings.Contains(err.Error(), token+" ") || !strings.Contains(err.Error(), "BotFather") {
			t.Errorf("token %q: %v, want an error that names BotFather and not the token", token, err)
		}
	}
	o := options(s, t.TempDir())
	o.Token = "1:wrong"
	c, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "Unauthorized") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token: %v", err)
	}
	if channels, err := Plugin(Options{}).ProvideChannels(t.Context(), nil); err != nil || channels != nil {
		t.Errorf("without a token: %v %v", channels, err)
	}
}

func TestSettings(t *testing.T) {
	env := map[string]string{}
	getenv := func(key string) string { return env[key] }
	o, err := Settings([]byte(`{"allow_users":["1","@a"],"allow_chats":["-2"],"base_url":"http://localhost:8081"}`), getenv, map[string]string{"telegram": "1:kept"})
	if err != nil || o.Token != "1:kept" || len(o.AllowUsers) != 2 || len(o.AllowChats) != 1 || o.BaseURL != "http://localhost:8081" {
		t.Errorf("all settings: %+v, %v", o, err)
	}
	env["TAPE_TELEGRAM_TOKEN"] = "1:environment"
	if o, err := Settings(nil, getenv, map[string]string{"telegram": "1:kept"}); err != nil || o.Token != "1:environment" {
		t.Errorf("the token of the environment: %+v, %v", o, err)
	}
	for _, raw := range []string{`{"users":["1"]}`, `{"token":"1:x"}`, `{"Token":"1:x"}`, `{"allow_users":[1]}`, `[]`, `{"base_url":"localhost"}`} {
		if _, err := Settings([]byte(raw), getenv, nil); err == nil || !strings.Contains(err.Error(), "setting telegram") {
			t.Errorf("%s: %v, want an error that names the setting", raw, err)
		}
	}
}
