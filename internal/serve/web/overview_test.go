package web

import (
	"testing"

	"tape/internal/show/outline"
)

// TestReadyOutline: an outline that is ready is always shown, even on a page that does not wait for it.
func TestReadyOutline(t *testing.T) {
	p := &pending{ready: make(chan struct{}), outline: &outline.Outline{}}
	if p.soon(0) != nil {
		t.Error("an outline that is not ready is shown")
	}
	close(p.ready)
	for range 100 {
		if p.soon(0) == nil {
			t.Fatal("an outline that is ready is not shown")
		}
	}
}

// TestTurnsAround: the list of prompts beside an entry has the prompt that the entry belongs to, and says which entries it
// covers, however many prompts there are. Somebody wished for it in jhlee0409/claude-code-history-viewer#36.
func TestTurnsAround(t *testing.T) {
	for _, many := range []int{0, 1, promptsMax, promptsMax + 1, 5 * promptsMax} {
		var turns []outline.Turn
		for i := range many {
			turns = append(turns, outline.Turn{Entry: int64(10 * (i + 1))})
		}
		for entry := int64(0); entry < int64(10*many+15); entry += 7 {
			d := overview{Outline: &outline.Outline{Turns: turns, Phases: []outline.Phase{{Seq: 1, First: 1}}}}
			d.turns(turnsAround(turns, entry))
			shown := d.Phases[0].Turns
			if len(shown) != min(many, promptsMax) {
				t.Fatalf("%d prompts, at @%d: %d are shown", many, entry, len(shown))
			}
			if many == 0 {
				continue
			}
			if d.Before && d.FirstShown > entry || d.NextShown > 0 && d.NextShown <= entry {
				t.Errorf("%d prompts, at @%d: those from @%d up to @%d are shown", many, entry, d.FirstShown, d.NextShown)
			}
			if d.Before != (shown[0].Entry > 10) || (d.NextShown == 0) != (shown[len(shown)-1].Entry == turns[many-1].Entry) {
				t.Errorf("%d prompts, at @%d: before %v, next @%d", many, entry, d.Before, d.NextShown)
			}
		}
	}
}
