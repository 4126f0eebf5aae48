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

// Who says something.
const (
	client = "client"
	agent  = "agent"
)

// maxLine is the longest line that is kept: with what is added to it, it fits into an entry.
const maxLine = jsonl.DefaultMaxLine - 8<<10

// keeper writes what is said into the sessions' files, in its own time.
type keeper struct {
	o      Options
	heard  chan heard
	over   chan struct{} // nothing more is to be kept
	ended  chan struct{} // and all that was heard is
	common [][]byte      // lines of no session, such as the initialization: each file begins with them
	asked  map[string]question
	open   map[string]*session // by their ids
	last   *session
	failed error
}

type heard struct {
	from string
	line []byte
	long int // how long a line was that is too long
	at   time.Time
}

// question is a request that waits for its response.
type question struct {
	method, session, cwd string
	line                 []byte // where the session is not known yet
}

type session struct {
	id, cwd string
	f       *os.File
}

// waiting is how many lines may wait for the disk.
const waiting = 4096

func keep(o Options) *keeper {
	k := &keeper{o: o, heard: make(chan heard, waiting), over: make(chan struct{}), ended: make(chan struct{}),
		asked: map[string]question{}, open: map[string]*session{}}
	go k.run()
	return k
}

func (k *keeper) hear(from string, line []byte, long int) {
	select {
	case k.heard <- heard{from, line, long, k.o.Now()}:
	case <-k.over:
	}
}

func (k *keeper) run() {
	defer close(k.ended)
	for {
		select {
		case h := <-k.heard:
			k.take(h)
		case <-k.over:
			for len(k.heard) > 0 {
				k.take(<-k.heard)
			}
			return
		}
	}
}

// end waits until all is kept, and returns the first error.
func (k *keeper) end() error {
	close(k.over)
	<-k.ended
	for _, s := range k.open {
		k.tell("SessionEnd", s)
		k.fail(s.f.Close())
	}
	return k.failed
}

func (k *keeper) fail(err error) {
	if k.failed == nil {
		k.failed = err
	}
}

// peers are those who are asked.
var peers = map[string]string{client: agent, agent: client}

// take finds out which session a line is of, and writes it there.
func (k *keeper) take(h heard) {
	line := bytes.TrimSpace(h.line)
	if len(line) == 0 && h.long == 0 {
		return
	}
	if jsonl.Valid(line) != nil || !jsonl.IsObject(line) {
		k.write(k.last, said(h, "text", jsonl.AppendString(nil, text(h))))
		return
	}
	method, id, params := jsonl.GetString(line, "method"), string(jsonl.Get(line, "id")), jsonl.Get(line, "params")
	q := question{method: method, session: jsonl.GetString(params, "sessionId"), cwd: jsonl.GetString(params, "cwd")}
	wrapped := said(h, "acp", line)
	switch {
	case method != "" && id == "":
		k.write(k.session(q), wrapped)
	case method != "":
		if q.session == "" {
			q.line = wrapped
		} else {
			k.write(k.session(q), wrapped)
		}
		k.asked[h.from+id] = q
	default:
		q = k.asked[peers[h.from]+id]
		delete(k.asked, peers[h.from]+id)
		if q.session == "" {
			q.session = jsonl.GetString(jsonl.Get(line, "result"), "sessionId")
		}
		s := k.session(q)
		if q.session == "" {
			s = nil
		}
		if q.line != nil {
			k.write(s, q.line)
		}
		k.write(s, wrapped)
		if q.method == "session/prompt" {
			k.tell("Stop", s)
		}
	}
}

func text(h heard) string {
	if h.long > 0 {
		return fmt.Sprintf("a line of %d bytes, which is too long", h.long)
	}
	return strings.TrimRight(string(h.line), "\r\n")
}

// said is a line of a session's file.
func said(h heard, name string, value []byte) []byte {
	b := fmt.Appendf(nil, `{"at":%q,"from":%q,%q:`, h.at.UTC().Format(time.RFC3339Nano), h.from, name)
	return append(append(b, value...), '}', '\n')
}

// session returns the session that a question is of, or the last one.
func (k *keeper) session(q question) *session {
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
		k.tell("SessionStart", s)
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
	if err == nil && last[0] != '\n' { // whoever wrote it was killed
		_, err = f.WriteString("\n")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// fileName is the session's id where that is a good name, for ids come from outside.
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

// write adds a line to a session's file; without a session, it is for all that come.
func (k *keeper) write(s *session, line []byte) {
	const enough = 64
	if s != nil {
		_, err := s.f.Write(line)
		k.fail(err)
	} else if len(k.common) < enough {
		k.common = append(k.common, line)
	}
}

// tell says what is new in a session, once it will stay.
func (k *keeper) tell(name string, s *session) {
	if s == nil {
		return
	}
	err := s.f.Sync()
	if err == nil {
		err = k.o.Note(Event{Name: name, Session: s.id, File: s.f.Name(), Cwd: s.cwd})
	}
	k.fail(err)
}
