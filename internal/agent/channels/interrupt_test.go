package channels

import (
	"context"
	"testing"
	"time"

	"tape/hooks"
)

// TestStop: ,stop interrupts the running turn without waiting for it, and leaves nothing on disk.
func TestStop(t *testing.T) {
	begun := make(chan string, 2)
	r := newRig(t, Options{}, &hooks.Plugin{RunModel: func(ctx context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		if begun <- p.Text; p.Text == "long" {
			<-ctx.Done()
		}
		return &p.Text, ctx.Err()
	}})
	r.run()
	r.say("s", "0", ",stop")
	r.wantSent("No turn is running.")
	r.say("s", "1", "long")
	<-begun
	r.say("s", "2", ",stop")
	if err := r.m.Wait(t.Context(), "s"); err != nil || notesIn(t, r.m.o.Dir) != 0 {
		t.Errorf("after ,stop: %v, %d messages are on disk", err, notesIn(t, r.m.o.Dir))
	}
	r.wantSent("No turn is running.", "The turn is interrupted.")
}

// TestTakeBack: a message that steers a turn can be taken back until the turn has read it. Other
// messages stay.
func TestTakeBack(t *testing.T) {
	begun, goOn := make(chan string, 2), make(chan bool)
	r := newRig(t, Options{}, &hooks.Plugin{
		AdmitMessage: func(_ context.Context, _ string, _ hooks.Envelope, turn hooks.Turn) (hooks.Admission, error) {
			if turn.Running {
				return hooks.Steer, nil
			}
			return hooks.Admit, nil
		},
		RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			if begun <- p.Text; p.Text == "long" {
				<-goOn
			}
			return &p.Text, nil
		}})
	r.run()
	r.say("s", "1", "long")
	<-begun
	r.say("s", "2", "taken")
	r.say("s", "3", "stays")
	inbox, err := r.rt.SteeringInbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.until("both steer", func() bool { return inbox.Len("s") == 2 })
	for i, want := range []bool{true, false} {
		if ok, err := r.m.TakeBack(t.Context(), "s", "2"); ok != want || err != nil {
			t.Errorf("take back, time %d: %v, want %v, %v", i+1, ok, want, err)
		}
	}
	close(goOn)
	if err := r.m.Wait(t.Context(), "s"); err != nil || notesIn(t, r.m.o.Dir) != 0 {
		t.Errorf("after the turn: %v, %d messages are on disk", err, notesIn(t, r.m.o.Dir))
	}
	r.wantSent("long", "stays")
}

// TestTakeBackQueued: a message that waits for a turn of its own can be taken back, and then no turn answers it.
func TestTakeBackQueued(t *testing.T) {
	begun, goOn := make(chan string, 3), make(chan bool)
	r := newRig(t, Options{}, &hooks.Plugin{RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		if begun <- p.Text; p.Text == "long" {
			<-goOn
		}
		return &p.Text, nil
	}})
	r.run()
	r.say("s", "1", "long")
	<-begun
	r.say("s", "2", "taken")
	r.say("s", "3", "stays")
	r.until("both wait", func() bool { r.m.mu.Lock(); defer r.m.mu.Unlock(); return len(r.m.sessions["s"].queue) == 2 })
	for i, want := range []bool{true, false} {
		if ok, err := r.m.TakeBack(t.Context(), "s", "2"); ok != want || err != nil {
			t.Errorf("take back, time %d: %v, want %v, %v", i+1, ok, want, err)
		}
	}
	if n := notesIn(t, r.m.o.Dir); n != 2 {
		t.Errorf("%d messages are on disk, want 2", n)
	}
	close(goOn)
	r.wantSent("long", "stays")
}

// TestTakeBackUnread: as long as no turn has read a message, it can be taken back, also from a batch of several and
// while it waits for its admission. The others stay.
func TestTakeBackUnread(t *testing.T) {
	begun, goOn, asked, decide := make(chan string, 3), make(chan bool), make(chan bool), make(chan bool)
	r := newRig(t, Options{}, &hooks.Plugin{
		AdmitMessage: func(_ context.Context, _ string, m hooks.Envelope, turn hooks.Turn) (hooks.Admission, error) {
			if m.Text(hooks.KeyContent) == "undecided" {
				asked <- true
				<-decide
			}
			if turn.Running {
				return hooks.FollowUp, nil
			}
			return hooks.Admit, nil
		},
		RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			if begun <- p.Text; p.Text == "long" {
				<-goOn
			}
			return &p.Text, nil
		}})
	r.run()
	r.say("s", "1", "long")
	<-begun
	takeBack := func(id string, want bool) {
		t.Helper()
		if ok, err := r.m.TakeBack(t.Context(), "s", id); ok != want || err != nil {
			t.Errorf("take back %s: %v, want %v, %v", id, ok, want, err)
		}
	}
	r.say("s", "2", "taken")
	r.say("s", "3", "stays")
	r.say("s", "4", "undecided")
	<-asked
	r.say("s", "5", "behind it")
	takeBack("2", true)
	takeBack("5", true)
	takeBack("1", false)
	if ok, err := r.m.TakeBack(t.Context(), "s", "4"); ok || err == nil {
		t.Errorf("while its admission is decided: %v, want an error, %v", ok, err)
	}
	decide <- true
	r.until("it is queued", func() bool { r.m.mu.Lock(); defer r.m.mu.Unlock(); return !r.m.sessions["s"].deciding })
	takeBack("4", true)
	if n := notesIn(t, r.m.o.Dir); n != 2 {
		t.Errorf("%d messages are on disk, want 2", n)
	}
	close(goOn)
	r.wantSent("long", "stays")
}

// TestTakeBackGathered: a session whose only message was taken back has nothing to do.
func TestTakeBackGathered(t *testing.T) {
	r := newRig(t, Options{Silence: time.Hour, Longest: time.Hour}, echo(nil))
	r.run()
	r.say("s", "1", "taken")
	if ok, err := r.m.TakeBack(t.Context(), "s", "1"); !ok || err != nil {
		t.Errorf("take back: %v, want true, %v", ok, err)
	}
	if err := r.m.Wait(t.Context(), "s"); err != nil || notesIn(t, r.m.o.Dir) != 0 {
		t.Errorf("then: %v, %d messages are on disk", err, notesIn(t, r.m.o.Dir))
	}
}
