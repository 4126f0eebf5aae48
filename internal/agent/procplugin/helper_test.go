package procplugin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/testkit"
)

// script says what a scripted plugin does: this test program in another process.
type script struct {
	About    map[string]any   `json:"about"`
	Answers  map[string]reply `json:"answers"`
	Seen     string           `json:"seen"`     // a file to which it writes what it was asked
	Once     string           `json:"once"`     // a file that it makes when a reply's Do is done; later replies have none
	Stubborn bool             `json:"stubborn"` // it ignores shutdown and exit
	Child    string           `json:"child"`    // a file to which the id of a child is written
}

// reply is what a scripted plugin does when a method is called.
type reply struct {
	Value    any            `json:"value"`
	Do       string         `json:"do"` // see answer and misbehave
	N        int            `json:"n"`  // how often or how much; with events, the milliseconds after each
	Text     string         `json:"text"`
	Events   []hooks.Event  `json:"events"`
	Requests []plainRequest `json:"requests"`
}

// plainRequest is a request that a scripted plugin sends to the host.
type plainRequest struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
	Alone  bool           `json:"alone"`  // it names no call
	Cancel bool           `json:"cancel"` // it is cancelled at once
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "scripted-plugin" {
		var s script
		if err := json.Unmarshal([]byte(os.Args[2]), &s); err != nil {
			panic(err)
		}
		s.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func write(format string, a ...any) { fmt.Fprintf(os.Stdout, format+"\n", a...) }

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (s *script) run() {
	if s.Child != "" {
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		_ = os.WriteFile(s.Child, fmt.Append(nil, child.Process.Pid), 0o600)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if s.Stubborn {
				testkit.Forever()
			}
			return
		}
		m := parse(line)
		if s.Seen != "" && m.Method != "" {
			f, err := os.OpenFile(s.Seen, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(f, "%s %s\n", m.Method, m.Params)
			f.Close()
		}
		switch m.Method {
		case "initialize":
			if _, ok := s.Answers["initialize"]; ok {
				s.answer(m, in)
				continue
			}
			write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, encoded(s.About))
		case "shutdown":
			if !s.Stubborn {
				write(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}
		case "exit":
			if !s.Stubborn {
				return
			}
		default:
			if m.Method != "" && len(m.ID) > 0 {
				s.answer(m, in)
			}
		}
	}
}

func (s *script) answer(m *received, in *bufio.Reader) {
	r := s.Answers[m.Method]
	if s.Once != "" && r.Do != "" {
		if _, err := os.Stat(s.Once); err == nil {
			r.Do = ""
		} else {
			_ = os.WriteFile(s.Once, nil, 0o600)
		}
	}
	if r.misbehave(m, in) {
		return
	}
	value := encoded(r.Value)
	switch r.Do {
	case "echo":
		value = encoded(string(m.Params))
	case "env":
		value = encoded(strings.Join(os.Environ(), "\n"))
	case "pid":
		value = fmt.Sprint(os.Getpid())
	}
	for i, e := range r.Events {
		write(`{"jsonrpc":"2.0","method":"model/event","params":{"call_id":%s,"seq":%d,"kind":%q,"data":%s}}`, m.ID, i+1, e.Kind, encoded(e.Data))
		if r.N > 0 {
			testkit.Pause(time.Duration(r.N) * time.Millisecond)
		}
	}
	if len(r.Requests) > 0 {
		value = encoded(sendRequests(m, r.Requests, in))
	}
	switch r.Do {
	case "fail-after":
		write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}`, m.ID, encoded(r.Text))
	case "crash-after":
		os.Exit(4)
	case "silent-after":
		testkit.Forever()
	default:
		write(`{"jsonrpc":"2.0","id":%s,"result":{"value":%s}}`, m.ID, value)
	}
}

// misbehave does what no plugin should do. It returns true if no answer follows.
func (r *reply) misbehave(m *received, in *bufio.Reader) bool {
	switch r.Do {
	case "crash":
		os.Exit(3)
	case "hang":
		testkit.Forever()
	case "late": // it waits until it is cancelled
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return true
			}
			if c := parse(line); c.Method == "$/cancel" {
				fmt.Fprintf(os.Stderr, "cancelled %s\n", c.Params)
				if r.Value != nil {
					write(`{"jsonrpc":"2.0","id":%s,"result":{"value":%s}}`, m.ID, encoded(r.Value))
					return true
				}
				write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"cancelled"}}`, m.ID)
				return true
			}
		}
	case "fail":
		write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}`, m.ID, encoded(r.Text))
	case "stray":
		for i := range r.N {
			write("stray %d", i)
		}
		return false
	case "raw":
		write("%s", strings.ReplaceAll(r.Text, "ID", string(m.ID)))
	case "big": // a line of N bytes
		head, tail := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"value":"`, m.ID), `"}}`
		write("%s%s%s", head, strings.Repeat("x", r.N-len(head)-len(tail)), tail)
	case "flood":
		for range r.N {
			fmt.Fprintln(os.Stderr, strings.Repeat("\x1b[31m", 100)+"flood")
		}
		return false
	default:
		return false
	}
	return true
}

// sendRequests sends requests to the host one after the other, and returns the answers, a line each.
func sendRequests(m *received, list []plainRequest, in *bufio.Reader) string {
	var answers []string
	for i, q := range list {
		if q.Params == nil {
			q.Params = map[string]any{}
		}
		if !q.Alone {
			q.Params["call_id"] = m.ID
		}
		write(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":%s}`, i, q.Method, encoded(q.Params))
		if q.Cancel {
			write(`{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"r%d"}}`, i)
		}
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err.Error()
		}
		a := parse(line)
		for a.Method != "" { // the host may call before it answers
			write(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.ID)
			if line, err = in.ReadBytes('\n'); err != nil {
				return err.Error()
			}
			a = parse(line)
		}
		if a.Error != nil {
			answers = append(answers, fmt.Sprintf("error %d: %s", a.Error.Code, a.Error.Message))
		} else {
			answers = append(answers, string(a.Result))
		}
	}
	return strings.Join(answers, "\n")
}

// quick returns limits with short pauses. A busy machine may take long for an answer under the race detector.
func quick() *limits {
	return &limits{initialize: time.Minute, hook: time.Minute, long: time.Minute, cancel: 5 * time.Second,
		shutdown: 500 * time.Millisecond, pause: time.Millisecond, line: 16 << 20, queue: 64 << 20, stray: 100, logged: 1000}
}

// manifestOf returns a manifest with the hooks for which a script has answers.
func manifestOf(answers map[string]reply) map[string]any {
	list := []any{}
	for method := range answers {
		if name, ok := strings.CutPrefix(method, "hook/"); ok {
			list = append(list, map[string]any{"name": name})
		}
	}
	return map[string]any{"name": "scripted", "version": "1", "hooks": list}
}

// launched starts a scripted plugin with a name.
func launched(t testing.TB, name string, s script, o Options) (*Process, error) {
	t.Helper()
	return started(t, Config{Name: name}, s, o)
}

func started(t testing.TB, c Config, s script, o Options) (*Process, error) {
	t.Helper()
	if s.About == nil {
		s.About = manifestOf(s.Answers)
	}
	if o.limits == nil {
		o.limits = quick()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if c.Command == nil {
		c.Command = []string{os.Args[0], "scripted-plugin", encoded(s)}
	}
	p, err := Start(context.Background(), c, o)
	t.Cleanup(p.Close)
	return p, err
}

func scripted(t testing.TB, s script, o Options) *Process {
	t.Helper()
	p, err := launched(t, "scripted", s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func seen(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func temp(t testing.TB, name string) string { return filepath.Join(t.TempDir(), name) }
