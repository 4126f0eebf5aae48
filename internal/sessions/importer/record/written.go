package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Writer says how a session is written so that the program goes on with it.
type Writer struct {
	// NewID makes the id of a new session from 32 random bytes; nil: a UUID.
	NewID func(now time.Time, random [32]byte) string
	// Files returns the files of a session, the transcript as the last one.
	Files func(user Where, s *Session) ([]File, error)
	// Import are the arguments with which the program takes the transcript in, before its path; nil if it
	// finds transcripts by itself.
	Import []string
}

// File is a file of a session.
type File struct {
	Path string
	Data []byte
}

// Session is a conversation to be written.
type Session struct {
	ID       string // as the program names sessions
	Title    string // may be empty
	Dir      string // where the program runs; absolute
	Began    time.Time
	Messages []WrittenMessage // the user's and the model's alternate; the first one is the user's
	ids      int              // how many NewID has returned
	lines    bytes.Buffer
	dates    int // how many Next has returned
}

// WrittenMessage is what the user or the model said in one go. A result follows its call in the next message.
type WrittenMessage struct {
	Model  bool // the model said it, otherwise the user
	Blocks []Block
}

// Block is a part of a message. One of its members is set.
type Block struct {
	Text   string
	Image  *Image
	Call   *Asked
	Result *Answered
}

// Image is a picture that the user showed.
type Image struct{ Media, Base64 string }

// Asked is a call of a tool.
type Asked struct {
	ID, Name string
	Input    []byte // a JSON object
}

// Answered is the result of a call.
type Answered struct {
	ID, Name string // of the call
	Text     string
	Failed   bool
}

// NewID returns an id for a record of the session, different with each call: a UUID.
func (s *Session) NewID() string {
	s.ids++
	return UUID(sha256.Sum256(fmt.Appendf(nil, "%s %d", s.ID, s.ids)))
}

// UUID returns the first 16 bytes as a UUID of version 4.
func UUID(b [32]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// Texts returns the texts of a message.
func (m WrittenMessage) Texts() (out []string) {
	for _, b := range m.Blocks {
		if b.Text != "" {
			out = append(out, b.Text)
		}
	}
	return out
}

// Results returns the results of the calls in message i, by their ids. The next message has them.
func (s *Session) Results(i int) map[string]*Answered {
	out := map[string]*Answered{}
	if i+1 < len(s.Messages) {
		for _, b := range s.Messages[i+1].Blocks {
			if b.Result != nil {
				out[b.Result.ID] = b.Result
			}
		}
	}
	return out
}

// Next returns the next millisecond of the session, for a record.
func (s *Session) Next() time.Time {
	s.dates++
	return s.Began.Add(time.Duration(s.dates) * time.Millisecond)
}

// Stamp returns a date as most programs write it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Line adds a line with a value as JSON.
func (s *Session) Line(v any) { s.lines.Write(append(JSON(v), '\n')) }

// Lines returns all lines.
func (s *Session) Lines() []byte { return s.lines.Bytes() }

// JSON encodes a value that is made of texts, numbers, lists, maps and raw JSON.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // the writer of a format made such a value
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
