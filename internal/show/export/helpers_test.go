package export

import (
	"bytes"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"tape/internal/show/prose"
	"tape/repo"
)

// TestMain sets the local zone, in which times are shown, to UTC.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// recorder makes the entries of a tape.
type recorder struct {
	t       *testing.T
	entries []repo.Entry
	phases  []repo.Phase
}

func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{t: t}
	r.anchor(repo.FirstAnchor, `{"owner":"human"}`)
	return r
}

// asJSON writes text as it is recorded: nothing is escaped that need not be.
func asJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *recorder) add(kind, payload, meta string) int64 {
	r.t.Helper()
	if !json.Valid([]byte(payload)) || !json.Valid([]byte(meta)) {
		r.t.Fatalf("not JSON: %s %s", payload, meta)
	}
	e := repo.Entry{ID: int64(len(r.entries) + 1), Kind: kind, Payload: json.RawMessage(payload), Meta: json.RawMessage(meta), Tape: "main"}
	e.Date = time.Date(2026, 11, 20, 9, 30, len(r.entries), 0, time.UTC).Format(time.RFC3339)
	e.Raw = []byte(`{"id":` + asJSON(e.ID) + `,"kind":` + asJSON(kind) + `,"payload":` + payload + `,"meta":` + meta + `,"date":` + asJSON(e.Date) + `}`)
	if len(r.phases) > 0 {
		p := &r.phases[len(r.phases)-1]
		p.LastID, p.Entries = e.ID, e.ID-p.FirstID+1
		e.Anchor, e.AnchorSeq = p.Name, p.Seq
	}
	r.entries = append(r.entries, e)
	return e.ID
}

func (r *recorder) anchor(name, state string) {
	r.t.Helper()
	r.phases = append(r.phases, repo.Phase{Seq: len(r.phases) + 1, Name: name, State: json.RawMessage(state), Date: "2026-11-20T09:00:00Z",
		FirstID: int64(len(r.entries) + 1), Commit: strings.Repeat("c0ffee", 7)[:40], Tag: "anchor/main/" + name})
	r.add(repo.KindAnchor, `{"name":`+asJSON(name)+`,"state":`+state+`}`, `{}`)
}

func (r *recorder) say(role, text string) int64 {
	return r.add(repo.KindMessage, `{"role":`+asJSON(role)+`,"content":`+asJSON(text)+`}`, `{}`)
}

// call records calls of a tool by their ids.
func (r *recorder) call(ids ...string) int64 {
	var calls []string
	for _, id := range ids {
		calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"tool-`+id+`","arguments":"{\"of\":\"`+id+`\"}"}}`)
	}
	return r.add(repo.KindToolCall, `{"calls":[`+strings.Join(calls, ",")+`]}`, `{}`)
}

func (r *recorder) results(meta string, texts ...string) int64 {
	return r.add(repo.KindToolResult, `{"results":`+asJSON(texts)+`}`, meta)
}

func (r *recorder) source() Source {
	return Source{Tape: "main", Phases: r.phases, Entries: all(r.entries), Whole: all(r.entries), Prose: prose.New().Folded}
}

func all(entries []repo.Entry) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func write(t *testing.T, format string, src Source) string {
	t.Helper()
	var b bytes.Buffer
	f, ok := Find(format)
	if !ok {
		t.Fatalf("there is no format %q", format)
	}
	if err := f.Write(t.Context(), &b, src); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile makes text of pieces that mean something to a parser, or could mislead a
// reader.
func hostile(rnd *rand.Rand) string {
	pieces := []string{
		"</script>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "-->", "]]>", "<![CDATA[", "</pre>", "</details>",
		"</summary>", "</style>", "<a href=\"javascript:alert(1)\">x</a>", "\" onmouseover=\"x", "' style='x", "&lt;b&gt;", "&#x6a;", "&amp", "&",
		"[x](javascript:alert(1))", "![x](http://example.org/x.png)", "[x](https://example.org)", "[x]: javascript:1", "<http://example.org>",
		"http://example.org/a\"b<c>(d)", "https://example.org/?a=1&b='2'.", "https://", "`", "``", "```", "````", "~~~", "`<b>`", "`a | <b>`", "**x**", "**",
		"\n# x", "\n- # x", "\n> ## x", "\n===\n", "\n---\n", "\n```html\n", "\n~~~\n", "\n    <b>", "\n| a | b |\n|---|---|\n| `x", "\n1. ```\n", "\\", "\\`", "\\<",
		"\x00", "\x07", "\x1b[31m", "\x7f", "\u0085", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\r", "\r\n", "\n", "\n\n", "\t", " ", "\U000e0041",
		"数据库", "テスト", "한국어", "مرحبا", "é", "👩\u200d💻", "word", "12", "$x$", "[!NOTE]", "<U+202E>", "\ufffd",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(12) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

// hostileTape has hostile text in every place that text can be in, and returns it.
func hostileTape(t *testing.T, rnd *rand.Rand) (src Source, texts []string) {
	r := record(t)
	x := func() string {
		s := hostile(rnd)
		texts = append(texts, s)
		return asJSON(s)
	}
	meta := func() string {
		if rnd.IntN(4) == 0 {
			return `{"context":false}`
		}
		return `{}`
	}
	r.add(repo.KindSystem, `{"content":`+x()+`}`, meta())
	for range 2 {
		r.add(repo.KindMessage, `{"role":`+x()+`,"content":`+x()+`,`+x()+`:`+x()+`}`, meta())
		r.add(repo.KindMessage, `{"role":"assistant","content":[{"type":"text","text":`+x()+`},`+x()+`,{"type":`+x()+`,"data":`+x()+`}],`+
			`"tool_calls":[{"id":"m1","function":{"name":`+x()+`,"arguments":`+x()+`}}]}`, meta())
		r.add(repo.KindToolCall, `{"calls":[{"id":`+x()+`,"function":{"name":"f","arguments":`+asJSON(`{`+x()+`:`+x()+`}`)+`}},{"name":"g","arguments":{"k":`+x()+`}}]}`, meta())
		texts = texts[:len(texts)-4] // the id is not shown; argsOf returns the others
		last := r.entries[len(r.entries)-1].Payload
		for _, c := range []string{"0", "1"} {
			texts = append(texts, argsOf(t, last, c)...)
		}
		r.add(repo.KindEvent, `{"name":`+x()+`,"data":`+x()+`}`, meta())
		r.add(repo.KindToolResult, `{"results":[`+x()+`,{"k":`+x()+`},`+x()+`]}`, meta())
		r.add(repo.KindError, `{"kind":`+x()+`,"message":`+x()+`,"details":`+x()+`}`, meta())
		r.add("kind "+hostile(rnd), `{"k":`+x()+`}`, meta())
		name := hostile(rnd)
		texts = append(texts, name)
		r.anchor(name, `{"summary":`+x()+`,`+x()+`:`+x()+`}`)
	}
	src = r.source()
	src.Tape = hostile(rnd)
	texts = append(texts, src.Tape)
	return src, texts
}

// argsOf returns the keys and values of a call's arguments.
func argsOf(t *testing.T, payload []byte, index string) []string {
	t.Helper()
	var p struct {
		Calls []struct {
			Arguments map[string]string
			Function  struct{ Arguments string }
		}
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatal(err)
	}
	c := p.Calls[index[0]-'0']
	if c.Arguments == nil {
		if err := json.Unmarshal([]byte(c.Function.Arguments), &c.Arguments); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for k, v := range c.Arguments {
		out = append(out, k, v)
	}
	return out
}
