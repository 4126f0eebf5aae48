package recorder_test

//tape:race: hooks come in while it works

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	"tape/repo"
)

// chat is a transcript of Claude Code with some turns.
func chat(session, cwd string, turns int) string {
	var out strings.Builder
	parent := "null"
	for i := range turns {
		for _, role := range []string{"user", "assistant"} {
			id := fmt.Sprintf("%s-%d-%s", session, i, role)
			fmt.Fprintf(&out, `{"parentUuid":%s,"isSidechain":false,"type":%q,"uuid":%q,"sessionId":%q,"cwd":%q,"timestamp":"2026-11-22T09:%02d:00.000Z","message":{"role":%q,"id":%q,"content":[{"type":"text","text":"%s %d"}]}}`+"\n",
				parent, role, id, session, cwd, i%60, role, "msg_"+id, role, i)
			parent = fmt.Sprintf("%q", id)
		}
	}
	return out.String()
}

// session is a session of Claude Code in a project of the world.
type session struct {
	w                 *world
	id, project, file string
}

func (w *world) session(id, project string) *session {
	return &session{w, id, filepath.Join(w.home, project), filepath.Join(w.home, ".claude", "projects", project, id+".jsonl")}
}

func (s *session) write(turns int) {
	s.w.t.Helper()
	err := errors.Join(os.MkdirAll(s.project, 0o700), os.MkdirAll(filepath.Dir(s.file), 0o700),
		os.WriteFile(s.file, []byte(chat(s.id, s.project, turns)), 0o600))
	if err != nil {
		s.w.t.Fatal(err)
	}
}

func (s *session) payload(event string) []byte {
	return fmt.Appendf(nil, `{"session_id":%q,"transcript_path":%q,"cwd":%q,"hook_event_name":%q}`, s.id, s.file, s.project, event)
}

func (s *session) say(event string) { s.w.t.Helper(); s.w.say("claude-code", s.payload(event)) }

// texts are the messages of a session's tape, from whichever workspace has it.
func (s *session) texts() []string {
	s.w.t.Helper()
	all, err := workspace.Workspaces()
	if err != nil {
		s.w.t.Fatal(err)
	}
	var out []string
	for _, dir := range all {
		for _, line := range tapes(s.w.t, dir)[s.id] {
			if i := strings.Index(line, `"content":`); i >= 0 {
				fields := strings.FieldsFunc(line[i:], func(r rune) bool { return strings.ContainsRune(`":[]{},`, r) })
				i = slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "user ") || strings.HasPrefix(f, "assistant ") })
				out = append(out, fields[i])
			}
		}
	}
	return out
}

func (s *session) has(turns int) {
	s.w.t.Helper()
	var want []string
	for i := range turns {
		want = append(want, fmt.Sprintf("user %d", i), fmt.Sprintf("assistant %d", i))
	}
	if got := s.texts(); !slices.Equal(got, want) {
		s.w.t.Errorf("session %s has %q, not %q", s.id, got, want)
	}
}

func (w *world) known() map[string]*recorder.Session {
	w.t.Helper()
	list, err := recorder.Sessions(w.Places)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]*recorder.Session{}
	for _, s := range list {
		out[s.ID] = s
	}
	return out
}

func (w *world) workspaces(want int) []string {
	w.t.Helper()
	all, err := workspace.Workspaces()
	if err != nil || len(all) != want {
		w.t.Fatalf("there are %d workspaces, not %d: %v", len(all), want, err)
	}
	return all
}

// TestKilled: if catching up is killed at any disk operation, the next event continues it, and nothing
// is lost or recorded twice.
func TestKilled(t *testing.T) {
	for n := 0; ; n += 3 {
		w := newWorld(t)
		s := w.session("one", "shop")
		s.write(1)
		s.say("UserPromptSubmit")
		w.run()
		s.write(3)
		s.say("Stop")
		var mu sync.Mutex
		count := 0
		w.FS = &disk.FS{Fault: func(disk.Op, string) error {
			mu.Lock()
			defer mu.Unlock()
			if count++; count > n { // from here on nothing happens
				return syscall.EIO
			}
			return nil
		}}
		w.Open = func(ctx context.Context, dir, _ string) (*repo.Store, error) {
			return repo.Open(ctx, dir, &repo.Options{Fs: w.FS})
		}
		err := w.Run(context.Background(), false)
		w.FS, w.Open = nil, open
		if count <= n {
			if err != nil {
				t.Error(err)
			}
			s.has(3)
			return
		}
		// This is the state that a killed process leaves: its locks are released, too.
		s.say("Stop")
		w.run()
		s.has(3)
		if k := w.known()["one"]; k.Due || k.Trouble != "" {
			t.Errorf("after fault %d, the session is still due or in trouble: %+v", n, k)
		}
		if t.Failed() {
			return
		}
	}
}

// TestManyAtOnce: of ten processes that start at once, one reads the sessions, also those that get notes
// meanwhile.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	var list []*session
	for i := range 10 {
		s := w.session(fmt.Sprintf("s%d", i), fmt.Sprintf("p%d", i%3))
		s.write(2)
		list = append(list, s)
	}
	var group sync.WaitGroup
	for _, s := range list {
		group.Go(func() {
			for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop"} {
				s.say(event)
				if err := w.Run(context.Background(), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, s := range list {
		s.has(2)
	}
	w.workspaces(3)
	if left, err := spool.Notes(w.Places); err != nil || len(left) > 0 {
		t.Errorf("%d notes are left: %v", len(left), err)
	}
}

// TestLocked: a workspace that is locked by a long import delays no other, and gets its sessions when
// it is free.
func TestLocked(t *testing.T) {
	w := newWorld(t)
	slow, quick := w.session("slow", "shop"), w.session("quick", "other")
	slow.write(1)
	slow.say("Stop")
	w.run()
	ctx := context.Background()
	store, err := repo.Open(ctx, w.workspaces(1)[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	tape, err := store.Tape(ctx, "slow")
	if err != nil {
		t.Fatal(err)
	}
	free, held, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := tape.Update(ctx, func(*repo.Tx) error {
			close(held)
			<-free
			return nil
		})
		done <- err
	}()
	<-held
	slow.write(2)
	slow.say("Stop")
	go func() { done <- w.Run(ctx, true) }()
	quick.write(2)
	quick.say("Stop")
	read := func() bool {
		k := w.known()["quick"]
		return k != nil && !k.Due && k.Files[0].Bytes > 0
	}
	testkit.Until(t, "the other workspace", read)
	slow.has(1)
	close(free)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	slow.has(2)
	quick.has(2)
}

// TestFullDisk: a failure to store or to import is reported, and the next event makes up for it.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	s := w.session("one", "shop")
	s.write(1)
	s.say("Stop")
	w.run()
	full := &disk.FS{Fault: func(op disk.Op, path string) error {
		if strings.HasPrefix(path, filepath.Join(w.home, ".tape")) && op != disk.OpRemove {
			return syscall.ENOSPC
		}
		return nil
	}}
	s.write(2)
	w.FS, w.Open = full, func(ctx context.Context, dir, _ string) (*repo.Store, error) {
		return repo.Open(ctx, dir, &repo.Options{Fs: full})
	}
	s.say("Stop")
	w.run()
	if k := w.known()["one"]; !k.Due || !strings.Contains(k.Trouble, "no space") {
		t.Errorf("the full disk is not reported: %+v", k)
	}
	if line := recorder.TakeFailure(w.Places); !strings.Contains(line, "no space") {
		t.Errorf("the line for the next command is %q", line)
	}
	w.FS = &disk.FS{Fault: func(disk.Op, string) error { return syscall.ENOSPC }}
	if err := spool.Add(w.FS, w.Places, spool.Note{Agent: "claude-code", At: time.Now(), Payload: s.payload("Stop")}); err == nil {
		t.Error("a note on a full disk was acknowledged")
	}
	s.write(3)
	w.FS, w.Open = nil, open
	s.say("Stop")
	w.run()
	s.has(3)
	if k := w.known()["one"]; k.Due || k.Trouble != "" {
		t.Errorf("the full disk is still reported: %+v", k)
	}
	if line := recorder.TakeFailure(w.Places); line != "" {
		t.Errorf("the next command still reports the full disk: %q", line)
	}
}

// TestTranscriptNotKept: if the transcripts in a session's notes cannot be written to a file, the next run records
// them.
func TestTranscriptNotKept(t *testing.T) {
	w := newWorld(t)
	project := filepath.Join(w.home, "shop")
	messages := ""
	for i, text := range []string{"ask", "answer", "thanks"} {
		messages += fmt.Sprintf(`,{"info":{"id":"m%d","role":"user","time":{"created":1795337226161}},"parts":[{"id":"p%d","type":"text","text":%q}]}`, i, i, text)
		w.say("opencode", fmt.Appendf(nil, `{"session_id":"ses_1","cwd":%q,"hook_event_name":"Stop","transcript":{"info":{"id":"ses_1","directory":%q},"messages":[%s]}}`, project, project, messages[1:]))
	}
	w.say("opencode", fmt.Appendf(nil, `{"session_id":"ses_1","cwd":%q,"hook_event_name":"SessionEnd"}`, project))
	w.FS = &disk.FS{Fault: func(op disk.Op, path string) error {
		if strings.Contains(path, "transcripts") && op != disk.OpRemove {
			return syscall.ENOSPC
		}
		return nil
	}}
	if err := w.Run(t.Context(), false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want that there is no space", err)
	}
	w.FS = nil
	w.run()
	if k := w.known()["ses_1"]; !k.Ended || k.Due || k.Trouble != "" {
		t.Errorf("the session is %+v, want that it has ended and is recorded", k)
	}
	if all := strings.Join(tapes(t, w.workspaces(1)[0])["ses_1"], "\n"); !strings.Contains(all, "thanks") {
		t.Errorf("the tape lacks the last message:\n%s", all)
	}
}

// TestMoved: a session stays in the workspace in which it began, even if its project has moved.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	s := w.session("one", "shop")
	s.write(1)
	s.say("SessionStart")
	w.run()
	to := filepath.Join(w.home, "market")
	if err := os.Rename(s.project, to); err != nil {
		t.Fatal(err)
	}
	s.project = to
	s.write(2)
	s.say("Stop")
	w.run()
	s.has(2)
	if _, err := workspace.Link(w.workspaces(1)[0], to, ""); err != nil {
		t.Fatal(err)
	}
	s.write(3)
	s.say("Stop")
	w.run()
	s.has(3)
	// An agent that now works elsewhere still has the same session.
	s.project = filepath.Join(w.home, "elsewhere")
	s.write(4)
	s.say("Stop")
	w.run()
	s.has(4)
	w.workspaces(1)
}

// TestUnannounced: what a killed agent has left is read at the start of another session.
func TestUnannounced(t *testing.T) {
	w := newWorld(t)
	killed, next := w.session("killed", "shop"), w.session("next", "shop")
	killed.write(1)
	killed.say("UserPromptSubmit")
	w.run()
	killed.write(2)
	w.later = time.Hour
	next.say("SessionStart")
	w.run()
	killed.has(2)
	// A command reads it at once, without another session.
	killed.write(3)
	if err := w.Run(context.Background(), true); err != nil {
		t.Error(err)
	}
	killed.has(3)
}

// TestForgotten: what is known about a past session is removed, unless it is the agent's newest.
func TestForgotten(t *testing.T) {
	w := newWorld(t)
	old, last := w.session("old", "shop"), w.session("last", "shop")
	for i, s := range []*session{old, last} {
		s.write(1)
		s.say("Stop")
		w.later = time.Duration(i+1) * time.Minute
		w.run()
	}
	w.later = 8 * 24 * time.Hour
	w.run()
	if k := w.known(); k["old"] != nil || k["last"] == nil {
		t.Errorf("the known sessions are %v, not only \"last\"", k)
	}
	old.write(2)
	old.say("Stop")
	w.run()
	old.has(2)
}

// TestTranscripts: a missing transcript is reported only if it should exist.
func TestTranscripts(t *testing.T) {
	w := newWorld(t)
	s := w.session("one", "shop")
	s.say("SessionStart") // it is made later
	w.run()
	if k := w.known()["one"]; k.Files[0].Gone || k.Trouble != "" {
		t.Errorf("at the start: %+v", k)
	}
	s.write(1)
	s.say("Stop")
	w.run()
	s.has(1)
	if err := os.RemoveAll(filepath.Dir(s.file)); err != nil {
		t.Fatal(err)
	}
	s.say("SessionEnd")
	w.run()
	if k := w.known()["one"]; !k.Files[0].Gone {
		t.Errorf("after its folder was removed: %+v", k)
	}
	s.has(1)
}
