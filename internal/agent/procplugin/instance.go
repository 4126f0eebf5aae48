package procplugin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"tape/internal/agent/keys"
	"tape/internal/show/display"
)

// server serves a request of the plugin. c is the call within which the plugin asks, or nil.
type server func(ctx context.Context, c *call, method string, params json.RawMessage) (any, error)

// instance is a running process.
type instance struct {
	limits *limits
	log    *slog.Logger
	serve  server
	cmd    *exec.Cmd
	out    chan []byte   // lines for its standard input; nil closes it
	exited chan struct{} // closed when the process has ended
	dead   chan struct{} // closed when, in addition, all its output was read

	mu       sync.Mutex
	err      error // why it ended
	final    bool  // the plugin must not be started again
	last     int   // the id of the latest call
	calls    map[int]*call
	late     map[int]bool // cancelled, and not answered yet
	requests map[string]*pluginRequest
	stray    int // lines that were not messages
}

// start starts a process, which ends when ctx does.
func start(ctx context.Context, c Config, o Options, serve server) (*instance, error) {
	in := &instance{
		limits: o.limits, log: o.Log, serve: serve, cmd: exec.Command(c.Command[0], c.Command[1:]...),
		out: make(chan []byte, 4*maxRequests), exited: make(chan struct{}), dead: make(chan struct{}),
		calls: map[int]*call{}, late: map[int]bool{}, requests: map[string]*pluginRequest{},
	}
	in.cmd.Dir, in.cmd.Env = cmp.Or(o.Dir, o.Project), keys.CleanEnv(os.Environ(), c.Env, o.Keys...)
	detach(in.cmd)
	stdin, err := in.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it before everything is read.
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirOut.Close()
	stderr, theirErr, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdout.Close())
	}
	defer theirErr.Close()
	in.cmd.Stdout, in.cmd.Stderr = theirOut, theirErr
	if err := in.cmd.Start(); err != nil {
		_ = stdin.Close() // Start has usually closed it
		return nil, errors.Join(err, stdout.Close(), stderr.Close())
	}
	go in.write(stdin)
	go in.logStderr(stderr)
	read := make(chan struct{})
	go func() {
		defer close(read)
		in.read(ctx, stdout)
	}()
	go in.wait(ctx, read, stdout, stderr)
	return in, nil
}

// wait waits for the end of the process, kills what it has started, and waits until its output was read.
func (in *instance) wait(ctx context.Context, read <-chan struct{}, pipes ...*os.File) {
	stop := context.AfterFunc(ctx, func() { in.fail(ctx.Err(), true) })
	defer stop()
	err := in.cmd.Wait()
	close(in.exited)
	kill(in.cmd)
	// A process that it started and that survives may keep the pipes open.
	timer := time.AfterFunc(time.Second, func() { _ = pipes[0].Close() })
	<-read
	timer.Stop()
	if err == nil {
		err = errors.New("the process ended")
	} else {
		err = fmt.Errorf("the process ended: %w", err)
	}
	in.fail(err, false)
	close(in.dead)
	for _, p := range pipes {
		_ = p.Close()
	}
}

// fail ends the process. The first error is kept as the reason.
func (in *instance) fail(err error, final bool) {
	in.mu.Lock()
	if in.err == nil {
		in.err, in.final = err, final
	}
	in.mu.Unlock()
	select {
	case <-in.exited:
	default:
		kill(in.cmd)
	}
}

// failure returns why the process ended, and whether it must not be started again.
func (in *instance) failure() (final bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.final, in.err
}

// write writes queued lines to the standard input of the process.
func (in *instance) write(stdin io.WriteCloser) {
	defer stdin.Close()
	for {
		select {
		case <-in.exited:
			return
		case line := <-in.out:
			if line == nil {
				return
			}
			if _, err := stdin.Write(line); err != nil {
				return // the process has ended, or will fail to answer
			}
		}
	}
}

var errDown = errors.New("the plugin has ended")

// send queues a line for the process; it waits while the queue is full.
func (in *instance) send(ctx context.Context, line []byte) error {
	select {
	case in.out <- line:
		return nil
	case <-in.exited:
		return errDown
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notify sends a notification, unless the queue is full.
func (in *instance) notify(method string, params any) {
	line, err := encode(message{Method: method, Params: params}, in.limits.line)
	if err != nil {
		in.log.Warn("a notification was not sent", "method", method, "error", err)
		return
	}
	select {
	case in.out <- line:
	default:
	}
}

// read handles what the process writes. It never blocks on the host's work.
func (in *instance) read(ctx context.Context, stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, in.limits.line+1) // with the newline
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		if m := parse(line); m == nil || !in.dispatch(ctx, m) {
			in.brokenAnswer(line)
			if !in.countStray(line) {
				return
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		in.fail(fmt.Errorf("it wrote a line of more than %d bytes", in.limits.line), false)
		return
	}
	select {
	case <-in.exited:
	case <-time.After(time.Second):
		in.fail(errors.New("it closed its standard output"), false)
	}
}

// brokenAnswer fails the call that a line answers in a form that is none of the protocol: NaN in it, an id that is a text,
// an error that is one. The call would wait until its time is over. A request, or a log, with an id in it answers none.
func (in *instance) brokenAnswer(line []byte) {
	if line[0] != '{' || bytes.Contains(line, []byte(`"method"`)) || !regexp.MustCompile(`"(?:result|error)" ?:`).Match(line) {
		return
	}
	if found := regexp.MustCompile(`"id" ?: ?"?(\d+)"?[,}]`).FindSubmatch(line); found != nil {
		in.handleAnswer(&received{ID: found[1], Error: &rpcError{codeFailed, "its answer is not one of JSON-RPC 2.0: " + cut(string(line), 200)}, size: len(line)})
	}
}

// countStray counts a line that is not a message; false if there are too many.
func (in *instance) countStray(line []byte) bool {
	in.mu.Lock()
	in.stray++
	n := in.stray
	in.mu.Unlock()
	in.log.Warn("a stray line on standard output", "line", display.Line(cut(string(line), 200)), "count", n)
	if n >= in.limits.stray {
		in.fail(fmt.Errorf("%d stray lines on standard output; a plugin logs to standard error", n), true)
	}
	return n < in.limits.stray
}

// dispatch passes a message to the call or request that it belongs to; false if there is none.
func (in *instance) dispatch(ctx context.Context, m *received) bool {
	switch m.Method {
	case "":
		return in.handleAnswer(m)
	case "$/cancel":
		in.handleCancel(m)
		return true
	case "log":
		in.handleLog(m)
		return true
	}
	var within struct {
		CallID *int `json:"call_id"`
	}
	_ = json.Unmarshal(m.Params, &within) // an error is reported when the request is served
	var c *call
	if within.CallID != nil {
		in.mu.Lock()
		c = in.calls[*within.CallID]
		late := in.late[*within.CallID]
		in.mu.Unlock()
		if m.Method == "model/event" && (late || c != nil && c.events) {
			if c != nil {
				c.queue.push(m, in.limits.queue)
			}
			return true
		}
	}
	if m.Method == "model/event" {
		return false
	}
	return in.handleRequest(ctx, m, c, within.CallID != nil)
}

// handleAnswer passes an answer to its call. An answer to a cancelled call is dropped.
func (in *instance) handleAnswer(m *received) bool {
	id, err := strconv.Atoi(string(m.ID))
	if err != nil {
		return false
	}
	in.mu.Lock()
	c, late := in.calls[id], in.late[id]
	delete(in.calls, id)
	delete(in.late, id)
	in.mu.Unlock()
	if c != nil {
		c.queue.push(m, in.limits.queue)
	}
	return c != nil || late
}
