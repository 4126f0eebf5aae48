package importer

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/repo"
)

func importFile(t *testing.T, s *repo.Store, path string, o Options) Result {
	t.Helper()
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	res, err := File(context.Background(), s, path, src, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestScratchFixtures(t *testing.T) {
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	ctx := context.Background()
	s, _, err := repo.Init(ctx, filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../../shared/fixtures/*/*.jsonl")
	for _, f := range files {
		start := time.Now()
		res := importFile(t, s, f, Options{Format: Auto})
		t.Logf("%+v %v", res, time.Since(start))
		again := importFile(t, s, f, Options{Format: Auto})
		if again.Imported != 0 {
			t.Errorf("again: %+v", again)
		}
		tp, _ := s.Tape(ctx, res.Tape)
		i, err := tp.Info(ctx)
		t.Logf("%+v %v", i, err)
		if i.Usage.TotalTokens != nil {
			t.Log(*i.Usage.TotalTokens)
		}
	}
	rep, err := s.Verify(ctx)
	t.Logf("%+v %v", rep, err)
}

func TestScratchBub(t *testing.T) {
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	ctx := context.Background()
	dir := t.TempDir()
	s, _, err := repo.Init(ctx, filepath.Join(dir, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"id": 1, "kind": "anchor", "payload": {"name": "session/start", "state": {"owner": "human"}}, "meta": {}, "date": "2026-01-01T00:00:00.000000+00:00"}
{"id": 2, "kind": "message", "payload": {"role": "user", "content": "数据"}, "meta": {}, "date": "2026-01-01T00:00:01.000000+00:00"}
{"id": 3, "kind": "anchor", "payload": {"name": "p2"}, "meta": {}, "date": "2026-01-01T00:00:02.000000+00:00"}
{"id": 4, "kind": "event", "payload": {"name": "run", "data": {"x": 1.0}}, "meta": {}, "date": "2026-01-01T00:00:03.000000+00:00"}
`)
	p := filepath.Join(dir, "abc__my%2Ftape.jsonl")
	_ = os.WriteFile(p, raw, 0o600)
	for range 2 {
		t.Logf("%+v", importFile(t, s, p, Options{Format: Auto}))
		t.Logf("%+v", importFile(t, s, p, Options{Format: Auto, Tape: "main"}))
	}
	tp, err := s.Tape(ctx, "my/tape")
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for e, err := range tp.Entries(ctx, repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, e.Raw...), '\n')
	}
	if !bytes.Equal(out, raw) {
		t.Errorf("%s", out)
	}
	rep, err := s.Verify(ctx)
	t.Logf("%+v %v", rep, err)
}
