package recorder_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"tape/internal/sessions/spool"
	"tape/repo"
)

// TestOddPayloads: no input of a hook prevents others from being recorded.
func TestOddPayloads(t *testing.T) {
	w := newWorld(t)
	for _, raw := range []string{"", "{}", "[]", `"x"`, "{", `{"session_id":5}`, `{"session_id":"../../x","transcript_path":"../x","cwd":"/","hook_event_name":"Stop"}`,
		`{"session_id":"n","transcript_path":null,"cwd":"` + w.home + `","hook_event_name":"Stop","last_assistant_message":null}`} {
		w.say("codex", []byte(raw))
	}
	s := w.session("one", "shop")
	s.write(1)
	s.say("Stop")
	w.run()
	s.has(1)
	if ids := slices.Sorted(maps.Keys(w.known())); !slices.Equal(ids, []string{"../../x", "n", "one"}) {
		t.Errorf("the known sessions are %q", ids)
	}
	if left, err := spool.Notes(w.Places); err != nil || len(left) > 0 {
		t.Errorf("%d notes are left: %v", len(left), err)
	}
}

// TestPush: a session that ends is pushed if the settings say so, and a refusal is kept.
func TestPush(t *testing.T) {
	w := newWorld(t)
	s := w.session("one", "shop")
	s.write(1)
	var pushed []string
	refuse := errors.New("a secret")
	w.Push = func(_ context.Context, _ *repo.Store, tape string) error {
		pushed = append(pushed, tape)
		return refuse
	}
	end := func(event string) {
		t.Helper()
		if err := spool.Add(nil, w.Places, spool.Note{Agent: "claude-code", At: time.Now(), Push: true, Payload: s.payload(event)}); err != nil {
			t.Fatal(err)
		}
		w.run()
	}
	end("Stop")
	end("SessionEnd")
	if k := w.known()["one"]; !slices.Equal(pushed, []string{"one"}) || k.Refused != "a secret" || k.PushDue {
		t.Errorf("after a refusal, pushed %q, not \"one\", and the session is %+v", pushed, k)
	}
	refuse = nil
	end("SessionEnd")
	if k := w.known()["one"]; len(pushed) != 2 || k.Refused != "" {
		t.Errorf("after a push that succeeded, pushed %q, and the session is %+v", pushed, k)
	}
}
