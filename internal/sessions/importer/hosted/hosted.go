// Package hosted reads the exports of chats in a browser: [ChatGPT] and [ClaudeAI].
//
// An export is a list of conversations, and a conversation has a tree of messages: when a question is edited, or an answer
// is made again, a branch begins. Neither maker documents its format; both are known from people's exports.
package hosted

import (
	"tape/internal/sessions/importer/record"
)

type reader struct {
	*record.Forked
	record.Once
	counts record.Counter
	calls  map[string]string // the last call, by fork
}

func newReader(r *record.Reading) reader {
	return reader{Forked: record.NewForked(r), calls: map[string]string{}}
}

// begin begins a conversation with what the export says about it.
func (c *reader) begin(key, date string, about *record.Object, title string) {
	clear(c.calls)
	c.In("").Put(record.Event(key, date, "session", about.Done()))
	if title != "" {
		c.later(key+"/title/", date, "tape.title", record.NewObject(64).Str("title", title).Done())
	}
}

// later emits an event about the conversation that is another one in later exports.
func (c *reader) later(key, date, name string, data []byte) {
	c.In("").Put(record.Event(key+c.counts.Key(data), date, name, data))
}

// message is a message of a conversation.
type message struct {
	*reader
	*record.Conversation
	fork, key, date string
	raw             []byte
}
