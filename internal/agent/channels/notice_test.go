package channels

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tape/hooks"
)

// An error message within a turn is not the turn's answer: if the program ends before the answer, the
// message is answered after the next start.
func TestNoticeIsNoAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "messages")
	var r *rig
	r = newRig(t, Options{Dir: dir, Grace: 50 * time.Millisecond}, &hooks.Plugin{
		RunModel: func(ctx context.Context, _ hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			r.rt.NotifyError(ctx, "before_tool_call", errors.New("skipped"), hooks.Envelope{"channel": "wire", "session_id": "s"})
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
	r.run()
	r.say("s", "1", "long")
	r.wantSent("Error: before_tool_call: skipped")
	if err := r.stop(); err != nil || notesIn(t, dir) != 1 {
		t.Fatalf("stopped: %v, %d messages are on disk, want 1", err, notesIn(t, dir))
	}
	again := newRig(t, Options{Dir: dir}, echo(nil))
	again.run()
	again.wantSent("re: long")
}
