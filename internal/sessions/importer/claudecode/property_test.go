package claudecode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
)

func TestClaudeGrows(t *testing.T) {
	for seed := range uint64(testkit.Size(2, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { imp.Grows(t, claudecode.Format.Name, formattest.Claude(seed, 25), 1) })
	}
}

func TestClaudeFixturesGrow(t *testing.T) {
	for _, b := range formattest.Fixture(t, "claude-code") {
		if len(b) > 800_000 && testing.Short() {
			continue
		}
		ls := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		imp.Grows(t, claudecode.Format.Name, ls, len(ls)/testkit.Size(3, 7)+1)
	}
}

// TestClaudeShuffled: lines in any order give the same keys, and no record
// comes before its parent.
func TestClaudeShuffled(t *testing.T) {
	for seed := range uint64(12) {
		ls := formattest.Claude(seed, 30)
		want, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls...), formattest.Seen{})
		rng := rand.New(rand.NewPCG(seed, 1))
		mixed := slices.Clone(ls)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		got, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(mixed...), formattest.Seen{})
		noEnv := func(keys []string) []string {
			// The order of lines decides from what the environment changed.
			return slices.DeleteFunc(keys, func(k string) bool { return strings.HasSuffix(k, "/env") })
		}
		if w, g := noEnv(formattest.KeysOf(want)), noEnv(formattest.KeysOf(got)); !slices.Equal(w, g) {
			t.Fatalf("seed %d: missing %v, extra %v", seed, formattest.Minus(w, g), formattest.Minus(g, w))
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
			for _, c := range formattest.Decode(t, it.Entry.Payload).(map[string]any)["calls"].([]any) {
				called[c.(map[string]any)["id"].(string)] = true
			}
		case record.KindToolResult:
			for _, id := range formattest.Decode(t, it.Entry.Meta).(map[string]any)["call_ids"].([]any) {
				if !called[id.(string)] {
					t.Errorf("result of %s before its call", id)
				}
			}
		}
	}
}

func TestClaudeOrderOfResults(t *testing.T) {
	for seed := range uint64(15) {
		items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(formattest.Claude(seed, 60)...), formattest.Seen{})
		checkOrder(t, items)
	}
}

// TestRepairedLine: a line that cannot be read is kept; once it is repaired, its
// record is new.
func TestRepairedLine(t *testing.T) {
	ls := formattest.Claude(3, 14)
	for i := range ls {
		torn := slices.Clone(ls)
		torn[i] = torn[i][:len(torn[i])/2]
		seen := formattest.Seen{}
		first, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(torn...), seen)
		if stats.Damaged != 1 || len(stats.Problems) != 1 || stats.Problems[0].Line != i+1 {
			t.Fatalf("line %d torn, want one problem there: %+v", i+1, stats)
		}
		second, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls...), seen)
		if stats.Damaged != 0 {
			t.Fatalf("line %d repaired, want no damage: %+v", i+1, stats)
		}
		once, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls...), formattest.Seen{})
		all := formattest.KeysOf(append(first, second...))
		if lost := formattest.Minus(formattest.KeysOf(once), all); len(lost) > 0 {
			t.Fatalf("line %d repaired: %v is lost", i+1, lost)
		}
		third, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(torn...), seen)
		if len(third) != 0 {
			t.Fatalf("line %d torn again, want no entries: %s", i+1, formattest.Show(third))
		}
	}
}

func TestDuplicates(t *testing.T) {
	ls := formattest.Claude(5, 40)
	var uuids []string
	for _, l := range ls {
		if strings.Contains(l, `"uuid"`) {
			uuids = append(uuids, l)
		}
	}
	once, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(uuids...), formattest.Seen{})
	twice, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(append(uuids, uuids...)...), formattest.Seen{})
	if formattest.Show(once) != formattest.Show(twice) {
		t.Error("a repeated file gives other entries")
	}
}

func FuzzClaude(f *testing.F) { imp.Fuzz(f, claudecode.Format.Name, formattest.Claude(1, 12)) }
