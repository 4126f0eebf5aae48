package agent

import (
	"context"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/repo"
)

// A long result becomes an artifact: its entry refers to it, and the model searches in the artifact.
func TestLongResult(t *testing.T) {
	set := tools.New(tools.Options{Dir: t.TempDir(), Tape: func(ctx context.Context, _ hooks.ToolContext) (*repo.Tape, error) { return TapeOf(ctx) }})
	t.Cleanup(set.Close)
	var id string
	h := newHost(t, newStore(t), func(n int, r models.Request) hooks.Stream {
		switch n {
		case 1:
			return says("", `b1 bash {"cmd":"seq 1 20000"}`)
		case 2:
			_, rest, _ := strings.Cut(sent(r), "artifact.read id=")
			id, _, _ = strings.Cut(rest, " ")
			return says("", `r1 artifact_search {"id":"`+id+`","query":"12345"}`)
		}
		return says("found")
	}, func(o *Options) { o.Tools = set })
	h.mustTurn("m", "count")
	found, refers := false, false
	for _, e := range h.entries() {
		found = found || e.Kind == repo.KindToolResult && strings.Contains(brief(e), "12345")
		refers = refers || strings.Contains(string(e.Payload), `"artifact":{"id":"`+id)
	}
	if id == "" || !found || !refers {
		t.Errorf("artifact %q: the search finds the text: %v; an entry refers to it: %v", id, found, refers)
	}
}
