package importer

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestCompressed: a rollout that Codex has compressed is the same session as the plain file, whichever is imported first
// (vshulcz/deja-vu#3640, PixelPaw-Labs/codex-trace#209); one that is cut off or bursts is refused.
func TestCompressed(t *testing.T) {
	text := lines(
		`{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"c-1","cwd":"/p"}}`,
		`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`)
	zip := func(b []byte) []byte {
		w, err := zstd.NewWriter(nil)
		storetest.Must(t, err)
		return w.EncodeAll(b, nil)
	}
	for _, order := range [][]string{{"plain", "zst"}, {"zst", "plain"}} {
		dir := t.TempDir()
		paths := map[string]string{"plain": filepath.Join(dir, "rollout-1.jsonl"), "zst": filepath.Join(dir, "rollout-1.jsonl.zst")}
		storetest.Must(t, os.WriteFile(paths["plain"], text, 0o600))
		storetest.Must(t, os.WriteFile(paths["zst"], zip(text), 0o600))
		s := storetest.New(t, nil)
		for i, which := range order {
			res := importOne(t, s, paths[which])
			if res.Tape != "c-1" || res.Format != Codex || (res.Imported > 0) != (i == 0) {
				t.Errorf("%v: import %d gives %+v", order, i, res)
			}
		}
		if files, err := Files(t.Context(), dir); err != nil || len(files) != 2 {
			t.Errorf("%d files in the folder, %v", len(files), err)
		}
	}
	for name, b := range map[string][]byte{"cut": zip(text)[:40], "burst": zip(bytes.Repeat([]byte(" "), 64<<20)), "damaged": []byte("not compressed")} {
		path := filepath.Join(t.TempDir(), name+".jsonl.zst")
		storetest.Must(t, os.WriteFile(path, b, 0o600))
		if _, _, err := OpenSource(path, nil); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %v, want %v", name, err, repo.ErrInvalid)
		}
	}
}

func importOne(t *testing.T, s *repo.Store, path string) (res Result) {
	t.Helper()
	b := NewBatch(s, "test", OpenFile, func(r Result, err error) error {
		res = r
		return err
	})
	defer b.Close()
	storetest.Must(t, b.File(t.Context(), path, Options{}))
	storetest.Must(t, b.Flush(t.Context()))
	return res
}
