package telegram

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// The token, name and id of the server's bot.
const (
	botToken = "4242:AAtelegramtest-SECRET_0123456789"
	botName  = "tape_test_bot"
	botID    = 4242
)

// sentMessage is a message from the bot.
type sentMessage struct {
	Method   string
	Chat     int64
	Thread   int64
	Text     string
	Entities []botEntity
	File     string // name
	Data     []byte
	At       time.Time
}

// botEntity is a formatted part of a text. Its offset and length count UTF-16 code units.
type botEntity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	Language string `json:"language"`
}

// botFault is the answer to a call that fails. Without Code, the server closes the connection. With Done, it
// executes the call first.
type botFault struct {
	Code        int
	Description string
	RetryAfter  int
	MigrateTo   int64
	Body        string // replaces the JSON
	Done        bool
}

// botServer behaves like Telegram's Bot API, as far as the channel relies on it: updates and their offsets,
// competing polls, limits and errors, files. The texts of errors are those of the real server
// (github.com/tdlib/telegram-bot-api).
type botServer struct {
	URL string

	mu      sync.Mutex
	unit    time.Duration // a second of long polling
	next    int64         // the number of the next update
	updates []queuedUpdate
	polling chan struct{} // closed to end the waiting poll
	arrived chan struct{} // closed when an update comes
	chats   map[int64]bool
	files   map[string][]byte
	faults  map[string][]botFault
	sent    []sentMessage
	calls   map[string]int
	offset  int64     // of the last poll
	polled  time.Time // when it came
}

type queuedUpdate struct {
	id  int64
	raw json.RawMessage
}

// newBotServer starts a server, which ends with the test. The first update has the number 1000.
func newBotServer(t testing.TB) *botServer {
	s := &botServer{
		unit: time.Millisecond, next: 1000, arrived: make(chan struct{}), chats: map[int64]bool{}, files: map[string][]byte{},
		faults: map[string][]botFault{}, calls: map[string]int{},
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Slow sets how long a second of long polling takes; the default is a millisecond.
func (s *botServer) Slow(unit time.Duration) { s.do(func() { s.unit = unit }) }

// Push queues an update, for example {"message": {…}}, and returns its number. Its chats become known.
func (s *botServer) Push(update string) int64 {
	var known struct {
		Message, Edited struct {
			Chat struct{ ID int64 }
		}
	}
	_ = json.Unmarshal([]byte(update), &known)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next
	s.next++
	s.chats[known.Message.Chat.ID] = true
	rest := strings.TrimPrefix(strings.TrimSpace(update), "{")
	s.updates = append(s.updates, queuedUpdate{id, json.RawMessage(fmt.Sprintf(`{"update_id":%d,%s`, id, rest))})
	close(s.arrived)
	s.arrived = make(chan struct{})
	return id
}

// Renumber sets the number of the next update, as after a week without updates.
func (s *botServer) Renumber(next int64) { s.do(func() { s.next = next }) }

// Know makes a chat known, so that the bot may send to it.
func (s *botServer) Know(chat int64) { s.do(func() { s.chats[chat] = true }) }

// File adds a file that can be fetched.
func (s *botServer) File(id string, data []byte) { s.do(func() { s.files[id] = data }) }

// Fail makes the next calls of a method fail, each with its fault.
func (s *botServer) Fail(method string, faults ...botFault) {
	s.do(func() { s.faults[method] = append(s.faults[method], faults...) })
}

// Sent returns the messages, photos and documents that were sent.
func (s *botServer) Sent() (out []sentMessage) {
	s.do(func() { out = append(out, s.sent...) })
	return out
}

// Calls returns how often a method was called.
func (s *botServer) Calls(method string) (n int) {
	s.do(func() { n = s.calls[method] })
	return n
}

// Waiting returns how many updates are not confirmed.
func (s *botServer) Waiting() (n int) {
	s.do(func() { n = len(s.updates) })
	return n
}

func (s *botServer) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// ServeHTTP answers a call.
func (s *botServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+botToken+"/"); ok {
		s.download(w, strings.TrimPrefix(path, "files/"))
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+botToken+"/")
	if !ok {
		answer(w, botFault{Code: 401, Description: "Unauthorized"})
		return
	}
	args, f, data, err := arguments(r)
	if err != nil {
		answer(w, botFault{Code: 400, Description: "Bad Request: " + err.Error()})
		return
	}
	fault, failing := s.fault(method)
	if failing && !fault.Done {
		answer(w, fault)
		return
	}
	result, refused := s.call(r, method, args, f, data)
	switch {
	case failing:
		answer(w, fault)
	case refused != nil:
		answer(w, *refused)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
	}
}

func (s *botServer) fault(method string) (f botFault, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	list := s.faults[method]
	if len(list) == 0 {
		return f, false
	}
	s.faults[method] = list[1:]
	return list[0], true
}

func answer(w http.ResponseWriter, f botFault) {
	if f.Code == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(f.Code)
	if f.Body != "" {
		_, _ = io.WriteString(w, f.Body)
		return
	}
	out := map[string]any{"ok": false, "error_code": f.Code, "description": f.Description}
	if f.RetryAfter != 0 {
		out["parameters"] = map[string]any{"retry_after": f.RetryAfter}
	}
	if f.MigrateTo != 0 {
		out["parameters"] = map[string]any{"migrate_to_chat_id": f.MigrateTo}
	}
	_ = json.NewEncoder(w).Encode(out)
}

type args struct {
	Offset   int64       `json:"offset"`
	Timeout  int64       `json:"timeout"`
	Chat     int64       `json:"chat_id"`
	Thread   int64       `json:"message_thread_id"`
	Text     string      `json:"text"`
	Entities []botEntity `json:"entities"`
	File     string      `json:"file_id"`
	Action   string      `json:"action"`
}

// arguments reads the arguments of a call: JSON, or a form with a file.
func arguments(r *http.Request) (a args, name string, data []byte, err error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		err = json.NewDecoder(r.Body).Decode(&a)
		return a, "", nil, err
	}
	if err = r.ParseMultipartForm(32 << 20); err != nil {
		return a, "", nil, err
	}
	_, _ = fmt.Sscan(r.FormValue("chat_id"), &a.Chat)
	_, _ = fmt.Sscan(r.FormValue("message_thread_id"), &a.Thread)
	for _, field := range []string{"photo", "document"} {
		f, head, err := r.FormFile(field)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(f)
		return a, head.Filename, data, err
	}
	return a, "", nil, fmt.Errorf("there is no photo in the request")
}

func (s *botServer) call(r *http.Request, method string, a args, name string, data []byte) (any, *botFault) {
	switch method {
	case "getMe":
		return map[string]any{"id": botID, "is_bot": true, "first_name": "Tape", "username": botName}, nil
	case "getUpdates":
		return s.poll(r, a)
	case "getFile":
		return s.place(a.File)
	case "sendChatAction", "sendMessage", "sendPhoto", "sendDocument":
		return s.send(method, a, name, data)
	}
	return nil, &botFault{Code: 404, Description: "Not Found: method not found"}
}

func (s *botServer) send(method string, a args, name string, data []byte) (any, *botFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.chats[a.Chat] {
		return nil, &botFault{Code: 400, Description: "Bad Request: chat not found"}
	}
	if method == "sendChatAction" {
		return true, nil
	}
	n := len(utf16.Encode([]rune(a.Text)))
	switch {
	case method == "sendMessage" && strings.TrimSpace(a.Text) == "":
		return nil, &botFault{Code: 400, Description: "Bad Request: message text is empty"}
	case n > 4096:
		return nil, &botFault{Code: 400, Description: "Bad Request: message is too long"}
	}
	for _, e := range a.Entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > n {
			return nil, &botFault{Code: 400, Description: "Bad Request: ENTITY_BOUNDS_INVALID"}
		}
	}
	s.sent = append(s.sent, sentMessage{method, a.Chat, a.Thread, a.Text, a.Entities, name, data, time.Now()})
	return map[string]any{"message_id": len(s.sent), "chat": map[string]any{"id": a.Chat}}, nil
}

func (s *botServer) place(id string) (any, *botFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[id]
	switch {
	case !ok:
		return nil, &botFault{Code: 400, Description: "Bad Request: invalid file_id"}
	case len(data) > 20<<20:
		return nil, &botFault{Code: 400, Description: "Bad Request: file is too big"}
	}
	return map[string]any{"file_id": id, "file_size": len(data), "file_path": "files/" + id}, nil
}

func (s *botServer) download(w http.ResponseWriter, id string) {
	fault, failing := s.fault("download")
	s.mu.Lock()
	data, ok := s.files[id]
	s.mu.Unlock()
	switch {
	case failing:
		answer(w, fault)
	case !ok:
		http.NotFound(w, nil)
	default:
		_, _ = w.Write(data)
	}
}
