package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/hooks"
	"tape/internal/agent/keys"
	"tape/repo/view"
)

// Server is an MCP server in the settings. It has a command or an address; with both, the address is used. Env is
// added to the environment of the host, from which API keys are removed.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`    // ${NAME} here, and in URL, is replaced by the host's variable NAME
	Env     map[string]string `json:"env"`     // a value that is exactly ${NAME} is replaced, too
	URL     string            `json:"url"`     // of a server that speaks streamable HTTP
	Headers map[string]string `json:"headers"` // of requests to URL, with ${NAME} replaced
}

// Limits of a server.
const (
	startTimeout   = 10 * time.Second // with the list of its tools
	retryAfter     = time.Minute      // until All tries a server again that failed
	exitTimeout    = time.Second      // from the end of its input until it is terminated
	maxMessage     = 16 << 20
	maxTools       = 128
	maxSchema      = 32 << 10
	maxDescription = 2000
)

// server is an MCP server of the settings, with its process or connection.
type server struct {
	Server
	name, dir string
	env       func() []string
	watchdog  *watchdog
	log       *slog.Logger
	tell      func(problem string) // nil: nobody is told
	silence   time.Duration        // how long a call waits without an answer or progress
	waits     waits

	mu      sync.Mutex
	session *mcp.ClientSession
	done    chan struct{} // closed when the session and the process have ended
	stderr  *lastWords
	offered []hooks.Tool
	failed  time.Time // when it last failed to start or to list its tools
	closed  bool
	said    string      // the problem that was told last
	changed atomic.Bool // the list of tools has to be read again
}

// connect returns the session with the server, and starts the server if it does not run. s.mu must be held.
func (s *server) connect(ctx context.Context) (*mcp.ClientSession, error) {
	if s.closed {
		return nil, errors.New("the host is shutting down")
	}
	if s.session != nil {
		select {
		case <-s.done:
			s.session = nil
		default:
			return s.session, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.stderr = &lastWords{}
	transport, ended, err := s.transport()
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "tape", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.waits.progress(r.Params.ProgressToken, s.silence)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.changed.Store(true) }})
	var options *mcp.ClientSessionOptions
	if s.URL == "" { // a program may leave server/discover, which newer versions begin with, without an answer
		options = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		ended()
		if s.URL != "" {
			return nil, fmt.Errorf("it did not start: %w%s%s", err, s.stderr, wayOver(err))
		}
		if errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) || strings.HasSuffix(err.Error(), "EOF") || strings.HasSuffix(err.Error(), "broken pipe") {
			err = errors.New("it has ended")
		}
		return nil, fmt.Errorf("it did not start: %w%s", err, s.stderr)
	}
	s.session, s.done = session, make(chan struct{})
	s.changed.Store(true)
	go func(done chan struct{}) {
		_ = session.Wait() // a call that fails reports the error
		ended()
		close(done)
	}(s.done)
	return session, nil
}

// withVariables replaces each ${NAME} in a text by the host's variable NAME, which must be set.
func withVariables(text string) (out string, err error) {
	out = variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		value, ok := os.LookupEnv(name)
		if !ok {
			err = fmt.Errorf("its settings name the variable %s, which is not set", name)
		}
		return value
	})
	return out, err
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// transport starts the server's process, or uses its address. The caller calls ended when the session has ended.
func (s *server) transport() (t mcp.Transport, ended func(), err error) {
	address, err := withVariables(s.URL)
	if err != nil {
		return nil, nil, err
	}
	args := make([]string, len(s.Args))
	for i, arg := range s.Args {
		if args[i], err = withVariables(arg); err != nil {
			return nil, nil, err
		}
	}
	if address != "" {
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
			return nil, nil, errors.New("its url is neither http nor https")
		}
		to := bounded{RoundTripper: http.DefaultTransport, headers: map[string]string{}, said: s.stderr}
		for name, value := range s.Headers {
			if to.headers[name], err = withVariables(value); err != nil {
				return nil, nil, err
			}
		}
		client := &http.Client{Transport: to, CheckRedirect: keys.SameHost}
		return &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: client, MaxEventSize: maxMessage}, func() {}, nil
	}
	name := s.Command
	if name == "" {
		return nil, nil, errors.New("it has neither a command nor a url")
	}
	if name != filepath.Base(name) && !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	if name, err = exec.LookPath(name); err != nil {
		return nil, nil, err
	}
	cmd := &exec.Cmd{Path: name, Args: append([]string{s.Command}, args...), Dir: s.dir, Env: s.env(), Stderr: s.stderr, WaitDelay: leftOver}
	for key, value := range s.Env {
		if variable.FindString(value) == value {
			if value, err = withVariables(value); err != nil {
				return nil, nil, err
			}
		}
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], key+"="+value)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = w
	err = s.watchdog.start(cmd)
	_ = w.Close()
	if err != nil {
		return nil, nil, errors.Join(err, out.Close())
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // errors of calls quote its standard error
		s.watchdog.ended(cmd)
		close(done)
	}()
	return &mcp.IOTransport{Reader: &messageLines{Closer: out, r: bufio.NewReader(out)}, Writer: in, MaxLineLength: maxMessage}, func() {
		_ = in.Close()
		select {
		case <-done:
		case <-time.After(exitTimeout):
			end(cmd, done)
		}
		_ = out.Close()
	}, nil
}

// close ends the server.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.session != nil {
		_ = s.session.Close() // its process is ended in any case
		<-s.done
		s.session = nil
	}
}

// tools returns the tools of the server. If the server fails, they are those that it listed last, and it is tried again
// after retryAfter.
func (s *server) tools(ctx context.Context) []hooks.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.failed) < retryAfter {
		return s.offered
	}
	within, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	session, err := s.connect(within)
	if err == nil && s.changed.Swap(false) {
		if err = s.list(within, session); err != nil {
			s.changed.Store(true)
		}
	}
	if err != nil && ctx.Err() == nil {
		if s.failed = time.Now(); within.Err() != nil {
			err = fmt.Errorf("it did not answer within %s", startTimeout)
		}
		s.problem(fmt.Sprintf("the MCP server %s cannot be used: %s", s.name, clip(err.Error(), 500)))
		s.log.Warn("an MCP server cannot be used", "server", s.name, "error", clip(err.Error(), 2000))
	}
	return s.offered
}

// problem tells the person what is wrong with the server, unless that was told last.
func (s *server) problem(text string) {
	if s.said != text && s.tell != nil {
		s.tell(text)
	}
	s.said = text
}

// list asks the server for its tools. Those without a name or with a schema over maxSchema are left out, and all after
// the first maxTools.
func (s *server) list(ctx context.Context, session *mcp.ClientSession) error {
	var offered []hooks.Tool
	listed := map[string]bool{}
	for t, err := range toolsOf(ctx, session) {
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		if listed[t.Name] {
			continue
		}
		listed[t.Name] = true
		if len(offered) == maxTools {
			s.problem(fmt.Sprintf("the MCP server %s has more than %d tools: the others are left out", s.name, maxTools))
			s.log.Warn("an MCP server has too many tools", "server", s.name, "used", maxTools)
			break
		}
		schema, ok := t.InputSchema.(map[string]any)
		if !ok {
			schema = map[string]any{}
		}
		schema["type"] = "object"
		raw, err := json.Marshal(schema)
		if err != nil || len(raw) > maxSchema || t.Name == "" {
			s.problem(fmt.Sprintf("the tool %s of the MCP server %s cannot be used: its schema is longer than %d KiB, or it has no name", clip(t.Name, 100), s.name, maxSchema>>10))
			s.log.Warn("a tool of an MCP server cannot be used", "server", s.name, "tool", clip(t.Name, 100), "schema_bytes", len(raw))
			continue
		}
		name := s.name + "." + t.Name
		if other, ok := Find(offered, view.ToolName(name)); ok {
			s.problem(fmt.Sprintf("the tool %s of the MCP server %s cannot be used: its name is that of %s to the model", clip(t.Name, 100), s.name, clip(other.Name, 100)))
			continue
		}
		offered = append(offered, Checked(hooks.Tool{Name: name, Description: clip(t.Description, maxDescription), Schema: raw,
			Run: func(ctx context.Context, _ hooks.ToolContext, arguments json.RawMessage) (string, error) {
				return s.call(ctx, t.Name, arguments, false)
			}}))
	}
	s.offered = offered
	return nil
}

// toolsOf lists a server's tools, page by page. A page that names itself or an earlier one as the next is the last
// (DeusData/codebase-memory-mcp#1247, sparfenyuk/mcp-proxy#233).
func toolsOf(ctx context.Context, session *mcp.ClientSession) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		pages := map[string]bool{}
		for cursor := ""; !pages[cursor]; {
			pages[cursor] = true
			page, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, t := range page.Tools {
				if t != nil && !yield(t, nil) {
					return
				}
			}
			cursor = page.NextCursor
		}
	}
}

// lastWords keeps the end of what a process writes to standard error.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	const kept = 1000
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = append(l.text[:0], l.text[max(0, len(l.text)-kept):]...)
	return len(p), nil
}

func (l *lastWords) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = l.text[:0]
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(toText(l.text))
	if text == "" {
		return ""
	}
	return "\nit wrote: " + text
}
