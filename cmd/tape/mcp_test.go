package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient starts tape mcp as an agent does, and connects to it.
func mcpClient(t *testing.T, cmd *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	session, err := mcp.NewClient(&mcp.Implementation{Name: "opencode", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	return session
}

func callTool(t *testing.T, session *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// tape mcp starts tape-host, which serves until its input ends, and sees the entries that others append meanwhile.
func TestMCP(t *testing.T) {
	t.Parallel()
	ws := filepath.Join(t.TempDir(), "ws")
	session := mcpClient(t, tapeIn(ws, "mcp", "--write"))
	if text, failed := callTool(t, session, "tape_list", nil); !failed || !strings.Contains(text, "hint: create one with: tape init") {
		t.Errorf("without a workspace: failed %v, %s; want a failure with the hint tape init", failed, text)
	}
	mustTape(t, ws, "init", ws)
	for n, text := range []string{"zebra", "zebra again"} {
		mustTape(t, ws, "append", "--role", "user", "--text", text)
		if text, failed := callTool(t, session, "tape_search", map[string]any{"query": "zebra"}); failed || strings.Count(text, "[main]") != n+1 {
			t.Errorf("search: failed %v, %s; want %d hits", failed, text, n+1)
		}
	}
	if text, failed := callTool(t, session, "tape_append", map[string]any{"text": "noted"}); failed {
		t.Errorf("tape_append failed: %s", text)
	}
	if out := mustTape(t, ws, "log", "--all"); !strings.Contains(out, "noted") {
		t.Errorf("the log is %s, want the entry \"noted\"", out)
	}
	if err := session.Close(); err != nil { // the program ends when its input ends
		t.Error(err)
	}
	mustTape(t, ws, "verify")
}

// tape mcp ends when its input ends, also after a line that is not JSON, and on a signal.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	ws := filepath.Join(t.TempDir(), "ws")
	mustTape(t, ws, "init", ws)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"
	for name, c := range map[string]struct {
		says string
		end  func(in io.Closer, p *os.Process) error
		exit int
	}{
		"input":  {hello, func(in io.Closer, _ *os.Process) error { return in.Close() }, 0},
		"signal": {hello, func(_ io.Closer, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 0},
		"noise":  {hello + "no JSON\n", func(in io.Closer, _ *os.Process) error { return in.Close() }, 0},
	} {
		if name == "signal" && runtime.GOOS == "windows" {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		cmd := exec.CommandContext(ctx, "tape", "mcp", "--workspace", ws)
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		_, err1 = io.WriteString(in, c.says)
		_, err2 = bufio.NewReader(out).ReadString('\n')
		if err := cmp.Or(err1, err2, c.end(in, cmd.Process)); err != nil {
			t.Fatal(name, err)
		}
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != c.exit || ctx.Err() != nil {
			t.Errorf("%s: got %v (%v), want exit code %d", name, cmd.ProcessState, ctx.Err(), c.exit)
		}
		cancel()
	}
}
