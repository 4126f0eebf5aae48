package bub_test

import (
	"context"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var bubSample = []string{
	`{"id": 1, "kind": "anchor", "payload": {"name": "session/start", "state": {"owner": "human"}}, "meta": {}, "date": "2026-01-01T00:00:00+00:00"}`,
	`{"id": 2, "kind": "message", "payload": {"role": "user", "content": "你好"}, "meta": {"run_id": "r"}, "timestamp": 1767225600.25}`,
	`{"id": 3, "kind": "event", "payload": {"name": "run", "data": {"usage": {"total_tokens": 1e2}}}, "date": "2026-01-01T00:00:01+00:00", "more": [1]}`,
	`{"id": 4, "kind": "message", "payload": {"role": "user", "content": "again"}, "meta": {}, "date": "2026-01-01T00:00:02+00:00"}`,
	`{"id": 5, "kind": "message", "payload": {"role": "user", "content": "again"}, "meta": {}, "date": "2026-01-01T00:00:02+00:00"}`,
}

func TestBub(t *testing.T) {
	b := formattest.Lines(bubSample...)
	items, _ := imp.Items(t, bub.Format.Name, "0f__telegram%3A12.jsonl", b, formattest.Seen{})
	if len(items) != len(bubSample) {
		t.Fatalf("%d items, want %d", len(items), len(bubSample))
	}
	var keys bub.Keys
	for i, it := range items {
		if string(it.Line) != bubSample[i] {
			t.Errorf("line %d: %s, want %s", i+1, it.Line, bubSample[i])
		}
		d, err := it.Entry.Normalize()
		if err != nil {
			t.Fatal(err)
		}
		if k := keys.Next(d); k != it.Keys[0] {
			t.Errorf("key of entry %d: %s, want %s", i+1, k, it.Keys[0])
		}
	}
	if got := items[1].Entry.Date; got != "2026-01-01T00:00:00.250000+00:00" {
		t.Errorf("date %s, want that of the timestamp", got)
	}
	info, err := importer.Describe(context.Background(), &bub.Format, formattest.Source("/x/0f__telegram%3A12.jsonl", b))
	if err != nil || info.Session != "telegram:12" {
		t.Errorf("%+v, %v; want session telegram:12", info, err)
	}
}

func FuzzBub(f *testing.F) { imp.Fuzz(f, bub.Format.Name, bubSample) }

func TestDetected(t *testing.T) {
	if got, ok := imp.Detect("x", formattest.Lines(bubSample...)); !ok || got != bub.Format.Name {
		t.Errorf("taken for %q, want %q", got, bub.Format.Name)
	}
}

func TestGrows(t *testing.T) { imp.Grows(t, bub.Format.Name, bubSample, 1) }
