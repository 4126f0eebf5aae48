package plain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tape/internal/show/display"
	"tape/internal/text/jsonl"
)

// randomLines makes a file of entries and of other lines that may be in one.
func randomLines(r *rand.Rand) []byte {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	text := func() string {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(pick("word", "世界", "\n", "\t", " ", "\x1b[2J", "\u202e", "\u0301", strings.Repeat("x", r.IntN(300)), "@7 message/user", "\r\n", "\r", "\x00"))
		}
		return string(jsonl.AppendString(nil, b.String()))
	}
	payload := func() (kind, payload string) {
		switch r.IntN(8) {
		case 0:
			return "message", `{"role":` + text() + `,"content":` + text() + `}`
		case 1:
			return "message", `{"role":"user","content":[{"type":"text","text":` + text() + `},{"type":"image"},` + text() + `]}`
		case 2:
			return "tool_call", `{"calls":[{"function":{"name":` + text() + `,"arguments":` + text() + `}}]}`
		case 3:
			return "tool_result", `{"results":[` + text() + `,{"a":` + text() + `},[` + text() + `]]}`
		case 4:
			return "anchor", `{"name":` + text() + `,"state":{"summary":` + text() + `}}`
		case 5:
			return "event", `{"name":"thinking","data":{"thinking":` + text() + `,"signature":"xyz"}}`
		case 6:
			return "event", `{"name":` + text() + `,"data":{"x":` + text() + `}}`
		}
		return pick("error", "system", "my own", "\x1bkind\u202e"), pick(`{}`, `{"content":1}`, `{"message":`+text()+`}`)
	}
	var out []byte
	for range r.IntN(6) {
		kind, body := payload()
		date := pick("2026-11-20T09:30:00.123456+00:00", "2026-11-20T23:30:00-02:00", "", "soon\u202e", "9999-12-31T23:59:59Z")
		line := fmt.Sprintf(`{"id":%d,"kind":%s,"payload":%s,"meta":{"n":%d},"date":%s}`,
			r.IntN(1000)+1, jsonl.AppendString(nil, kind), body, r.IntN(9), jsonl.AppendString(nil, date))
		switch r.IntN(8) {
		case 0:
			line = line[:r.IntN(len(line))]
		case 1:
			line = pick("", "\r", "<<<<<<< HEAD", "\xff\xfe\x00", "not JSON \x1b[31m", `{"id":1}`, "[1]", line+line)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// Any lines added to a file only add to its rendering, so that git shows just what was
// added.
func TestTextconvAppends(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		before, added := randomLines(r), randomLines(r)
		want := Textconv(before)
		if first, _, _ := bytes.Cut(added, []byte("\n")); len(before) > 0 && len(added) > 0 && !isQuiet(first) {
			want = append(want, '\n')
		}
		want = append(want, Textconv(added)...)
		got := Textconv(append(bytes.Clone(before), added...))
		if !bytes.Equal(got, want) {
			t.Fatalf("%q and then %q becomes\n%s\nwant\n%s", before, added, got, want)
		}
		checkRendered(t, before)
		checkRendered(t, append(before, "torn"...))
	}
}

// isQuiet reports whether a stored line is an event that is shown on one line.
func isQuiet(line []byte) bool {
	e, err := jsonl.Parse(line)
	return err == nil && e.Kind == "event" && jsonl.GetString(e.Payload, "data", "thinking") == ""
}

// checkRendered checks what holds for any file: nothing in the rendering can disturb a
// terminal, every entry has a heading, no text looks like a heading, and lines are
// wrapped at the width.
func checkRendered(t *testing.T, raw []byte) {
	t.Helper()
	shown := string(Textconv(raw))
	if !utf8.ValidString(shown) || display.Safe(shown, "\n\t") != shown {
		t.Fatalf("%q becomes unsafe text: %q", raw, shown)
	}
	if strings.HasSuffix(shown, "\n") != bytes.HasSuffix(raw, []byte("\n")) {
		t.Fatalf("%q ends differently from its rendering %q", raw, shown)
	}
	heads, others := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if e, err := jsonl.Parse(line); err == nil {
			heads[fmt.Sprintf("@%d %s", e.ID, checksum(line))]++
		} else {
			others[display.Safe(string(line), "\t")]++
		}
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		fields := strings.Fields(line)
		if i := slices.IndexFunc(fields, func(f string) bool { return heads[fields[0]+" "+f] > 0 }); i > 1 && fields[1] == "event" {
			fields = fields[:i+1] // its text follows
		}
		switch {
		case others[line] > 0:
			others[line]--
		case line == "":
		case strings.HasPrefix(line, diffIndent):
			if display.Width(line) > diffCells {
				t.Fatalf("a line has %d cells, want at most %d: %q", display.Width(line), diffCells, line)
			}
		case heads[fields[0]+" "+fields[len(fields)-1]] > 0 && display.Width(line) <= diffCells:
			heads[fields[0]+" "+fields[len(fields)-1]]--
		default:
			t.Fatalf("%q is shown with the line %q", raw, line)
		}
	}
	for head, n := range heads {
		if n > 0 {
			t.Fatalf("%q: %s is not shown", raw, head)
		}
	}
	for line, n := range others {
		if n > 0 && line != "" {
			t.Fatalf("a line that is not an entry is not shown as it is: %q", line)
		}
	}
}

// Long text is cut in a diff, and a change in the part that was cut off still shows.
func TestTextconvLong(t *testing.T) {
	result := func(result string) []byte {
		return fmt.Appendf(nil, `{"id":3,"kind":"tool_result","payload":{"results":[%s]},"meta":{},"date":"2026-11-20T09:30:00Z"}`+"\n",
			jsonl.AppendString(nil, result))
	}
	for name, long := range map[string]string{
		"lines": strings.Repeat("a line\n", 5000), "line": strings.Repeat("x", 100_000), "wide": strings.Repeat("世", 100_000),
	} {
		shown := Textconv(result(long + "a"))
		if n := bytes.Count(shown, []byte("\n")); n > 12 || !bytes.Contains(shown, []byte("…")) {
			t.Errorf("%s: %d lines, want at most 12 and a mark where text is cut:\n%.2000s", name, n, shown)
		}
		if bytes.Equal(shown, Textconv(result(long+"b"))) {
			t.Errorf("%s: a change in the part that was cut off does not show", name)
		}
	}
	call := fmt.Sprintf(`{"function":{"name":"bash","arguments":"%s"}}`, strings.Repeat("long ", 100))
	calls := Textconv(fmt.Appendf(nil, `{"id":2,"kind":"tool_call","payload":{"calls":[%s,%s]}}`+"\n", call, call))
	if bytes.Count(calls, []byte("\n")) != 3 || bytes.Count(calls, []byte("    bash(long")) != 2 {
		t.Errorf("two calls are not two lines:\n%s", calls)
	}
	text := strings.TrimSpace(strings.Repeat("every word of a message ", 1000))
	shown := string(Textconv(fmt.Appendf(nil, `{"id":1,"kind":"message","payload":{"role":"user","content":%q}}`, text)))
	_, shown, _ = strings.Cut(shown, "\n")
	if got := strings.Join(strings.Fields(shown), " "); got != text {
		t.Errorf("a message is not shown in full:\n%s", shown)
	}
}

func BenchmarkTextconv(b *testing.B) {
	var raw []byte
	for i := 1; len(raw) < 256<<10; i++ {
		raw = fmt.Appendf(raw, `{"id":%d,"kind":"message","payload":{"role":"user","content":%q},"meta":{},"date":"2026-11-20T09:30:00.123456+00:00"}`+"\n",
			i, strings.Repeat("some words of a message, 以及中文。 ", 1+i%20))
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		Textconv(raw)
	}
}
