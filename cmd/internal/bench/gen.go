package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tape/internal/text/jsonl"
)

// gen makes text of the shape that agents record: words of a large vocabulary by
// Zipf's law, identifiers, paths and error codes, programs and their output, and now
// and then Chinese. The same seed gives the same text.
type gen struct {
	rng     *rand.Rand
	words   *vocab
	names   *vocab // identifiers
	paths   *vocab
	codes   *vocab // of errors
	chinese *vocab
	at      time.Time
}

func newGen(seed uint64) *gen {
	// One vocabulary for all: what is searched for is in every text.
	rng := rand.New(rand.NewPCG(1, 1))
	words := english(rng, 150_000)
	g := &gen{
		words:   newVocab(words, 2.7, 1.05),
		names:   newVocab(identifiers(rng, words, 40_000), 15, 1.05),
		paths:   newVocab(paths(rng, words, 10_000), 10, 1),
		codes:   newVocab(codes(rng, words, 400), 5, 1),
		chinese: newVocab(chinese(rng, 8_000), 10, 1),
		at:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	g.rng = rand.New(rand.NewPCG(seed, seed))
	return g
}

func (g *gen) word() string { return g.words.pick(g.rng) }
func (g *gen) name() string { return g.names.pick(g.rng) }
func (g *gen) path() string { return g.paths.pick(g.rng) }

// prose is about n bytes of sentences, one text in fourteen Chinese.
func (g *gen) prose(n int) string {
	b := make([]byte, 0, n+32)
	chinese := g.rng.IntN(14) == 0
	for len(b) < n {
		switch r := g.rng.IntN(64); {
		case r == 0:
			b = append(append(append(b, '`'), g.name()...), "` "...)
		case r == 1:
			b = append(append(b, g.path()...), ' ')
		case chinese && r < 8:
			b = append(append(b, g.chinese.pick(g.rng)...), "。"...)
		case chinese:
			b = append(b, g.chinese.pick(g.rng)...)
		case r < 7:
			b = append(append(b, g.word()...), ". "...)
		default:
			b = append(append(b, g.word()...), ' ')
		}
	}
	return string(b)
}

// code is about n bytes of lines that look like a program or its output.
func (g *gen) code(n int) string {
	b := make([]byte, 0, n+128)
	for len(b) < n {
		switch r := g.rng.IntN(48); {
		case r == 0 && g.rng.IntN(5) == 0:
			b = fmt.Appendf(b, "%s %s: %s %s (request %016x)\n", g.at.Format(time.RFC3339), g.codes.pick(g.rng), g.word(), g.word(), g.rng.Uint64())
		case r < 10:
			b = fmt.Appendf(b, "\tif %s != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", g.name(), g.word(), g.word())
		case r < 20:
			b = fmt.Appendf(b, "%s:%d:\t%s := %s(%s)\n", g.path(), g.rng.IntN(900), g.name(), g.name(), g.name())
		case r < 24:
			b = fmt.Appendf(b, "ok  \t%s\t%.3fs\n", g.path(), g.rng.Float64())
		case r < 38:
			b = fmt.Appendf(b, "\t%s.%s(%s, %d)\n", g.name(), g.name(), g.name(), g.rng.IntN(100))
		default:
			b = fmt.Appendf(b, "// %s %s %s %s %s\n", g.word(), g.word(), g.word(), g.word(), g.word())
		}
	}
	return string(b)
}

// size draws from a long-tailed distribution with the given median, in bytes.
func (g *gen) size(median float64) int {
	n := median
	for g.rng.IntN(3) == 0 {
		n *= 2.2
	}
	const largest = 4 << 20
	return min(int(n*(0.3+1.4*g.rng.Float64())), largest)
}

var tools = [...]string{"bash", "bash", "bash", "read_file", "edit_file", "search_files", "run_tests", "fetch"}

// entry is one NDJSON line for tape append --stdin, about 430 bytes on average.
func (g *gen) entry(dst []byte) []byte {
	g.at = g.at.Add(time.Duration(g.rng.IntN(20)) * time.Second)
	date := g.at.Format("2006-01-02T15:04:05.000000+00:00")
	switch g.rng.IntN(8) {
	case 0:
		dst = jsonl.AppendString(append(dst, `{"kind":"message","payload":{"role":"user","content":`...), g.prose(g.size(60)))
		dst = append(dst, `}`...)
	case 1, 2:
		dst = jsonl.AppendString(append(dst, `{"kind":"message","payload":{"role":"assistant","content":`...), g.prose(g.size(165)))
		dst = append(dst, `}`...)
	case 3, 4:
		dst = fmt.Appendf(dst, `{"kind":"tool_call","payload":{"calls":[{"id":"call_%x","type":"function","function":{"name":%q,"arguments":`, g.rng.Uint64(), tools[g.rng.IntN(len(tools))])
		dst = jsonl.AppendString(dst, string(jsonl.AppendString([]byte(`{"command":`), g.code(g.size(40))))+"}")
		dst = append(dst, `}}]}`...)
	case 5, 6:
		dst = jsonl.AppendString(append(dst, `{"kind":"tool_result","payload":{"results":[`...), g.code(g.size(235)))
		dst = append(dst, `]}`...)
	default:
		dst = fmt.Appendf(dst, `{"kind":"event","payload":{"name":"run","data":{"usage":{"input_tokens":%d,"output_tokens":%d}}}`, g.rng.IntN(90000), g.rng.IntN(900))
	}
	return fmt.Appendf(dst, `,"date":%q}`+"\n", date)
}

// entries writes n NDJSON lines.
func (g *gen) entries(w io.Writer, n int) error {
	b := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for range n {
		line = g.entry(line[:0])
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// transcript writes a Claude Code session of about size bytes: prompts, several lines
// for one message, tool results given twice, progress lines, snapshots.
func (g *gen) transcript(w io.Writer, size int) error {
	return g.lines(w, func(t *transcript) {
		for t.written < size && t.err == nil {
			t.turn()
		}
	})
}

// smallTalk writes one of six messages.
func (g *gen) smallTalk(w io.Writer) error {
	return g.lines(w, func(t *transcript) {
		for range 3 {
			t.ask()
			t.answer()
		}
	})
}

func (g *gen) lines(w io.Writer, write func(*transcript)) error {
	b := bufio.NewWriterSize(w, 1<<20)
	t := &transcript{g: g, w: b, session: g.uuid()}
	write(t)
	if t.err != nil {
		return t.err
	}
	return b.Flush()
}

func (g *gen) uuid() string {
	a, c := g.rng.Uint64(), g.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, c>>48, c&0xffffffffffff)
}

type transcript struct {
	g       *gen
	w       *bufio.Writer
	session string
	parent  string
	written int
	err     error
}

// line writes one record: the envelope, then the fields of its type.
func (t *transcript) line(kind string, fields []byte) {
	g := t.g
	g.at = g.at.Add(time.Duration(g.rng.IntN(4000)) * time.Millisecond)
	parent := "null"
	if t.parent != "" {
		parent = `"` + t.parent + `"`
	}
	id := g.uuid()
	raw := fmt.Appendf(nil, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/dev/shop","sessionId":%q,"version":"2.1.17","gitBranch":"main","type":%q,`,
		parent, t.session, kind)
	raw = append(raw, fields...)
	raw = fmt.Appendf(raw, `,"uuid":%q,"timestamp":%q}`+"\n", id, g.at.Format("2006-01-02T15:04:05.000Z"))
	t.parent = id
	n, err := t.w.Write(raw)
	t.written += n
	if err != nil {
		t.err = err
	}
}

func (t *transcript) turn() {
	t.ask()
	for range 1 + t.g.rng.IntN(10) {
		t.step()
	}
	t.answer()
}

func (t *transcript) ask() {
	t.line("user", append(jsonl.AppendString([]byte(`"message":{"role":"user","content":`), t.g.prose(t.g.size(120))), '}'))
}

func (t *transcript) answer() {
	g := t.g
	t.assistant(fmt.Sprintf("msg_%016x", g.rng.Uint64()), append(jsonl.AppendString([]byte(`{"type":"text","text":`), g.prose(g.size(500))), '}'))
}

// step is a thought, a tool call and its result.
func (t *transcript) step() {
	g := t.g
	msg, call := fmt.Sprintf("msg_%016x", g.rng.Uint64()), fmt.Sprintf("toolu_%016x", g.rng.Uint64())
	thought := jsonl.AppendString([]byte(`{"type":"thinking","thinking":`), g.prose(g.size(400)))
	t.assistant(msg, fmt.Appendf(thought, `,"signature":"%x%x"}`, g.rng.Uint64(), g.rng.Uint64()))
	input := jsonl.AppendString(fmt.Appendf(nil, `{"type":"tool_use","id":%q,"name":"Bash","input":{"command":`, call), g.code(g.size(80)))
	t.assistant(msg, append(input, `}}`...))
	if g.rng.IntN(3) == 0 {
		t.line("progress", append(jsonl.AppendString(fmt.Appendf(nil, `"toolUseID":%q,"data":{"type":"bash_progress","elapsedTimeSeconds":2,"output":`, call), g.code(300)), '}'))
	}
	output := g.code(g.size(1500))
	fields := jsonl.AppendString(fmt.Appendf(nil, `"message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","is_error":false,"content":`, call), output)
	fields = jsonl.AppendString(append(fields, `}]},"toolUseResult":{"stdout":`...), output)
	t.line("user", append(fields, `,"stderr":"","interrupted":false,"isImage":false}`...))
}

func (t *transcript) assistant(msg string, block []byte) {
	fields := fmt.Appendf(nil, `"requestId":"req_1","message":{"model":"claude","id":%q,"type":"message","role":"assistant","content":[`, msg)
	fields = append(fields, block...)
	fields = fmt.Appendf(fields, `],"stop_reason":null,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}`,
		t.g.rng.IntN(50), t.g.rng.IntN(90000), t.g.rng.IntN(900))
	t.line("assistant", fields)
}
