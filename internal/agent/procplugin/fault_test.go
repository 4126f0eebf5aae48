package procplugin

//tape:race: calls to a process overlap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
)

const resolve = "hook/resolve_session"

// askSession calls resolve_session; "none" stands for no answer.
func askSession(p *Process) (string, error) {
	s, err := p.Plugin().ResolveSession(context.Background(), hooks.Envelope{"content": "hi"})
	if s == nil {
		return "none", err
	}
	return *s, err
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, wanted one with %q", err, text)
	}
}

// eventually waits until the plugin's status says something.
func eventually(t *testing.T, p *Process, text string) {
	t.Helper()
	testkit.Until(t, "the status "+text, func() bool { return strings.Contains(p.Status(), text) })
}

func TestCrashIsAnErrorAndThePluginIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{Once: temp(t, "once"), Answers: map[string]reply{resolve: {Do: "crash", Value: "back"}}}, Options{})
	_, err := askSession(p)
	wantError(t, err, "the process ended: exit status 3")
	if got, err := askSession(p); got != "back" || err != nil {
		t.Errorf("after the restart: %q, %v", got, err)
	}
	if s := p.Status(); !strings.Contains(s, "running, pid ") || !strings.Contains(s, "restarts: 1, the last because: the process ended: exit status 3") {
		t.Errorf("the status does not say that it runs after a restart: %s", s)
	}
}

func TestAfterThreeRestartsInAMinuteThePluginIsOff(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "crash"}}}, Options{})
	rt := hooks.New(slog.New(slog.DiscardHandler))
	if err := rt.Register(p.Plugin()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		_, err := rt.ResolveSession(t.Context(), hooks.Envelope{})
		wantError(t, err, "exit status 3")
	}
	eventually(t, p, "off: the process ended: exit status 3")
	if got, err := rt.ResolveSession(t.Context(), hooks.Envelope{}); got != "default:default" || err != nil {
		t.Errorf("%q, %v, wanted the default session: a plugin that is off gives no answer", got, err)
	}
	r := rt.Report()[0].Plugins[0]
	if r.Calls != 5 || r.Failures != 4 || !strings.HasPrefix(r.Status, "off: ") || !strings.Contains(r.Status, "restarts: 3") {
		t.Errorf("report %+v, wanted 5 calls, 4 failures, and off after 3 restarts", r)
	}
}

func TestPausesBeforeRestartsGrow(t *testing.T) {
	t.Parallel()
	p := &Process{o: Options{}.withDefaults()}
	now, why := time.Now(), errors.New("crash")
	var got []string
	for i := range 6 {
		pause, again := p.restart(now.Add(time.Duration(i)*25*time.Second), why)
		got = append(got, fmt.Sprint(pause, again))
	}
	want := "[100ms true 400ms true 1.6s true 1.6s true 1.6s true 1.6s true]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, wanted %v", got, want)
	}
	if _, again := p.restart(now.Add(126*time.Second), why); again {
		t.Error("a fourth restart in a minute is allowed")
	}
}

func TestPluginThatHangsIsRestarted(t *testing.T) {
	t.Parallel()
	l := quick()
	l.hook, l.cancel = 200*time.Millisecond, 50*time.Millisecond
	p := scripted(t, script{Once: temp(t, "once"), Answers: map[string]reply{resolve: {Do: "hang", Value: "back"}}}, Options{limits: l})
	_, err := askSession(p)
	wantError(t, err, "no answer within 200ms")
	eventually(t, p, "the last because: it hangs: hook/resolve_session was not answered, even after it was cancelled")
	eventually(t, p, "running")
	l.hook = time.Minute
	if got, err := askSession(p); got != "back" || err != nil {
		t.Errorf("after the restart: %q, %v", got, err)
	}
}

func TestPluginsSetTheirTimeouts(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{
		About:   map[string]any{"hooks": []any{map[string]any{"name": "resolve_session", "timeout_ms": 100}}},
		Answers: map[string]reply{resolve: {Do: "late"}},
	}, Options{})
	_, err := askSession(p)
	wantError(t, err, "no answer within 100ms")
	testkit.Pause(100 * time.Millisecond)
	if s := p.Status(); strings.Contains(s, "restarts") {
		t.Errorf("a plugin that answers $/cancel was restarted: %s", s)
	}
}

func TestCancelledTurnTellsThePlugin(t *testing.T) {
	t.Parallel()
	var log testkit.Buffer
	p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "late"}, "hook/build_prompt": {Value: "still there"}}},
		Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	q := p.Plugin()
	if _, err := q.ResolveSession(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, wanted that the deadline is exceeded", err)
	}
	if got, err := q.BuildPrompt(t.Context(), nil, "s", nil); err != nil || got.Text != "still there" {
		t.Errorf("the next call: %v, %v", got, err)
	}
	p.Close()
	if !strings.Contains(log.String(), "cancelled {") || strings.Contains(p.Status(), "stray") {
		t.Errorf("the plugin was not told, or its answer is stray: log %s\nstatus %s", log.String(), p.Status())
	}
}

func TestStrayLines(t *testing.T) {
	t.Parallel()
	var log testkit.Buffer
	p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "stray", N: 60, Value: "fine"}}},
		Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got, err := askSession(p); got != "fine" || err != nil {
		t.Errorf("with 60 stray lines: %q, %v", got, err)
	}
	if s := p.Status(); !strings.Contains(s, "stray lines: 60") || !strings.Contains(log.String(), `line="stray 59" count=60`) {
		t.Errorf("60 stray lines are not counted and logged: status %s\nlog %s", s, log.String())
	}
	_, err := askSession(p)
	wantError(t, err, "100 stray lines")
	eventually(t, p, "off: 100 stray lines")
	if got, err := askSession(p); got != "none" || err != nil {
		t.Errorf("when it is off: %q, %v, wanted no answer", got, err)
	}
}

func TestInvalidMessagesAreStray(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`[]`, `{}`, `{"jsonrpc":"1.0","id":1,"result":1}`, `null`, `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","method":"model/event","params":{"call_id":ID,"seq":1}}`, `{"jsonrpc":"2.0","method":"tape/append","params":{}}`, "\xff\xfe",
		`{"level":"error","id":ID,"message":"a log"}`, `{"jsonrpc":"2.0","method":"model/event","params":{"call_id":99,"seq":1,"data":{"id":ID,"result":1}}}`} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "raw", Text: line + "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"value":"ok"}}`}}}, Options{})
			if got, err := askSession(p); got != "ok" || err != nil || !strings.Contains(p.Status(), "stray lines: 1") {
				t.Errorf("%q, %v, wanted an answer and one stray line; status %s", got, err, p.Status())
			}
		})
	}
}

// An answer in another form ends the call, and names the line.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"id":ID,"result":{"value":"x"}}`, `{"jsonrpc":"2.0","id":"ID","result":{"value":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":{"value":NaN}}`,
		`{"jsonrpc": "2.0", "error": "it broke", "id": ID}`, `{"jsonrpc":"2.0","id":ID,"result":{"value":"x"},"result":{"value":"y"}}`} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "raw", Text: line}}}, Options{})
			_, err := askSession(p)
			wantError(t, err, "its answer is not one of JSON-RPC 2.0: {")
		})
	}
}

func TestLongestAnswer(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "big", N: 16 << 20}, "hook/run_model": {Do: "big", N: 16<<20 + 1}, "hook/build_prompt": {}}}, Options{})
	got, err := askSession(p)
	if err != nil || len(got) < 16<<20-100 {
		t.Errorf("an answer of 16 MiB: %d bytes, %v", len(got), err)
	}
	_, err = p.Plugin().RunModel(t.Context(), hooks.Prompt{}, "s", nil)
	wantError(t, err, "it wrote a line of more than 16777216 bytes")
	if got, err = askSession(p); err != nil || len(got) < 16<<20-100 {
		t.Errorf("after the restart: %d bytes, %v", len(got), err)
	}
	_, err = p.Plugin().BuildPrompt(t.Context(), hooks.Envelope{"content": strings.Repeat("x", 16<<20)}, "s", nil)
	wantError(t, err, "a line has at most 16777216")
}

func TestFloodOfStandardError(t *testing.T) {
	t.Parallel()
	var log testkit.Buffer
	p := scripted(t, script{Answers: map[string]reply{resolve: {Do: "flood", N: 20000, Value: "fine"}}},
		Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got, err := askSession(p); got != "fine" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	p.Close()
	s := log.String()
	if n := strings.Count(s, "flood"); n < 900 || n > 1000 || !strings.Contains(s, "the rest of this minute is left out") || strings.Contains(s, "\x1b") {
		t.Errorf("%d lines of standard error are logged, wanted at most 1000, a warning, and no control characters", n)
	}
	if !strings.Contains(s, "plugin=scripted") {
		t.Error("the log does not name the plugin")
	}
}

func TestShutdownThenExit(t *testing.T) {
	t.Parallel()
	file := temp(t, "seen")
	p := scripted(t, script{Seen: file, Answers: map[string]reply{resolve: {}}}, Options{})
	p.Close()
	if got := seen(t, file); !strings.HasSuffix(got, "shutdown {}\nexit \n") {
		t.Errorf("the plugin got\n%s\nwanted shutdown and exit at the end", got)
	}
	if s := p.Status(); s != "off: it was closed" {
		t.Errorf("status %q", s)
	}
}

func TestPluginThatCannotStartIsOff(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]script{
		`lists the hook "no_such"`:      {About: map[string]any{"hooks": []any{map[string]any{"name": "no_such"}}}},
		"initialize: the process ended": {Answers: map[string]reply{"initialize": {Do: "crash"}}},
		"initialize: no thanks":         {Answers: map[string]reply{"initialize": {Do: "fail", Text: "no thanks"}}},
		"schema of the tool":            {About: map[string]any{"tools": []any{map[string]any{"name": "x", "schema": 1}}}},
	} {
		p, err := launched(t, "x", s, Options{})
		wantError(t, err, want)
		if !strings.Contains(p.Status(), "off: ") || len(p.Plugin().Hooks()) != 0 {
			t.Errorf("status %s, hooks %v, wanted off and none", p.Status(), p.Plugin().Hooks())
		}
	}
	p, err := Start(t.Context(), Config{Name: "gone", Command: []string{"/no/such/program"}}, Options{})
	wantError(t, err, `start plugin "gone": fork/exec /no/such/program: no such file`)
	p.Close()
	l := quick()
	l.initialize = 100 * time.Millisecond
	_, err = launched(t, "slow", script{Answers: map[string]reply{"initialize": {Do: "hang"}}}, Options{limits: l})
	wantError(t, err, "initialize: no answer within 100ms")
}

func TestNoKeysInTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-openai-123456")
	t.Setenv("MY_TOKEN", "named")
	t.Setenv("HARMLESS", "x sk-of-anthropic-1 y")
	t.Setenv("PLAIN", "plain")
	s := script{Answers: map[string]reply{resolve: {Do: "env"}}}
	s.About = manifestOf(s.Answers)
	p, err := Start(t.Context(), Config{Name: "x", Command: []string{os.Args[0], "scripted-plugin", encoded(s)}, Env: []string{"MY_TOKEN"}},
		Options{Keys: []string{"sk-of-anthropic-1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got, err := askSession(p)
	if err != nil || strings.Contains(got, "sk-of") || !strings.Contains(got, "MY_TOKEN=named") || !strings.Contains(got, "PLAIN=plain") {
		t.Errorf("the plugin's environment has a key, or lacks a variable: %s, %v", got, err)
	}
}

func TestCallsRunInParallel(t *testing.T) {
	t.Parallel()
	p := scripted(t, script{Answers: map[string]reply{"hook/build_prompt": {Do: "echo"}}}, Options{})
	q := p.Plugin()
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			session := fmt.Sprint("s", i)
			got, err := q.BuildPrompt(t.Context(), hooks.Envelope{}, session, nil)
			if want := `{"message":{},"session_id":"` + session + `"}`; err != nil || got.Text != want {
				t.Errorf("%v, %v, wanted %s", got, err, want)
			}
		})
	}
	wait.Wait()
}

// A plugin that lists other hooks after a restart is turned off.
func TestOtherHooksAfterARestart(t *testing.T) {
	t.Parallel()
	once := temp(t, "once")
	p := scripted(t, script{Once: once, Answers: map[string]reply{
		"initialize": {Do: "raw", Text: `{"jsonrpc":"2.0","id":ID,"result":{"hooks":[{"name":"resolve_session"}]}}`},
		resolve:      {Do: "crash"},
	}}, Options{})
	if err := os.Remove(once); err != nil {
		t.Fatal(err)
	}
	_, err := askSession(p)
	wantError(t, err, "exit status 3")
	eventually(t, p, "off: it lists other hooks, tools or channels than before")
	if s := p.Status(); !strings.Contains(s, "restarts: 1, ") {
		t.Errorf("the status does not count one restart: %s", s)
	}
}
