package telegram

//tape:race: messages come in while turns go on

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/agent/channels"
	"tape/internal/git/disk"
	"tape/internal/testkit"
)

// The steps of answering a message after which a program is killed.
var steps = []string{"received", "kept", "handed over", "sending", "sent", "answered"}

// TestKill kills the program at every step. No message is lost, none is answered twice, and only
// one whose answer was being sent may have none.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many programs")
	}
	server, dir := newBotServer(t), t.TempDir()
	messages, unknown := 0, 0
	run := func(step string, nth int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), testkit.HelperEnv+"=channel", "DIR="+dir, "URL="+server.URL, "STEP="+step, "NTH="+strconv.Itoa(nth), "SEED="+strconv.Itoa(messages))
		if out, err := cmd.CombinedOutput(); len(out) > 0 || (err == nil) != (step == "none") {
			t.Fatalf("%s: %v: %s", step, err, out)
		}
	}
	for round := range testkit.Size(1, 20) {
		for i, step := range steps {
			for range 4 {
				messages++
				server.Push(private(messages, fmt.Sprintf(`"text":"question %d"`, messages)))
			}
			run(step, 1+(round+i)%3)
		}
	}
	run("none", messages)
	times := map[string]int{}
	for _, s := range server.Sent() {
		times[s.Text]++
	}
	for i := 1; i <= messages; i++ {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("note-telegram:7:%d", i)))
		switch n := times[fmt.Sprintf("answer to question %d", i)]; {
		case err != nil:
			t.Errorf("message %d is lost: %v", i, err)
		case string(data) == "unknown" && n <= 1:
			unknown++
		case string(data) != "answered" || n != 1:
			t.Errorf("message %d is %s, and has %d answers", i, data, n)
		}
	}
	if kills := len(steps) * testkit.Size(1, 20); unknown > kills {
		t.Errorf("of %d answers it is not known whether they arrived, after %d kills", unknown, kills)
	}
	if server.Waiting() > 0 {
		t.Errorf("%d updates are not confirmed", server.Waiting())
	}
}

// TestKillGateway kills the manager with this channel at random moments.
func TestKillGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many programs")
	}
	server, dir := newBotServer(t), t.TempDir()
	messages := 0
	for seed := range testkit.Size(3, 200) {
		for range 3 {
			messages++
			server.Push(private(messages, fmt.Sprintf(`"text":",question %d."`, messages)))
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), testkit.HelperEnv+"=gateway", "DIR="+dir, "URL="+server.URL, "SEED="+strconv.Itoa(seed))
		if out, err := cmd.CombinedOutput(); len(out) > 0 || err == nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	before := len(server.Sent())
	known := func(i int) (answers int, begun bool) {
		for _, s := range server.Sent() {
			answers += strings.Count(s.Text, fmt.Sprintf("question %d.", i))
		}
		journal, _ := os.ReadFile(filepath.Join(dir, "messages", "answered"))
		return answers, strings.Contains(string(journal), fmt.Sprintf("%q", fmt.Sprintf("telegram:7:%d", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- gateway(ctx, dir, server.URL) }()
	testkit.Eventually(func() bool { // if this fails, the checks below say what is missing
		for i := 1; i <= messages; i++ {
			if n, begun := known(i); n == 0 && !begun {
				return false
			}
		}
		return server.Waiting() == 0
	})
	cancel()
	if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	unknown := 0
	for i := 1; i <= messages; i++ {
		n, begun := known(i)
		if n > 1 || n == 0 && !begun {
			t.Errorf("message %d has %d answers", i, n)
		}
		if n == 0 {
			unknown++
		}
	}
	t.Logf("%d messages, %d answers before the last start, %d being sent at a kill", messages, before, unknown)
	if unknown > messages/3 {
		t.Errorf("%d of %d answers did not arrive", unknown, messages)
	}
}

// gateway runs the manager with this channel and a model that repeats its prompt.
func gateway(ctx context.Context, dir, url string) error {
	log := slog.New(slog.DiscardHandler)
	rt := hooks.New(log)
	m, err := channels.New(rt, channels.Options{Dir: filepath.Join(dir, "messages"), Log: log})
	if err != nil {
		return err
	}
	model := &hooks.Plugin{Name: "model", RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
		testkit.Pause(2 * time.Millisecond)
		text := "you said " + p.Text
		return &text, nil
	}}
	for _, p := range []*hooks.Plugin{model, Plugin(Options{Token: botToken, BaseURL: url, AllowUsers: []string{"7"}, Dir: dir, Log: log, unit: time.Millisecond})} {
		if err := rt.Register(p); err != nil {
			return err
		}
	}
	return m.Run(ctx)
}

// helper is a minimal host: a note on disk for each message says how far it has come. With the step
// none it ends when NTH messages are done.
func helper(mode string) {
	if mode == "gateway" {
		seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
		go func() {
			testkit.AtSomeTime(rand.New(rand.NewPCG(seed, 5)), 30*time.Millisecond)
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
		}()
		if err := gateway(context.Background(), os.Getenv("DIR"), os.Getenv("URL")); err != nil {
			panic(err)
		}
		return
	}
	dir, step := os.Getenv("DIR"), os.Getenv("STEP")
	nth, _ := strconv.Atoi(os.Getenv("NTH"))
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	var passed atomic.Int64
	die := func() {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	at := func(s string) {
		if s == step && int(passed.Add(1)) == nth {
			die()
		}
	}
	queue := make(chan hooks.Envelope, 10_000)
	note := func(m hooks.Envelope) string { return filepath.Join(dir, "note-"+m.Text("message_id")) }
	write := func(m hooks.Envelope, how string) {
		if err := (*disk.FS)(nil).WriteFile(note(m), []byte(how)); err != nil {
			panic(err)
		}
	}
	handle := func(_ context.Context, m hooks.Envelope) error {
		at("received")
		if _, err := os.Stat(note(m)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		data, _ := json.Marshal(m)
		write(m, string(data))
		at("kept")
		queue <- m
		if step == "handed over" && int(passed.Add(1)) == nth {
			go func() { // before, while or after the offset is stored
				testkit.AtSomeTime(rand.New(rand.NewPCG(seed, 4)), 2*time.Millisecond)
				die()
			}()
		}
		return nil
	}
	list, _ := filepath.Glob(filepath.Join(dir, "note-*"))
	for _, path := range list {
		data, _ := os.ReadFile(path)
		var m hooks.Envelope
		if json.Unmarshal(data, &m) == nil {
			queue <- m
		} else if string(data) == "sending" {
			_ = (*disk.FS)(nil).WriteFile(path, []byte("unknown"))
		}
	}
	c, err := New(Options{Token: botToken, BaseURL: os.Getenv("URL"), AllowUsers: []string{"7"}, Dir: dir, Log: slog.New(slog.DiscardHandler), unit: time.Millisecond}, handle)
	if err == nil {
		err = c.Start(context.Background())
	}
	if err != nil {
		panic(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for over := 0; ; over = ended(dir) {
		if step == "none" && (over >= nth || time.Now().After(deadline)) {
			testkit.Pause(200 * time.Millisecond) // for the poll that confirms
			return
		}
		select {
		case m := <-queue:
			write(m, "sending")
			at("sending")
			if err := c.Send(context.Background(), hooks.Envelope{"chat_id": m.Text("chat_id"), "content": "answer to " + m.Text("content")}); err != nil {
				panic(err)
			}
			at("sent")
			write(m, "answered")
			at("answered")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended returns how many messages are done.
func ended(dir string) (n int) {
	list, _ := filepath.Glob(filepath.Join(dir, "note-*"))
	for _, path := range list {
		if data, _ := os.ReadFile(path); strings.HasPrefix(string(data), "answered") || string(data) == "unknown" {
			n++
		}
	}
	return n
}
