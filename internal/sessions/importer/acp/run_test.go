package acp_test

//tape:race: two directions are copied at once

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, agentProgram) }

// agentProgram is the agent of the tests: with mode echo it returns its input, otherwise it sends the answers.
func agentProgram(mode string) {
	if mode == "echo" {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "bye")
		os.Exit(7)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for _, answer := range answers[in.Text()] {
			fmt.Println(answer)
		}
	}
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	newSession = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}`
	prompt     = `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"../s","prompt":[{"type":"text","text":"hi"}]}}`
)

var answers = map[string][]string{
	initialize: {`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"parrot","version":"1"}}}`},
	newSession: {`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"../s"}}`},
	prompt: {
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"../s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`,
		`stray output`,
		`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
	},
}

// run runs the agent in a mode with in as its input, and returns what the client got.
func run(ctx context.Context, t *testing.T, mode string, in io.Reader, o acp.Options) (out, stderr string, status int, err error) {
	t.Helper()
	var errout bytes.Buffer
	stdout := &heardOut{}
	if c, ok := in.(*asker); ok {
		stdout.asker = c
	}
	t.Setenv(testkit.HelperEnv, mode)
	if o.Argv == nil {
		o.Argv = []string{os.Args[0]}
	}
	o.In, o.Out, o.Err, o.Now = in, stdout, &errout, time.Now
	if o.Note == nil {
		o.Note = func(acp.Event) error { return nil }
	}
	status, err = acp.Run(ctx, o)
	return stdout.String(), errout.String(), status, err
}

// asker is a client that waits for each answer before it sends the next message.
type asker struct {
	say      []string
	answered chan struct{}
}

func ask(say ...string) *asker {
	return &asker{say: say, answered: make(chan struct{}, len(say)+1)}
}

func (c *asker) Read(b []byte) (int, error) {
	if len(c.say) == 0 {
		<-c.answered
		return 0, io.EOF
	}
	if strings.Contains(c.say[0], `"id":0`) {
		c.answered <- struct{}{}
	}
	<-c.answered
	n := copy(b, c.say[0]+"\n")
	c.say = c.say[1:]
	return n, nil
}

// heardOut is the client's end of the output, which tells the asker about answers.
type heardOut struct {
	bytes.Buffer
	asker *asker
}

func (w *heardOut) Write(b []byte) (int, error) {
	if w.asker != nil {
		for range bytes.Count(b, []byte(`"result"`)) {
			w.asker.answered <- struct{}{}
		}
	}
	return w.Buffer.Write(b)
}

// TestEveryByte: every byte is passed on, also what is not a message, and lines that are too long to record.
func TestEveryByte(t *testing.T) {
	in := "no JSON\n{\"a\":1}\n\x00\xff\n" + strings.Repeat("x", jsonl.DefaultMaxLine) + "\n\n{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\"}}\nno end of a line"
	out, stderr, status, err := run(t.Context(), t, "echo", strings.NewReader(in), acp.Options{Dir: t.TempDir()})
	if out != in || stderr != "bye\n" || status != 7 || err != nil {
		t.Errorf("%d bytes of %d, stderr %q, exit status %d, %v; want all bytes, bye and 7", len(out), len(in), stderr, status, err)
	}
}

// TestSessionIsKept: a session's messages get into its file, and Note is called for its events. A line that was cut off
// does not damage those after it.
func TestSessionIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way")
	var told []string
	var file string
	o := acp.Options{Dir: dir, Note: func(e acp.Event) error {
		if e.Session != "../s" || e.Cwd != "/w" {
			t.Errorf("Note got %+v, want the session ../s in /w", e)
		}
		told, file = append(told, e.Name), e.File
		return nil
	}}
	for range 2 { // the second time, the file ends with a line that was cut off
		if _, _, status, err := run(t.Context(), t, "agent", ask(initialize, newSession, prompt), o); status != 0 || err != nil {
			t.Fatal(status, err)
		}
		if f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0); err != nil {
			t.Fatal(err)
		} else if _, err = f.WriteString(`{"at":`); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(told, " "), "SessionStart Stop SessionEnd SessionStart Stop SessionEnd"; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	if filepath.Dir(file) != dir {
		t.Errorf("the session is in %s, want it in %s", file, dir)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src := record.Source{Name: file, R: bytes.NewReader(b), Size: int64(len(b))}
	var entries []string
	_, err = importer.Read(t.Context(), importer.All().Find("acp"), src, func(string, string) bool { return false }, func(it record.Item) error {
		entries = append(entries, it.Entry.Kind+" "+string(it.Entry.Payload[:min(30, len(it.Entry.Payload))]))
		return nil
	})
	want := []string{`event {"name":"initialize","data":{"`, `event {"name":"session/new","data":{`, `message {"role":"user","content":"hi"}`,
		`event {"name":"output","data":{"from`, `message {"role":"assistant","content":`, `event {"name":"run","data":{"stop_re`}
	if err != nil || len(entries) != 2*len(want)+1 || strings.Join(entries[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("%v: the entries are\n%s\nwant %d, the first\n%s", err, strings.Join(entries, "\n"), 2*len(want)+1, strings.Join(want, "\n"))
	}
}

// TestWithoutDisk: if nothing can be recorded, the agent still works, and the error is a Lost.
func TestWithoutDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, status, err := run(t.Context(), t, "agent", ask(initialize, newSession, prompt), acp.Options{Dir: filepath.Join(file, "x")})
	var lost *acp.Lost
	if status != 0 || !errors.As(err, &lost) || !strings.HasSuffix(out, answers[prompt][2]+"\n") {
		t.Errorf("exit status %d, error %v, want 0 and a Lost: %s", status, err, out)
	}
}

// TestEnds: a missing program has the status 127, and one that was told to end has the signal's status.
func TestEnds(t *testing.T) {
	if _, _, status, err := run(t.Context(), t, "", nil, acp.Options{Argv: []string{"no-such-agent"}}); status != 127 || err == nil {
		t.Errorf("a missing program: status %d, %v; want 127 and an error", status, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	in, w := io.Pipe() // the client sends nothing, and does not hang up
	defer w.Close()
	if _, _, status, err := run(ctx, t, "agent", in, acp.Options{Dir: t.TempDir()}); status != 128+15 || err != nil {
		t.Errorf("an agent that was told to end: status %d, %v; want %d", status, err, 128+15)
	}
}
