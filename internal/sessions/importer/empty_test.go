package importer

import (
	"path/filepath"
	"testing"

	storetest "tape/internal/testkit/store"
)

// TestEmpty: a session in which nobody says anything is none. One whose messages have a form that its format does not know
// is kept, with events.
func TestEmpty(t *testing.T) {
	meta := `{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"c-1","cwd":"/p"}}`
	for name, c := range map[string]struct {
		more  string
		empty bool
	}{
		"nothing":      {meta, true},
		"only its own": {`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}`, true},
		"a call":       {`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"function_call","call_id":"1","name":"shell","arguments":"{}"}}`, false},
		"without type": {`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"role":"user","content":[{"type":"input_text","text":"hi"}]}}`, false},
		"new form":     {`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"speech","role":"assistant","said":"hi"}}`, false},
	} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		storetest.WriteFile(t, path, lines(meta, c.more))
		if IsEmpty(t.Context(), path) != c.empty {
			t.Errorf("%s: empty is %v, want %v", name, !c.empty, c.empty)
		}
		s := storetest.New(t, nil)
		if res := importOne(t, s, path); res.Empty != c.empty || (res.Imported == 0) != c.empty {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
