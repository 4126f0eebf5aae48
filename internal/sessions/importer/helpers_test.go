package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// fixtures is where transcripts of real sessions are, beside the project.
const fixtures = "../../../../shared/fixtures"

func fixture(t testing.TB, format string) map[string][]byte {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(fixtures, format, "*"))
	if len(names) == 0 {
		t.Skipf("no transcripts in %s", filepath.Join(fixtures, format))
	}
	files := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = b
	}
	return files
}

func source1(name string, b []byte) record.Source {
	return record.Source{Name: name, R: bytes.NewReader(b), Size: int64(len(b))}
}

// tapeSeen is what a store knows: the keys on each tape.
type tapeSeen map[string]bool

func (s tapeSeen) has(tape, key string) bool { return s[tape+"\x00"+key] }

// read reads b, checks every item, and adds its keys to seen.
func read(t testing.TB, format, name string, b []byte, seen tapeSeen) ([]record.Item, record.Stats) {
	t.Helper()
	var items []record.Item
	added := tapeSeen{}
	stats, err := Read(context.Background(), format, source1(name, b), seen.has, func(it record.Item) error {
		if len(it.Keys) == 0 {
			t.Errorf("no keys: %s", it.Entry.Payload)
		}
		if it.Fork != "" && !strings.Contains(string(it.Entry.Meta), `"context":false`) {
			t.Errorf("a subagent's entry is for the session's context: %.200s", it.Entry.Payload)
		}
		for _, k := range it.Keys {
			id := it.Fork + "\x00" + k
			if seen[id] || added[id] {
				t.Errorf("key %q came twice, now with %.200s", k, it.Entry.Payload)
			}
			added[id] = true
		}
		d, err := it.Entry.Normalize()
		if err != nil {
			t.Errorf("bad draft: %v: %.300s", err, it.Entry.Payload)
		}
		if line := jsonl.AppendLine(nil, 1, d); len(line) > jsonl.DefaultMaxLine {
			t.Errorf("entry of %d bytes", len(line))
		}
		if format != Bub {
			if got := strings.Join(Keys(it.Entry.Meta), " "); got != strings.Join(it.Keys, " ") {
				t.Errorf("keys in meta: %s, want %s", got, it.Keys)
			}
		}
		items = append(items, it)
		return nil
	})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	for k := range added {
		seen[k] = true
	}
	return items, stats
}

// show writes items as lines, for comparing.
func show(items []record.Item) string {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s%s %s", it.Fork, it.Entry.Kind, it.Entry.Payload)
		if strings.Contains(string(it.Entry.Meta), `"context":false`) && it.Fork == "" {
			b.WriteString(" hidden")
		}
		for _, name := range it.Begins {
			b.WriteString(" begins " + name)
		}
		for _, name := range it.Ends {
			b.WriteString(" ends " + name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// decode is the standard library's view of a payload.
func decode(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %.200s", err, raw)
	}
	return v
}

// leaves adds all strings inside of v, those of arguments decoded as well.
func leaves(v any, add func(string)) {
	switch v := v.(type) {
	case string:
		add(v)
	case []any:
		for _, e := range v {
			leaves(e, add)
		}
	case map[string]any:
		for name, e := range v {
			if s, ok := e.(string); ok && name == "arguments" {
				var args any
				if json.Unmarshal([]byte(s), &args) == nil {
					leaves(args, add)
				}
			}
			leaves(e, add)
		}
	}
}

// lines joins lines and ends the last.
func lines(ls ...string) []byte { return []byte(strings.Join(ls, "\n") + "\n") }

// session makes random Claude Code transcripts.
type session struct {
	rng   *rand.Rand
	lines []string
	n     int
	last  string
}

func (s *session) id(kind string) string {
	s.n++
	return fmt.Sprintf("%s-%04d", kind, s.n)
}

func (s *session) add(parent, uuid, rest string) {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	s.lines = append(s.lines, fmt.Sprintf(
		`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/w/%d","sessionId":"s-1","version":"2.1.%d","gitBranch":"main",%s,"uuid":"%s","timestamp":"2026-03-01T10:%02d:%02d.%03dZ"}`,
		p, s.rng.IntN(60)/59, s.rng.IntN(80)/79, rest, uuid, s.n/60%60, s.n%60, s.n%1000))
	s.last = uuid
}

func (s *session) prompt() {
	s.add(s.last, s.id("u"), fmt.Sprintf(`"type":"user","message":{"role":"user","content":"ask %d 请看"},"permissionMode":"default"`, s.n))
}

func (s *session) answer() {
	msg := s.id("msg")
	var ids []string
	blocks := 1 + s.rng.IntN(5)
	for b := range blocks {
		var block string
		switch s.rng.IntN(4) {
		case 0:
			block = fmt.Sprintf(`{"type":"thinking","thinking":"think %s %d","signature":"sig"}`, msg, b)
		case 1:
			block = fmt.Sprintf(`{"type":"text","text":"say %s %d"}`, msg, b)
		default:
			id := s.id("toolu")
			ids = append(ids, id+" "+s.last)
			command := "run"
			if s.n%3 == 0 {
				command = "git commit -m"
			}
			block = fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"%s %s"}}`, id, command, id)
		}
		u := s.id("a")
		if len(ids) > 0 && strings.Contains(block, "tool_use") {
			ids[len(ids)-1] = strings.Fields(ids[len(ids)-1])[0] + " " + u
		}
		s.add(s.last, u, fmt.Sprintf(`"type":"assistant","requestId":"req_%s","message":{"model":"m-1","id":"%s","type":"message","role":"assistant","content":[%s],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":%d}}`, msg, msg, block, b+1))
		if len(ids) > 0 && s.rng.IntN(4) == 0 {
			s.progress()
			s.result(&ids, 0)
		}
	}
	for len(ids) > 0 && s.rng.IntN(12) > 0 {
		s.result(&ids, s.rng.IntN(len(ids)))
	}
}

func (s *session) result(ids *[]string, i int) {
	f := strings.Fields((*ids)[i])
	*ids = append((*ids)[:i:i], (*ids)[i+1:]...)
	s.add(f[1], s.id("r"), fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"[main %07x] out of %s\n 1 file changed","is_error":%v}]},"toolUseResult":{"stdout":"[main %07x] out of %s\n 1 file changed","durationMs":%d},"sourceToolAssistantUUID":"%s"`,
		f[0], s.n-1, f[0], s.rng.IntN(5) == 0, s.n-1, f[0], s.n, f[1]))
}

func (s *session) progress() {
	s.add(s.last, s.id("p"), fmt.Sprintf(`"type":"progress","data":{"type":"bash_progress","output":"tick %d"},"toolUseID":"x"`, s.n))
}

func (s *session) relayed(agent string) {
	u := s.id("in")
	s.add(s.last, s.id("p"), fmt.Sprintf(`"type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":"do %s"},"uuid":"%s","timestamp":"2026-03-01T11:00:00Z"},"normalizedMessages":[],"type":"agent_progress","prompt":"do %s","agentId":"%s"},"parentToolUseID":"toolu_p"`, u, u, u, agent))
}

// generate makes a transcript of some steps.
func generate(seed uint64, steps int) []string {
	s := &session{rng: rand.New(rand.NewPCG(seed, 7))}
	var prompts []string
	for range steps {
		switch s.rng.IntN(12) {
		case 0:
			s.prompt()
			prompts = append(prompts, s.last)
		case 1:
			if len(prompts) > 1 { // the user goes back
				s.last = prompts[s.rng.IntN(len(prompts))]
			}
			s.prompt()
		case 2:
			s.progress()
		case 3:
			s.relayed(fmt.Sprintf("a%d", s.rng.IntN(2)))
		case 4:
			s.lines = append(s.lines, fmt.Sprintf(`{"type":"file-history-snapshot","messageId":"m%d","snapshot":{"n":%d},"isSnapshotUpdate":false}`, s.rng.IntN(2), s.rng.IntN(2)))
		case 5:
			if s.rng.IntN(3) == 0 {
				u := s.id("c")
				s.add(s.last, u, `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":9}`)
				s.add(u, s.id("d"), `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}`)
			}
		case 6:
			if len(s.lines) > 0 { // a session that was resumed repeats lines
				s.lines = append(s.lines, s.lines[s.rng.IntN(len(s.lines))])
			}
		default:
			s.answer()
		}
	}
	return s.lines
}

var _ io.ReaderAt = (*bytes.Reader)(nil)
