package channels

//tape:race: messages come in while turns go on

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	"tape/repo"
)

// wire is a channel that keeps what is sent.
type wire struct {
	name   string
	handle hooks.Handler
	onSend func()

	mu     sync.Mutex
	sent   []hooks.Envelope
	events []hooks.Event
}

func (w *wire) Name() string                { return w.name }
func (w *wire) Start(context.Context) error { return nil }
func (w *wire) Stop(context.Context) error  { return nil }
func (w *wire) Send(_ context.Context, e hooks.Envelope) error {
	if w.onSend != nil {
		w.onSend()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, e)
	return nil
}
func (w *wire) OnEvent(_ context.Context, _ hooks.Envelope, e hooks.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *wire) texts() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.sent {
		out = append(out, e.Text(hooks.KeyContent))
	}
	return out
}

// rig is a manager with one channel, wire, and the plugin of a test.
type rig struct {
	t    *testing.T
	rt   *hooks.Runtime
	m    *Manager
	wire *wire
	stop func() error
}

func newRig(t *testing.T, o Options, p *hooks.Plugin) *rig {
	t.Helper()
	r := &rig{t: t, rt: hooks.New(slog.New(slog.DiscardHandler)), wire: &wire{name: "wire"}}
	r.rt.Workspace = t.TempDir()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "messages")
	}
	if o.Silence == 0 {
		o.Silence = -1
	}
	var err error
	if r.m, err = New(r.rt, o); err != nil {
		t.Fatal(err)
	}
	p.Name = "test"
	p.ProvideChannels = func(_ context.Context, h hooks.Handler) ([]hooks.Channel, error) {
		r.wire.handle = h
		return []hooks.Channel{r.wire}, nil
	}
	for _, p := range []*hooks.Plugin{hooks.ErrorMessages(r.rt), p} {
		if err := r.rt.Register(p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) run() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- r.m.Run(ctx) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-over })
	r.t.Cleanup(func() { _ = r.stop() })
	r.until("the manager runs", func() bool { r.m.mu.Lock(); defer r.m.mu.Unlock(); return r.m.channels["wire"] != nil })
}

func (r *rig) say(session, id, text string) {
	r.t.Helper()
	if err := r.m.Handle(r.t.Context(), hooks.Envelope{"channel": "wire", "session_id": session, "message_id": id, "content": text}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	if !testkit.Eventually(is) {
		r.t.Fatalf("never: %s; sent %q", what, r.wire.texts())
	}
}

func (r *rig) wantSent(want ...string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%q is sent", want), func() bool { return slices.Equal(r.wire.texts(), want) })
}

// echo answers with its prompt after wait has returned.
func echo(wait func(text string)) *hooks.Plugin {
	return &hooks.Plugin{RunModel: func(ctx context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		over := make(chan struct{})
		go func() {
			defer close(over)
			if wait != nil {
				wait(p.Text)
			}
		}()
		select {
		case <-over:
		case <-ctx.Done(): // so that a test that fails ends, too
		}
		text := "re: " + p.Text
		return &text, ctx.Err()
	}}
}

// notesIn counts the messages on disk.
func notesIn(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

func TestMessagesAreGathered(t *testing.T) {
	r := newRig(t, Options{Silence: 100 * time.Millisecond, Longest: time.Second}, echo(nil))
	r.run()
	r.say("s", "1", "one")
	r.say("s", "2", "two")
	r.say("s", "3", ",help")
	r.say("other", "4", "three")
	r.until("all are sent", func() bool { return len(r.wire.texts()) == 3 })
	got := r.wire.texts()
	if got[0] != "re: ,help" || !slices.Contains(got, "re: one\ntwo") || !slices.Contains(got, "re: three") {
		t.Errorf("sent %q, want the command first, and one and two as one message", got)
	}
	r.until("nothing waits", func() bool { return notesIn(t, r.m.o.Dir) == 0 })
	r.say("s", "1", "one")
	if err := r.stop(); err != nil || len(r.wire.texts()) != 3 {
		t.Errorf("a message that comes again is answered again: %q, %v", r.wire.texts(), err)
	}
}

// TestSessionsRunInParallel: a session whose turn hangs does not block others.
func TestSessionsRunInParallel(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, Options{}, echo(func(text string) {
		if text == "slow" {
			<-release
		}
	}))
	r.run()
	r.say("a", "", "slow")
	r.say("a", "", "behind")
	for i := range 50 {
		r.say(fmt.Sprint(i), "", "quick")
	}
	r.until("the others are answered", func() bool { return len(r.wire.texts()) == 50 })
	close(release)
	r.until("all are", func() bool { return len(r.wire.texts()) == 52 })
	if got := r.wire.texts()[50:]; !slices.Equal(got, []string{"re: slow", "re: behind"}) {
		t.Errorf("then %q is sent, want slow before behind", got)
	}
}

// TestMessagesStayInOrder: messages of a session are answered in order, even if the
// admission of one takes long.
func TestMessagesStayInOrder(t *testing.T) {
	p := echo(nil)
	p.AdmitMessage = func(_ context.Context, _ string, e hooks.Envelope, _ hooks.Turn) (hooks.Admission, error) {
		if strings.HasSuffix(e.Text(hooks.KeyContent), "0") {
			testkit.Pause(2 * time.Millisecond)
		}
		return hooks.Undecided, nil
	}
	r := newRig(t, Options{}, p)
	r.run()
	var want []string
	for i := range 60 {
		r.say("s", "", fmt.Sprint(i))
		want = append(want, fmt.Sprint("re: ", i))
	}
	r.wantSent(want...)
}

// TestUnknownDelivery: if the program ended while an answer was being sent, the tape says once that
// the answer may have arrived, and the answer is not sent again.
func TestUnknownDelivery(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "messages")
	s, _, err := repo.Init(ctx, filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tape := func(ctx context.Context, _ string) (*repo.Tape, error) { return s.Tape(ctx, "") }
	for range 2 { // the second time, the note was left by a kill after the event was recorded
		killed := store{dir: dir}
		unlock, err := killed.open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		delete(killed.seen, "1")
		k, _, err := killed.add(hooks.Envelope{"channel": "wire", "session_id": "s", "message_id": "1", "content": "hi"})
		if err := errors.Join(err, killed.join([]stored{k}), killed.answering([]stored{k})); err != nil {
			t.Fatal(err)
		}
		unlock()
		r := newRig(t, Options{Dir: dir, Tape: tape}, echo(nil))
		r.run()
		r.until("nothing waits", func() bool { return notesIn(t, dir) == 0 })
		if err := r.stop(); err != nil || len(r.wire.texts()) > 0 {
			t.Errorf("sent again: %q, %v", r.wire.texts(), err)
		}
	}
	var found []string
	tp, err := s.Tape(ctx, "")
	for e, entryErr := range tp.Entries(ctx, repo.Query{Kinds: []string{repo.KindEvent}}) {
		err = errors.Join(err, entryErr)
		found = append(found, string(e.Payload))
	}
	if err != nil || len(found) != 1 || !strings.Contains(found[0], `"delivery"`) || !strings.Contains(found[0], `"unknown"`) {
		t.Errorf("the tape has the events %q, want one delivery with status unknown, %v", found, err)
	}
}

func TestAdmission(t *testing.T) {
	release, begun := make(chan struct{}), make(chan string, 10)
	p := echo(func(text string) { begun <- text; <-release })
	p.AdmitMessage = func(_ context.Context, _ string, e hooks.Envelope, turn hooks.Turn) (hooks.Admission, error) {
		word, _, _ := strings.Cut(e.Text(hooks.KeyContent), " ")
		if !turn.Running || word == "fail" {
			return hooks.Undecided, map[bool]error{true: errors.New("no idea")}[word == "fail"]
		}
		return hooks.Admission(word), nil
	}
	r := newRig(t, Options{}, p)
	r.run()
	r.say("s", "1", "first")
	<-begun
	for i, text := range []string{"process a", "drop b", "follow_up c", "follow_up d", "steer e", "fail f"} {
		r.say("s", fmt.Sprint(i+2), text)
		r.until("its admission is decided", func() bool { r.m.mu.Lock(); defer r.m.mu.Unlock(); return !r.m.sessions["s"].deciding })
	}
	close(release)
	// The steered message comes first, because the turn did not read it.
	r.wantSent("Error: admit_message: plugin \"test\": admit_message: no idea", "re: first", "re: steer e", "re: process a", "re: follow_up c\nfollow_up d", "re: fail f")
	r.until("nothing waits", func() bool { return notesIn(t, r.m.o.Dir) == 0 })
}

// TestSteered: a message that the turn has read gets no turn of its own.
func TestSteered(t *testing.T) {
	var r *rig
	p := &hooks.Plugin{
		RunModel: func(ctx context.Context, _ hooks.Prompt, session string, _ hooks.State) (*string, error) {
			inbox, err := r.rt.SteeringInbox(ctx)
			if err != nil {
				return nil, err
			}
			r.until("the turn is steered", func() bool { return inbox.Len(session) > 0 })
			list, err := inbox.Drain(ctx, session)
			text := "heard " + list[0].Text(hooks.KeyContent)
			return &text, err
		},
		AdmitMessage: func(_ context.Context, _ string, _ hooks.Envelope, turn hooks.Turn) (hooks.Admission, error) {
			return hooks.Steer, nil
		},
	}
	r = newRig(t, Options{}, p)
	r.run()
	r.say("s", "1", "go")
	r.until("the turn runs", func() bool {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		s := r.m.sessions["s"]
		return s != nil && s.running != nil
	})
	r.say("s", "2", "left")
	r.wantSent("heard left")
	r.until("nothing waits", func() bool { return notesIn(t, r.m.o.Dir) == 0 })
}

func TestErrorGoesBack(t *testing.T) {
	r := newRig(t, Options{}, &hooks.Plugin{LoadState: func(context.Context, hooks.Envelope, string) (hooks.State, error) {
		return nil, errors.New("no state")
	}})
	r.run()
	r.say("s", "1", "hi")
	r.until("an error is sent", func() bool { return len(r.wire.texts()) == 1 })
	if e := r.wire.sent[0]; e.Text(hooks.KeyKind) != hooks.KindError || !strings.Contains(e.Text(hooks.KeyContent), "no state") {
		t.Errorf("sent %v, want the error", e)
	}
}

// TestStops: when the program ends, a turn that takes too long is interrupted, and goes on after the next start.
func TestStops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "messages")
	begun := make(chan string, 2)
	r := newRig(t, Options{Dir: dir, Grace: 50 * time.Millisecond}, &hooks.Plugin{
		RunModel: func(ctx context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			begun <- p.Text
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
	r.run()
	r.say("s", "1", "long")
	<-begun
	r.say("s", "2", "waits")
	if err := r.stop(); err != nil || len(r.wire.texts()) > 0 || notesIn(t, dir) != 2 {
		t.Fatalf("stopped: %v, sent %q, %d messages are on disk, want 2", err, r.wire.texts(), notesIn(t, dir))
	}
	if err := r.m.Handle(t.Context(), hooks.Envelope{"content": "late"}); err == nil {
		t.Error("a message is accepted after the end")
	}
	again := newRig(t, Options{Dir: dir}, echo(nil))
	again.run()
	again.wantSent("re: long", "re: waits")
	other := newRig(t, Options{Dir: dir}, echo(nil))
	if err := other.m.Run(t.Context()); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second process gives %v, want ErrLocked", err)
	}
}

// TestCancel: cancelling ends one turn, and the session goes on.
func TestCancel(t *testing.T) {
	begun := make(chan string, 2)
	r := newRig(t, Options{}, &hooks.Plugin{RunModel: func(ctx context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		if begun <- p.Text; p.Text == "long" {
			<-ctx.Done()
		}
		return &p.Text, ctx.Err()
	}})
	r.run()
	r.say("s", "1", "long")
	<-begun
	r.m.Cancel("s")
	r.m.Cancel("none")
	if err := r.m.Wait(t.Context(), "s"); err != nil || notesIn(t, r.m.o.Dir) != 0 {
		t.Errorf("after the turn was cancelled: %v, %d messages are on disk", err, notesIn(t, r.m.o.Dir))
	}
	r.say("s", "2", "next")
	r.wantSent("next")
}

// TestKilled: wherever the program ends, no accepted message is lost, and none is answered twice.
func TestKilled(t *testing.T) {
	type moment struct {
		dir         string
		taken, sent []string // messages that were accepted, answers that were sent
	}
	var mu sync.Mutex
	var moments []moment
	var taken []string
	var r *rig
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "messages")
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		to := filepath.Join(root, fmt.Sprint(len(moments)))
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		_ = os.Chmod(to, 0o700)
		if list, err := filepath.Glob(filepath.Join(to, "spool", "*")); err == nil {
			for _, file := range list { // the program starts again a minute later
				_ = os.Chtimes(file, time.Time{}, time.Now().Add(-time.Minute))
			}
		}
		moments = append(moments, moment{to, slices.Clone(taken), r.wire.texts()})
	}
	r = newRig(t, Options{Dir: dir, Silence: 30 * time.Millisecond, FS: &disk.FS{Fault: func(disk.Op, string) error { look(); return nil }}}, echo(func(string) { look() }))
	r.wire.onSend = look
	r.run()
	for i, text := range []string{"a", "b", ",c"} {
		r.say("s", fmt.Sprint(i), text)
		mu.Lock()
		taken = append(taken, text)
		mu.Unlock()
		look()
	}
	r.until("all are answered", func() bool { return len(r.wire.texts()) == 2 })
	r.until("nothing waits", func() bool { return notesIn(t, dir) == 0 })
	look()
	for i, at := range moments {
		again := newRig(t, Options{Dir: at.dir}, echo(nil))
		again.run()
		for _, k := range at.taken { // the channel does not know that they were accepted
			again.say("s", fmt.Sprint(strings.Index("ab,c", k)), k)
		}
		again.until("nothing waits", func() bool { return notesIn(t, at.dir) == 0 })
		if err := again.stop(); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(at.sent, again.wire.texts()...), "\n")
		journal, err := os.ReadFile(filepath.Join(at.dir, "answered"))
		if err != nil {
			t.Fatal(err)
		}
		for n, text := range []string{"a", "b", ",c"} {
			count := strings.Count(all, text)
			known := strings.Contains(string(journal), fmt.Sprintf("%q", fmt.Sprint(n)))
			if count > 1 || slices.Contains(at.taken, text) && count == 0 && !known {
				t.Errorf("moment %d: %q is answered %d times: before %q, then %q", i, text, count, at.sent, again.wire.texts())
			}
		}
	}
	t.Logf("%d moments", len(moments))
}
