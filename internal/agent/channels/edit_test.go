package channels

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/git/disk"
)

func (r *rig) edit(session, id, text string) error {
	return r.m.Handle(r.t.Context(), hooks.Envelope{"channel": "wire", "session_id": session, "message_id": id, "content": text, "edited": true})
}

// An edited message counts while it waits, gathered or queued; later it is ignored.
func TestEdited(t *testing.T) {
	running, goOn := make(chan string, 10), make(chan bool)
	open := sync.OnceFunc(func() { close(goOn) })
	r := newRig(t, Options{Silence: time.Hour, Longest: time.Hour}, echo(func(text string) {
		running <- text
		if text == "slow" {
			<-goOn
		}
	}))
	r.run()
	t.Cleanup(open)
	edit := func(id, text string) {
		t.Helper()
		if err := r.edit("s", id, text); err != nil {
			t.Fatal(err)
		}
	}
	r.say("s", "1", "slwo")
	edit("1", "slow") // while it is gathered
	r.m.mu.Lock()
	s := r.m.sessions["s"]
	r.m.mu.Unlock()
	r.m.release(s)
	if got := <-running; got != "slow" {
		t.Fatalf("the turn is about %q, want slow", got)
	}
	edit("1", "too late")
	r.say("s", "2", ",twoo")
	r.until("it waits", func() bool {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		return len(s.queue) == 1
	})
	edit("2", ",two") // while it is queued
	open()
	r.wantSent("re: slow", "re: ,two")
	edit("2", ",three")
	edit("3", ",never seen before") // not known yet, so it is a new message
	r.wantSent("re: slow", "re: ,two", "re: ,never seen before")
}

// What is said after a command, or before it, does not become a part of it: neither messages that follow a running turn,
// nor a message that an edit makes a command.
func TestCommandsStayAlone(t *testing.T) {
	running, goOn := make(chan string, 10), make(chan bool)
	open := sync.OnceFunc(func() { close(goOn) })
	plugin := echo(func(text string) {
		running <- text
		if text == "slow" {
			<-goOn
		}
	})
	plugin.AdmitMessage = func(context.Context, string, hooks.Envelope, hooks.Turn) (hooks.Admission, error) {
		return hooks.FollowUp, nil
	}
	r := newRig(t, Options{Silence: -1}, plugin)
	r.run()
	t.Cleanup(open)
	r.say("s", "1", "slow")
	<-running
	for id, text := range []string{"a", "b", ",git status", "thanks", "c", "d"} {
		r.say("s", "m"+strconv.Itoa(id), text)
	}
	r.until("they wait", func() bool {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		s := r.m.sessions["s"]
		return s != nil && len(s.arrived) == 0 && !s.deciding && len(s.queue) == 3
	})
	if err := r.edit("s", "m0", ",rm x"); err != nil {
		t.Fatal(err)
	}
	open()
	r.wantSent("re: slow", "re: a\nb", "re: ,git status", "re: thanks\nc\nd")
}

// If the program ends between storing an edited message and dropping the old one, only the new one
// is answered.
func TestEditInterrupted(t *testing.T) {
	dir, broken := filepath.Join(t.TempDir(), "messages"), errors.New("power is off")
	off := false
	fs := &disk.FS{Fault: func(op disk.Op, _ string) error {
		if off && op == disk.OpRemove {
			return broken
		}
		return nil
	}}
	r := newRig(t, Options{Dir: dir, Silence: time.Hour, Longest: time.Hour, FS: fs}, echo(nil))
	r.run()
	r.say("s", "1", "one")
	off = true
	if err := r.edit("s", "1", "two"); !errors.Is(err, broken) {
		t.Fatalf("the edit gives %v, want %v", err, broken)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if n := notesIn(t, dir); n != 2 {
		t.Fatalf("%d notes are on disk, want 2", n)
	}
	again := newRig(t, Options{Dir: dir}, echo(nil))
	again.run()
	again.wantSent("re: two")
	again.until("nothing waits", func() bool { return notesIn(t, dir) == 0 })
}
