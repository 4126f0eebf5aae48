package importer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
)

// keysOf is the sorted list of all keys of a read.
func keysOf(items []record.Item) []string {
	var keys []string
	for _, it := range items {
		for _, k := range it.Keys {
			keys = append(keys, it.Fork+" "+k)
		}
	}
	slices.Sort(keys)
	return keys
}

// grows checks that a file that is read after every line gives what it gives
// when read once.
func grows(t *testing.T, format string, ls []string, every int) {
	t.Helper()
	whole := lines(ls...)
	once, _ := read(t, format, "x.jsonl", whole, tapeSeen{})
	want := keysOf(once)
	for n := 0; n <= len(ls); n += every {
		seen := tapeSeen{}
		first, _ := read(t, format, "x.jsonl", lines(ls[:n]...), seen)
		second, _ := read(t, format, "x.jsonl", whole, seen)
		if got := keysOf(append(first, second...)); !slices.Equal(got, want) {
			t.Fatalf("prefix of %d of %d lines: keys differ\nonly once: %v\nonly grown: %v", n, len(ls), minus(want, got), minus(got, want))
		}
		if third, _ := read(t, format, "x.jsonl", whole, seen); len(third) != 0 {
			t.Fatalf("read again: %d items", len(third))
		}
	}
}

func minus(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

func TestClaudeGrows(t *testing.T) {
	for seed := range uint64(testkit.Size(2, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { grows(t, ClaudeCode, generate(seed, 25), 1) })
	}
}

func TestClaudeFixturesGrow(t *testing.T) {
	for _, b := range fixture(t, "claude-code") {
		if len(b) > 800_000 && testing.Short() {
			continue
		}
		ls := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		grows(t, ClaudeCode, ls, len(ls)/testkit.Size(3, 7)+1)
	}
}

// TestClaudeShuffled: lines in any order give the same keys, and no record
// comes before its parent.
func TestClaudeShuffled(t *testing.T) {
	for seed := range uint64(12) {
		ls := generate(seed, 30)
		want, _ := read(t, ClaudeCode, "x.jsonl", lines(ls...), tapeSeen{})
		rng := rand.New(rand.NewPCG(seed, 1))
		mixed := slices.Clone(ls)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		got, _ := read(t, ClaudeCode, "x.jsonl", lines(mixed...), tapeSeen{})
		noEnv := func(keys []string) []string {
			// What the environment changed from depends on the order of lines.
			return slices.DeleteFunc(keys, func(k string) bool { return strings.HasSuffix(k, "/env") })
		}
		if w, g := noEnv(keysOf(want)), noEnv(keysOf(got)); !slices.Equal(w, g) {
			t.Fatalf("seed %d: missing %v, extra %v", seed, minus(w, g), minus(g, w))
		}
		checkOrder(t, got)
	}
}

// checkOrder checks that no result comes before its call.
func checkOrder(t *testing.T, items []record.Item) {
	t.Helper()
	called := map[string]bool{}
	for _, it := range items {
		switch it.Entry.Kind {
		case record.KindToolCall:
			for _, c := range decode(t, it.Entry.Payload).(map[string]any)["calls"].([]any) {
				called[c.(map[string]any)["id"].(string)] = true
			}
		case record.KindToolResult:
			for _, id := range decode(t, it.Entry.Meta).(map[string]any)["call_ids"].([]any) {
				if !called[id.(string)] {
					t.Errorf("result of %s before its call", id)
				}
			}
		}
	}
}

func TestClaudeOrderOfResults(t *testing.T) {
	for seed := range uint64(15) {
		items, _ := read(t, ClaudeCode, "x.jsonl", lines(generate(seed, 60)...), tapeSeen{})
		checkOrder(t, items)
	}
}

// TestRepairedLine: a line that could not be read is kept; once it can be, its
// record is new.
func TestRepairedLine(t *testing.T) {
	ls := generate(3, 14)
	for i := range ls {
		torn := slices.Clone(ls)
		torn[i] = torn[i][:len(torn[i])/2]
		seen := tapeSeen{}
		first, stats := read(t, ClaudeCode, "x.jsonl", lines(torn...), seen)
		if stats.Damaged != 1 || len(stats.Problems) != 1 || stats.Problems[0].Line != i+1 {
			t.Fatalf("line %d torn: %+v", i+1, stats)
		}
		second, stats := read(t, ClaudeCode, "x.jsonl", lines(ls...), seen)
		if stats.Damaged != 0 {
			t.Fatalf("repaired: %+v", stats)
		}
		once, _ := read(t, ClaudeCode, "x.jsonl", lines(ls...), tapeSeen{})
		all := keysOf(append(first, second...))
		if lost := minus(keysOf(once), all); len(lost) > 0 {
			t.Fatalf("line %d repaired: %v is lost", i+1, lost)
		}
		third, _ := read(t, ClaudeCode, "x.jsonl", lines(torn...), seen)
		if len(third) != 0 {
			t.Fatalf("torn again: %s", show(third))
		}
	}
}

func TestDuplicates(t *testing.T) {
	ls := generate(5, 40)
	var uuids []string
	for _, l := range ls {
		if strings.Contains(l, `"uuid"`) {
			uuids = append(uuids, l)
		}
	}
	once, _ := read(t, ClaudeCode, "x.jsonl", lines(uuids...), tapeSeen{})
	twice, _ := read(t, ClaudeCode, "x.jsonl", lines(append(uuids, uuids...)...), tapeSeen{})
	if show(once) != show(twice) {
		t.Error("a repeated file gives other entries")
	}
}

func FuzzClaude(f *testing.F) { fuzz(f, ClaudeCode, generate(1, 12)) }
func FuzzCodex(f *testing.F)  { fuzz(f, Codex, codexSample) }
func FuzzGemini(f *testing.F) { fuzz(f, Gemini, geminiSample) }
func FuzzOpenAI(f *testing.F) { fuzz(f, OpenAI, openAISample) }
func FuzzBub(f *testing.F)    { fuzz(f, Bub, bubSample) }

func FuzzOpenCode(f *testing.F) { fuzz(f, OpenCode, openCodeSample) }

// fuzz: any input gives valid drafts, no key twice, and nothing the second
// time.
func fuzz(f *testing.F, format string, sample []string) {
	f.Add(lines(sample...))
	for _, l := range sample {
		f.Add([]byte(l))
		f.Add([]byte(l[:len(l)*2/3] + l))
	}
	f.Add([]byte("[" + strings.Join(sample, ",") + "]"))
	f.Add([]byte(`{"messages":[` + strings.Join(sample, ",") + `],"sessionId":"s"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		Detect("x.jsonl", b)
		seen := tapeSeen{}
		_, first := read(t, format, "x.jsonl", b, seen)
		again, second := read(t, format, "x.jsonl", b, seen)
		if len(again) > 0 {
			t.Errorf("the second time: %s", show(again))
		}
		if first.Records != second.Records || first.Damaged != second.Damaged {
			t.Errorf("%+v, then %+v", first, second)
		}
		if _, err := Describe(t.Context(), format, source1("x.jsonl", b)); err != nil {
			t.Error(err)
		}
	})
}
