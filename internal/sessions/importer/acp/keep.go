package acp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/text/jsonl"
)

// The senders of messages.
const (
	client = "client"
	agent  = "agent"
)

// maxLine is the length in bytes of the longest line that is recorded. An entry has room for it and for what is added to
// it. Of a longer line, only the length is recorded.
const maxLine = jsonl.DefaultMaxLine - 8<<10

// keeper writes messages into the sessions' files, in a goroutine of its own.
type keeper struct {
	o      Options
	lines  chan line
	over   chan struct{}         // closed when no more lines come
	ended  chan struct{}         // closed when all lines are written
	common [][]byte              // lines of no session, such as the initialization: each new file begins with them
	asked  map[string]unanswered // without a response, by the sender and the id
	open   map[string]*session   // by id
	last   *session
	failed error
}

type line struct {
	from string
	text []byte
	long int // bytes of a line that is too long, otherwise 0
	at   time.Time
}

// unanswered is a request without a response yet.
type unanswered struct {
	method, session, cwd string
	line                 []byte // if the session is not known yet
}

type session struct {
	id, cwd string
	f       *os.File
}

// maxWaiting is how many lines may wait to be written. When there are more, the streams wait.
const maxWaiting = 4096

func newKeeper(o Options) *keeper {
	k := &keeper{o: o, lines: make(chan line, maxWaiting), over: make(chan struct{}), ended: make(chan struct{}),
		asked: map[string]unanswered{}, open: map[string]*session{}}
	go k.run()
	return k
}

func (k *keeper) add(from string, text []byte, long int) {
	select {
	case k.lines <- line{from, text, long, k.o.Now()}:
	case <-k.over:
	}
}

func (k *keeper) run() {
	defer close(k.ended)
	for {
		select {
		case l := <-k.lines:
			k.handle(l)
		case <-k.over:
			for len(k.lines) > 0 {
				k.handle(<-k.lines)
			}
			return
		}
	}
}

// end waits until everything is written, ends the sessions, and returns the first error.
func (k *keeper) end() error {
	close(k.over)
	<-k.ended
	for _, s := range k.open {
		k.notify("SessionEnd", s)
		k.fail(s.f.Close())
	}
	return k.failed
}

func (k *keeper) fail(err error) {
	k.failed = cmp.Or(k.failed, err)
}

// handle writes a line to the file of the session that it belongs to.
func (k *keeper) handle(l line) {
	msg := bytes.TrimSpace(l.text)
	if len(msg) == 0 && l.long == 0 {
		return
	}
	if jsonl.Valid(msg) != nil || !jsonl.IsObject(msg) {
		k.write(k.last, l.wrap("text", jsonl.AppendString(nil, l.String())))
		return
	}
	method, id, params := jsonl.GetString(msg, "method"), string(jsonl.Get(msg, "id")), jsonl.Get(msg, "params")
	q := unanswered{method: method, session: jsonl.GetString(params, "sessionId"), cwd: jsonl.GetString(params, "cwd")}
	wrapped := l.wrap("acp", msg)
	switch {
	case method != "" && id == "":
		k.write(k.session(q), wrapped)
	case method != "":
		if q.session == "" {
			q.line = wrapped
		} else {
			k.write(k.session(q), wrapped)
		}
		k.asked[l.from+id] = q
	default:
		q = k.asked[peers[l.from]+id]
		delete(k.asked, peers[l.from]+id)
		q.session = cmp.Or(q.session, jsonl.GetString(msg, "result", "sessionId"))
		s := k.session(q)
		if q.session == "" {
			s = nil
		}
		if q.line != nil {
			k.write(s, q.line)
		}
		k.write(s, wrapped)
		if q.method == "session/prompt" {
			k.notify("Stop", s)
		}
	}
}

func (l line) String() string {
	if l.long > 0 {
		return fmt.Sprintf("a line of %d bytes, which is too long", l.long)
	}
	return strings.TrimRight(string(l.text), "\r\n")
}

// wrap returns a message as a line of a session's file.
func (l line) wrap(name string, value []byte) []byte {
	b := fmt.Appendf(nil, `{"at":%q,"from":%q,%q:`, l.at.UTC().Format(time.RFC3339Nano), l.from, name)
	return append(append(b, value...), '}', '\n')
}

// session returns the session that a request names, or the last one if it names none. A new session gets its file. It
// returns nil if there is no last one, or if the file cannot be created.
func (k *keeper) session(q unanswered) *session {
	if q.session == "" {
		return k.last
	}
	s := k.open[q.session]
	if s == nil {
		s = &session{id: q.session, cwd: q.cwd}
		if err := k.create(s); err != nil {
			k.fail(err)
			return nil
		}
		k.open[q.session] = s
		for _, line := range k.common {
			k.write(s, line)
		}
		k.notify("SessionStart", s)
	}
	s.cwd = cmp.Or(s.cwd, q.cwd)
	k.last = s
	return s
}

func (k *keeper) create(s *session) error {
	if err := os.MkdirAll(k.o.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(k.o.Dir, fileName(s.id)), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.f = f
	end, err := f.Seek(0, io.SeekEnd)
	last := []byte{'\n'}
	if err == nil && end > 0 {
		_, err = f.ReadAt(last, end-1)
	}
	if err == nil && last[0] != '\n' { // tape was killed while it wrote
		_, err = f.WriteString("\n")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// fileName returns the name of a session's file: ID.jsonl, with a hash in place of an id that is not safe as a name. Ids
// come from outside.
func fileName(id string) string {
	plain := func(r rune) rune {
		if strings.ContainsRune("-_", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}
	if len(id) > 100 || strings.Map(plain, id) != id {
		id = fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	}
	return id + ".jsonl"
}

// write adds a line to a session's file. Without a session, the line is written at the beginning of
// every new file; only the first 64 such lines are kept.
func (k *keeper) write(s *session, line []byte) {
	const maxCommon = 64
	if s != nil {
		_, err := s.f.Write(line)
		k.fail(err)
	} else if len(k.common) < maxCommon {
		k.common = append(k.common, line)
	}
}

// notify reports an event of a session once the session's lines are on the disk.
func (k *keeper) notify(name string, s *session) {
	if s == nil {
		return
	}
	err := s.f.Sync()
	if err == nil {
		err = k.o.Note(Event{Name: name, Session: s.id, File: s.f.Name(), Cwd: s.cwd})
	}
	k.fail(err)
}
