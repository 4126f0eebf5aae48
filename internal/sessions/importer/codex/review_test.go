package codex_test

import (
	"fmt"
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/record"
)

// TestReview: a review counts only for the text of the hook that was reviewed. The hashes are
// those that Codex 0.169 has stored for these hooks.
func TestReview(t *testing.T) {
	const file = "/home/me/.codex/hooks.json"
	hooks := []record.Hook{
		{Event: "SessionStart", Handler: record.Handler{Type: "command", Timeout: 5,
			Command: "{ '/opt/tape' hook codex || tape hook codex; } >/dev/null 2>&1; exit 0"}},
		{Event: "SessionEnd", Group: 1, Handler: record.Handler{Type: "command", Command: "tape hook codex"}},
	}
	hashes := []string{"sha256:ba3bbb72fec2d449dd4825eea531873de3e2a6de6676e10df888485091569c73", "sha256:d02b7559b871dfb33bbfa562366219a1097155bfe19a0e38291c3d201490aa42"}
	for want, change := range map[record.Trust]func(state map[string]any){
		record.Reviewed:    func(map[string]any) {},
		record.Changed:     func(state map[string]any) { state["trusted_hash"] = state["trusted_hash"].(string)[:20] },
		record.NotReviewed: func(state map[string]any) { delete(state, "trusted_hash") },
		record.SwitchedOff: func(state map[string]any) { state["enabled"] = false },
	} {
		states := map[string]any{}
		for i, name := range []string{"session_start", "session_end"} {
			state := map[string]any{"trusted_hash": hashes[i]}
			change(state)
			states[fmt.Sprintf("%s:%s:%d:0", file, name, i)] = state
		}
		settings := map[string]any{"hooks": map[string]any{"state": states}}
		if got := codex.Format.Agent.Review(settings, file, hooks); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
