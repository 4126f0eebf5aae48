// Package aider reads the chat history of Aider.
//
// Aider appends to .aider.chat.history.md in the project's folder, as Markdown: "# aider chat started at DATE" begins a
// chat, lines that begin with "#### " are what a person typed, those with "> " what Aider printed, and the others the
// answers. Aider ends the lines of the first two kinds with two spaces, up to 2024 only those that another one of the kind
// follows, and not empty ones; an answer may have such lines without them. There are no other dates, no ids, and of tokens
// rounded numbers. A file is one session, in which each chat is a phase. Sources:
// append_chat_history and its callers in aider/io.py, split_chat_history_markdown in aider/utils.py and
// calculate_and_show_tokens_and_cost in aider/coders/base_coder.py in Aider-AI/aider; docs/registry/aider.md in
// vshulcz/deja-vu; internal/parser/aider.go in kenn-io/agentsview.
package aider

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	file  = ".aider.chat.history.md"
	begin = "# aider chat started at "
	typed = "####"
	shown = ">"
)

// Format is the format of Aider.
var Format = record.Format{
	Name: "aider", Title: "Aider", Read: Read, Describe: Describe, Text: true,
	Record: func(record.Members) record.Confidence { return record.NoMatch }, // it has no records
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(head[0] != '{' && head[0] != '[' && (bytes.HasPrefix(head, []byte(begin)) || bytes.Contains(head, []byte("\n"+begin))))
	},
	Files: record.Files{Ext: file},
}

type reader struct {
	record.Conversation
	chats  []chat // that are still to come, and first the present one
	date   string
	model  string
	head   bool // what Aider prints before the first prompt
	n      int  // lines of the chat so far
	kind   string
	first  int // line of the block
	lines  []string
	fenced bool
	half   string // a line with tokens, whose cost may be on the next one
}

// Read makes the entries of a file.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, head: true}
	var err error
	if c.chats, err = chatsOf(ctx, r.Source); err != nil {
		return err
	}
	err = eachLine(ctx, r.Source, func(at record.Span, line string, bad error) bool {
		if at.Off+at.Size == r.Size && at.Size > 0 { // without a newline: it may go on
			c.Unfinished(at)
			return false
		}
		if bad != nil {
			c.whole()
			c.put()
			c.Damaged(at, bad.Error())
			return true
		}
		c.line(line)
		return !c.Enough()
	})
	if !r.Open { // otherwise the last block may go on
		c.whole()
		c.put()
	}
	c.End()
	return err
}

// form says how the lines of a chat end that Aider wrote.
type form int

const (
	bare   form = iota // without spaces: a program has removed them
	inside             // with two spaces, if another one follows: so did versions of 2024
	strict             // with two spaces
)

// chat is a chat of a file.
type chat struct {
	key string
	form
}

// chatsOf returns the chats of a file, first what is before the first one.
func chatsOf(ctx context.Context, src record.Source) ([]chat, error) {
	out, is, spaces := []chat{{key: "before"}}, false, false
	var keys record.Counter
	last := func() *form { return &out[len(out)-1].form }
	end := func() { // of what a person typed
		if is && spaces {
			*last() = strict
		}
		is = false
	}
	err := eachLine(ctx, src, func(_ record.Span, line string, bad error) bool {
		if bad != nil {
			return true
		}
		said, ends := strings.HasPrefix(line, typed+" "), strings.HasSuffix(line, "  ")
		if !said {
			end()
		}
		if date, ok := strings.CutPrefix(line, begin); ok {
			out = append(out, chat{key: "chat:" + keys.Key([]byte(date))})
		}
		if ends && (said || strings.HasPrefix(line, shown+" ")) {
			*last() = max(*last(), inside)
		}
		is, spaces = said, ends
		return true
	})
	end()
	return out, err
}

// eachLine calls see with the lines of a file, until see returns false.
func eachLine(ctx context.Context, src record.Source, see func(at record.Span, line string, bad error) bool) error {
	sc := jsonl.NewScanner(io.NewSectionReader(src.R, 0, src.Size), record.MaxRecord)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := sc.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, jsonl.ErrTooLong):
			return err
		}
		text := strings.TrimSuffix(strings.ToValidUTF8(string(line), "\uFFFD"), "\r")
		if !see(record.Span{Off: sc.Offset(), Size: int64(len(line)), Line: sc.Line()}, text, err) {
			return nil
		}
	}
}

// is reports whether a line is one that Aider begins with a mark. In an answer, such a line is a heading or a quotation,
// unless the spaces say that it is Aider's.
func (c *reader) is(line, mark string) bool {
	switch {
	case line != mark && !strings.HasPrefix(line, mark+" "):
		return false
	case strings.HasSuffix(line, "  "):
		return true
	case c.chats[0].form == inside:
		return !c.answers() || mark == shown && !c.fenced
	}
	return c.chats[0].form == bare && !c.fenced
}

// answers reports whether the model has said something since the last line of another kind.
func (c *reader) answers() bool {
	return c.kind == "assistant" && slices.ContainsFunc(c.lines, func(line string) bool { return strings.TrimSpace(line) != "" })
}

// asks reports whether an empty line may be in a prompt: some of 2024 have one after each line. After a command, the next
// prompt may follow.
func (c *reader) asks() bool {
	return c.chats[0].form == inside && c.kind == "user" && !strings.HasPrefix(c.lines[0], "/") && !strings.HasPrefix(c.lines[0], "!")
}

// line takes a line. Tokens and their cost may be on two, of which only the first begins with the mark, and only the second
// ends with spaces.
func (c *reader) line(line string) {
	if c.half != "" && strings.HasPrefix(line, "Cost: $") {
		line, c.half = c.half+" "+strings.TrimRight(line, " ")+"  ", ""
		c.n++
	}
	c.whole()
	if strings.HasPrefix(line, "> Tokens: ") && strings.HasSuffix(line, " received.") && !c.fenced {
		c.half = line
		return
	}
	c.each(line)
}

// whole takes the line that was held back.
func (c *reader) whole() {
	if line := c.half; line != "" {
		c.half = ""
		c.each(line)
	}
}

func (c *reader) each(line string) {
	c.n++
	if date, ok := strings.CutPrefix(line, begin); ok {
		c.put()
		c.chats = c.chats[1:]
		c.date, c.model, c.head, c.n, c.fenced = record.Date(record.Quote(strings.TrimSpace(date))), "", true, 0, false
		c.Stats.Records++
		c.Put(record.Anchor(c.chats[0].key, c.date, "chat", nil))
		return
	}
	if len(c.chats) > 1 && c.Has(c.chats[1].key) { // all of this one was imported, maybe by a version that read it in another way
		return
	}
	kind := "assistant"
	switch {
	case c.is(line, typed):
		kind, c.head, line = "user", false, strings.TrimRight(strings.TrimPrefix(line[len(typed):], " "), " ")
	case c.is(line, shown) || c.head:
		kind, line = "output", strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, shown), " "), " ")
	case line == "" && c.asks():
		kind = "user"
	case strings.HasPrefix(line, "```"):
		c.fenced = !c.fenced
	}
	if kind != "assistant" {
		c.fenced = false
	}
	if kind != c.kind {
		c.put()
		c.kind, c.first = kind, c.n
	}
	if kind == "output" && c.fact(line) {
		return
	}
	c.lines = append(c.lines, line)
}

// lazy compiles an expression when it is first used: a command that reads no history does not wait for it.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	modelLine  = lazy(`^(?:Main m|M)odel: (\S+)`)
	commitLine = lazy(`^Commit ([0-9a-f]{7,40}) (.+)`)
	tokensLine = lazy(`^Tokens: (.+?)\.(?: Cost: \$([0-9.]+) (?:message|request).*)?$`)
	tokensPart = lazy(`([0-9][0-9.,]*)([kM]?) (sent|cache write|cache hit|received)`)
)

// fact emits the event of a line that says what a request took, or which commit was made.
func (c *reader) fact(line string) bool {
	var name string
	data := record.NewObject(160)
	if m := modelLine().FindStringSubmatch(line); m != nil {
		c.model = m[1]
	}
	if m := commitLine().FindStringSubmatch(line); m != nil {
		name = record.EventCommit
		data.Str("id", m[1]).Str("subject", m[2])
	} else if m := tokensLine().FindStringSubmatch(line); m != nil {
		usage := record.NewObject(128)
		as := map[string]string{"sent": "input_tokens", "cache write": "cache_write_input_tokens", "cache hit": "cached_input_tokens", "received": "output_tokens"}
		for _, part := range tokensPart().FindAllStringSubmatch(m[1], -1) {
			n, err := strconv.ParseFloat(strings.ReplaceAll(part[1], ",", ""), 64)
			if err != nil || n > 1e12 {
				return false
			}
			n *= map[string]float64{"": 1, "k": 1e3, "M": 1e6}[part[2]]
			usage.Raw(as[part[3]], strconv.AppendInt(nil, int64(n+0.5), 10))
		}
		if usage.Empty() {
			return false
		}
		name = record.EventRun
		if c.model != "" {
			data.Str("model", c.model)
		}
		data.Raw("usage", usage.Done()).Raw("rounded", []byte("true"))
		if cost, err := strconv.ParseFloat(strings.TrimSuffix(m[2], "."), 64); err == nil {
			data.Raw("cost", strconv.AppendFloat(nil, cost, 'f', -1, 64))
		}
		data.Str("text", line)
	}
	if name == "" {
		return false
	}
	c.put()
	c.kind, c.first = "output", c.n+1
	c.Put(record.Event(c.chats[0].key+"/"+strconv.Itoa(c.n), c.date, name, data.Done()))
	return true
}

// put emits the block that ends. If a part of it is on the tape, because an import was made while it grew, it emits the rest.
func (c *reader) put() {
	lines := c.lines
	c.lines = nil
	key := c.chats[0].key + "/" + strconv.Itoa(c.first)
	upTo := func(n int) string { return key + "+" + strconv.Itoa(n) }
	keys := []string{key, upTo(len(lines))}
	if c.Has(key) {
		known := len(lines)
		for known > 0 && !c.Has(upTo(known)) {
			known--
		}
		if known == 0 || known == len(lines) {
			c.Skipped(c.date)
			return
		}
		lines, keys = lines[known:], keys[1:]
	}
	text := strings.TrimRight(strings.TrimLeft(strings.Join(lines, "\n"), "\n"), " \n")
	if strings.TrimSpace(text) == "" {
		return
	}
	c.Stats.Records++
	var p record.Entry
	switch {
	case c.kind == "output" || c.kind == "":
		p = record.Event("", c.date, "output", record.NewObject(len(text)+16).Str("text", text).Done())
	case c.kind == "user" && isCommand(text):
		p = record.Event("", c.date, "command", record.NewObject(len(text)+16).Str("text", text).Done())
	default:
		p = record.Message("", c.date, c.kind, record.Quote(text))
	}
	p.Keys = keys
	c.Put(p)
}

// isCommand reports whether a person typed a command that Aider runs by itself.
func isCommand(text string) bool {
	name, rest, _ := strings.Cut(text, " ")
	switch name {
	case "/ask", "/code", "/architect", "/context", "/help":
		return rest == ""
	}
	return strings.HasPrefix(text, "!") || len(name) > 1 && name[0] == '/' && strings.Trim(name[1:], "abcdefghijklmnopqrstuvwxyz-") == ""
}

// Describe tells the session by its folder, which is the project's.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	path, err := filepath.Abs(src.Name)
	if err != nil || src.Name == "-" {
		path = ""
	}
	state := record.NewObject(128)
	if path != "" && filepath.Base(path) == file {
		dir := filepath.Dir(path)
		sum := record.SumOf(dir)
		info.Session = "aider-" + filepath.Base(dir)
		info.Full = info.Session + "-" + hex.EncodeToString(sum[:4])
		state.Str("cwd", dir)
	}
	err = eachLine(ctx, src, func(_ record.Span, line string, _ error) bool {
		if date, ok := strings.CutPrefix(line, begin); ok {
			info.Began(record.Quote(strings.TrimSpace(date)))
		}
		return info.Started == ""
	})
	info.Complete = info.Started != ""
	info.State = state.Str("dates", "of the chat").Done()
	return err
}
