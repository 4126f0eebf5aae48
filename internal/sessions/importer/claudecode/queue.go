package claudecode

import (
	"maps"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// What a person types while the model works waits in a queue. The line of type attachment, with a queued_command, says
// that the model got it before its next step (kenn-io/agentsview#406). Some versions wrote only that the prompt was
// removed from the queue (simonw/claude-code-transcripts#98). A prompt that is dequeued becomes a turn with a user line
// of its own, and one that is popped went back to the person.

// queue finds the prompts that the model got while it worked.
type queue struct {
	waiting []waiting         // in the queue
	removed map[int32]waiting // by the line that says it was removed: the prompt
	shown   []waiting         // the prompts that attachments have
	step    int               // how many lines of answers there are so far
	unknown bool              // a prompt was removed that no line before has
	latest  map[uint64]int32  // by its hash, the line that says that a prompt was removed, since the last answer
}

// waiting is a prompt in the queue.
type waiting struct {
	hash uint64
	rec  int32 // the line that has its text
	note bool  // a program put it there
	step int   // the model's, in which it left the queue
}

// noteQueue notes what a line says about the queue.
func (c *scan) noteQueue(r *rec, l *line, i int32) {
	switch {
	case l.typ == "attachment" && !l.meta && isTyped(l.attachment):
		r.kind = kindUser
		r.flags |= flagQueued
		c.shown = append(c.shown, waiting{hash: c.hashSaid(jsonl.Get(l.attachment, "prompt")), step: c.step})
	case r.kind == kindAssistant:
		clear(c.latest)
		c.step++
	case r.is(flagPrompt) && r.tape == c.home: // the prompt got a line of its own after all
		h := c.hashSaid(first(l.message, "content"))
		if i, ok := c.latest[h]; ok {
			delete(c.removed, i)
			delete(c.latest, h)
		}
	case l.typ == "queue-operation":
		c.operate(jsonl.GetString(l.raw, "operation"), l.get("content"), i)
	}
}

func (c *scan) operate(operation string, content []byte, i int32) {
	w := waiting{rec: i}
	if len(content) > 2 {
		w.hash, w.note = c.hashSaid(content), !isPrompt(content) || isTask(content)
	}
	if operation == "enqueue" {
		c.waiting = append(c.waiting, w)
		return
	}
	at := slices.IndexFunc(c.waiting, func(o waiting) bool { return w.hash == 0 || o.hash == w.hash })
	if at >= 0 {
		w = c.waiting[at]
		c.waiting = slices.Delete(c.waiting, at, at+1)
	}
	if operation != "remove" {
		return
	}
	if w.hash == 0 {
		c.unknown = true
	} else if !w.note {
		w.step = c.step
		c.removed[i], c.latest[w.hash] = w, i
	}
}

// isTask reports whether what waits is the note with which versions 2.1.4x began a task in the background.
func isTask(content []byte) bool {
	task := record.Inside(content)
	return jsonl.IsObject(task) && record.MembersOf(task).Has("task_id", "task_type")
}

// hashSaid returns a hash of what a prompt says. The queue has its text, an attachment may have the same text in a list,
// with the pictures.
func (c *scan) hashSaid(content []byte) uint64 {
	var texts []string
	for block := range jsonl.Elements(content) {
		if text := jsonl.GetString(block, "text"); text != "" {
			texts = append(texts, text)
		}
	}
	if content[0] == '"' {
		texts = []string{record.Text(content)}
	}
	return c.hash([]byte(strings.TrimSpace(strings.Join(texts, "\n"))))
}

// settleQueue marks the lines that say that a prompt was removed, unless an attachment shows the prompt: one with the same
// text, else another one of the same step of the model, such as one in which the person's pasted text was put in.
func (c *scan) settleQueue() {
	for _, same := range []func(a, b waiting) bool{
		func(a, b waiting) bool { return a.hash == b.hash },
		func(a, b waiting) bool { return a.step == b.step },
	} {
		for _, i := range slices.Sorted(maps.Keys(c.removed)) {
			if at := slices.IndexFunc(c.shown, func(w waiting) bool { return same(w, c.removed[i]) }); at >= 0 {
				c.shown = slices.Delete(c.shown, at, at+1)
				delete(c.removed, i)
			}
		}
	}
	for i := range c.removed {
		c.recs[i].flags |= flagQueued
	}
}

// isTyped reports whether an attachment is a prompt that a person typed while the model worked: not a notice of a
// program, nor a command for a shell.
func isTyped(attachment []byte) bool {
	if jsonl.GetString(attachment, "type") != "queued_command" || string(jsonl.Get(attachment, "isMeta")) == "true" {
		return false
	}
	if mode := jsonl.GetString(attachment, "commandMode"); mode != "" && mode != "prompt" {
		return false
	}
	if kind := jsonl.GetString(attachment, "origin", "kind"); kind != "" && kind != "human" {
		return false
	}
	prompt := jsonl.Get(attachment, "prompt")
	return len(prompt) > 2 && isPrompt(prompt)
}

// queued emits the message of a prompt that was typed while the model worked.
func (c *reader) queued(s *source) {
	if s.attachment != nil {
		payload := record.NewObject(len(s.attachment)).Str("role", "user").Raw("content", jsonl.Get(s.attachment, "prompt")).Done()
		extra := record.With(s.rest("attachment"), "queued", record.NewObject(64).Rest(s.attachment, "type", "prompt").OrNil())
		c.userMessage(s, []string{s.key}, record.Entry{Payload: payload, Extra: extra})
		return
	}
	c.other(s)
	said := jsonl.Get(c.parsed(c.removed[s.i].rec).raw, "content")
	c.userMessage(s, []string{s.key + "/prompt"}, record.Entry{Payload: record.Message("", "", "user", said).Payload})
}
