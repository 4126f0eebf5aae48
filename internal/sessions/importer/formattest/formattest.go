// Package formattest is what the tests of the formats share: reading and checking a source, and properties
// that hold for each format.
package formattest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Importer has the functions of the importer. They are passed in, because the importer's tests use this
// package, too.
type Importer struct {
	Formats interface {
		Find(name string) *record.Format
		Detect(name string, head []byte) *record.Format
	}
	ReadAs     func(ctx context.Context, f *record.Format, src record.Source, seen func(fork, key string) bool, emit func(record.Item) error) (record.Stats, error)
	DescribeAs func(ctx context.Context, f *record.Format, src record.Source) (record.Info, error)
}

// Read reads a source in the format with a name.
func (x Importer) Read(ctx context.Context, format string, src record.Source, seen func(fork, key string) bool, emit func(record.Item) error) (record.Stats, error) {
	return x.ReadAs(ctx, x.Formats.Find(format), src, seen, emit)
}

// Describe describes a source in the format with a name.
func (x Importer) Describe(ctx context.Context, format string, src record.Source) (record.Info, error) {
	return x.DescribeAs(ctx, x.Formats.Find(format), src)
}

// Detect returns the name of the format that a file is detected as.
func (x Importer) Detect(name string, head []byte) (format string, ok bool) {
	f := x.Formats.Detect(name, head)
	if f == nil {
		return "", false
	}
	return f.Name, true
}

// Fixture returns the transcripts of real sessions in a format, by file name. They are beside the project;
// without them, the test is skipped.
func Fixture(t testing.TB, format string) map[string][]byte {
	t.Helper()
	root, _ := os.Getwd()
	for root != filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	names, _ := filepath.Glob(filepath.Join(root, "..", "shared", "fixtures", format, "*"))
	if len(names) == 0 {
		t.Skipf("no transcripts of %s", format)
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

// Source returns a source in memory.
func Source(name string, b []byte) record.Source {
	return record.Source{Name: name, R: bytes.NewReader(b), Size: int64(len(b))}
}

// Seen has the keys on each tape, as a store does.
type Seen map[string]bool

// Has reports whether a tape has a key.
func (s Seen) Has(tape, key string) bool { return s[tape+"\x00"+key] }

// Items reads b, checks every item, and adds the keys to seen.
func (x Importer) Items(t testing.TB, format, name string, b []byte, seen Seen) ([]record.Item, record.Stats) {
	t.Helper()
	var items []record.Item
	added := Seen{}
	stats, err := x.Read(context.Background(), format, Source(name, b), seen.Has, func(it record.Item) error {
		if len(it.Keys) == 0 {
			t.Errorf("an entry without keys: %s", it.Entry.Payload)
		}
		if it.Fork != "" && !strings.Contains(string(it.Entry.Meta), `"context":false`) {
			t.Errorf("an entry of fork %s is not marked as hidden: %.200s", it.Fork, it.Entry.Payload)
		}
		for _, k := range it.Keys {
			id := it.Fork + "\x00" + k
			if seen[id] || added[id] {
				t.Errorf("key %q is used twice, now by %.200s", k, it.Entry.Payload)
			}
			added[id] = true
		}
		d, err := it.Entry.Normalize()
		if err != nil {
			t.Errorf("invalid draft: %v: %.300s", err, it.Entry.Payload)
		}
		if line := jsonl.AppendLine(nil, 1, d); len(line) > jsonl.DefaultMaxLine {
			t.Errorf("an entry of %d bytes, more than %d", len(line), jsonl.DefaultMaxLine)
		}
		if x.Formats.Find(format).Keys == nil { // otherwise entries have no keys in meta
			if got := strings.Join(jsonl.Strings(jsonl.Get(it.Entry.Meta, "source", "ids")), " "); got != strings.Join(it.Keys, " ") {
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

// Typed returns what persons asked in items.
func Typed(items []record.Item) (typed []string) {
	for _, it := range items {
		if asked := about.Prompt(layout.Entry{Kind: it.Entry.Kind, Payload: it.Entry.Payload, Meta: it.Entry.Meta}); asked != "" {
			typed = append(typed, asked)
		}
	}
	return typed
}

// Show writes items as lines, for comparing.
func Show(items []record.Item) string {
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

// Want fails unless Show returns these lines.
func Want(t *testing.T, items []record.Item, wants ...string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(Show(items), "\n"), "\n")
	for i := range max(len(got), len(wants)) {
		g, w := "(none)", "(none)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(wants) {
			w = wants[i]
		}
		if g != w {
			t.Errorf("entry %d:\n got %s\nwant %s", i+1, g, w)
		}
	}
}

// Decode decodes a payload with the standard library.
func Decode(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %.200s", err, raw)
	}
	return v
}

// Leaves calls add with all strings in v, also with those in a member "arguments" that is JSON.
func Leaves(v any, add func(string)) {
	switch v := v.(type) {
	case string:
		add(v)
	case []any:
		for _, e := range v {
			Leaves(e, add)
		}
	case map[string]any:
		for name, e := range v {
			if s, ok := e.(string); ok && name == "arguments" {
				var args any
				if json.Unmarshal([]byte(s), &args) == nil {
					Leaves(args, add)
				}
			}
			Leaves(e, add)
		}
	}
}

// Lines joins lines, with a newline after each.
func Lines(ls ...string) []byte { return []byte(strings.Join(ls, "\n") + "\n") }

// KeysOf returns all keys of items, sorted.
func KeysOf(items []record.Item) []string {
	var keys []string
	for _, it := range items {
		for _, k := range it.Keys {
			keys = append(keys, it.Fork+" "+k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Grows checks that reading a file again while it grows gives the same as reading it once.
func (x Importer) Grows(t *testing.T, format string, ls []string, every int) {
	t.Helper()
	whole := Lines(ls...)
	once, _ := x.Items(t, format, "x.jsonl", whole, Seen{})
	want := KeysOf(once)
	for n := 0; n <= len(ls); n += every {
		seen := Seen{}
		first, _ := x.Items(t, format, "x.jsonl", Lines(ls[:n]...), seen)
		second, _ := x.Items(t, format, "x.jsonl", whole, seen)
		if got := KeysOf(append(first, second...)); !slices.Equal(got, want) {
			t.Fatalf("prefix of %d of %d lines: keys differ\nonly once: %v\nonly grown: %v", n, len(ls), Minus(want, got), Minus(got, want))
		}
		if third, _ := x.Items(t, format, "x.jsonl", whole, seen); len(third) != 0 {
			t.Fatalf("the whole file read again: %d items, want none", len(third))
		}
	}
}

// findsAfterCut checks that a line is found although a write was cut off before it, without a newline.
func (x Importer) findsAfterCut(t testing.TB, format string, sample []string) {
	t.Helper()
	whole, stats := x.Items(t, format, "x.jsonl", Lines(sample...), Seen{})
	want := KeysOf(whole)
	for i, l := range sample {
		for n := 1; n < len(l); n += 7 {
			torn := slices.Clone(sample)
			torn[i] = l[:n] + l
			got, cut := x.Items(t, format, "x.jsonl", Lines(torn...), Seen{})
			if lost := Minus(want, KeysOf(got)); len(lost) > 0 || cut.Records != stats.Records || cut.Damaged != 1 {
				t.Fatalf("line %d after %d bytes of itself: lost %v; %+v, want %+v and a damaged line\n%s", i+1, n, lost, cut, stats, l[:n])
			}
		}
	}
}

// Minus returns the strings of a that are not in b.
func Minus(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// Fuzz checks that any input gives valid drafts and no key twice, and that reading it again gives nothing.
// First it calls findsAfterCut.
func (x Importer) Fuzz(f *testing.F, format string, sample []string) {
	x.findsAfterCut(f, format, sample)
	f.Add(Lines(sample...))
	for _, l := range sample {
		f.Add([]byte(l))
		f.Add([]byte(l[:len(l)*2/3] + l))
	}
	f.Add([]byte("[" + strings.Join(sample, ",") + "]"))
	f.Add([]byte(`{"messages":[` + strings.Join(sample, ",") + `],"sessionId":"s"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x.Detect("x.jsonl", b)
		seen := Seen{}
		_, first := x.Items(t, format, "x.jsonl", b, seen)
		again, second := x.Items(t, format, "x.jsonl", b, seen)
		if len(again) > 0 {
			t.Errorf("read again, want no entries, got: %s", Show(again))
		}
		if first.Records != second.Records || first.Damaged != second.Damaged {
			t.Errorf("first %+v, read again %+v", first, second)
		}
		if _, err := x.Describe(t.Context(), format, Source("x.jsonl", b)); err != nil {
			t.Error(err)
		}
	})
}
