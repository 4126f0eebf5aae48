package chatui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/internal/show/display"
)

// frameEvery is the shortest time between two frames of the composer.
const frameEvery = 40 * time.Millisecond

// keptResults is how many results, and maxThought how many bytes of reasoning, can be opened in the pager.
const (
	keptResults = 50
	maxThought  = 1 << 20
)

// frame is what the composer gives the program: finished lines, and those that still change.
type frame struct {
	done     []string
	live     []block
	running  bool
	writing  bool      // a turn runs, and no block has a spinner that shows it
	silent   time.Time // when the last event came
	stopped  bool      // the turn has ended since the last frame
	status   bool      // the status may have changed
	question *question
}

// block is a group of lines that still change, such as a call.
type block struct {
	lines []string
	since time.Time // not zero: the first line has a spinner and the time since then
}

// composer renders what happens as lines. Its fields, except for those that mu guards, belong to its
// goroutine.
type composer struct {
	ui    *UI
	wake  chan struct{}
	paint painter

	mu    sync.Mutex
	acts  []func(*composer)
	width int

	rows     int  // how many lines of the stream, of reasoning or of running calls are shown while they change
	open     bool // reasoning is shown
	stream   stream
	writing  bool            // lines of the stream were printed
	plain    bool            // the turn is a command: its output is not Markdown
	shown    strings.Builder // the turn's text
	thought  strings.Builder // the reasoning, of the last step that has any
	thinking time.Time       // not zero: the model is reasoning
	calls    []*liveCall
	results  []result // the last ones
	began    time.Time
	busy     bool      // a turn runs
	silent   time.Time // when the last event came
	in, out  int64     // tokens of the turn
	question *question
	next     frame           // what the next frame has so far
	spaced   bool            // the last line is empty, or there is none
	wordless bool            // the turn has said nothing since it began, or since its last call
	told     map[string]bool // the ids of messages that were shown as part of the last turns
}

func newComposer(u *UI) *composer {
	c := &composer{ui: u, wake: make(chan struct{}, 1), width: 80, rows: 10, paint: painter(u.colors()), spaced: true, told: map[string]bool{}}
	c.stream.Renderer = newRenderer(c.width, bool(c.paint))
	return c
}

// do queues something for the composer's goroutine.
func (c *composer) do(act func(*composer)) {
	c.mu.Lock()
	c.acts = append(c.acts, act)
	c.mu.Unlock()
	c.rouse()
}

// first is like do, but goes before everything that is queued.
func (c *composer) first(act func(*composer)) {
	c.mu.Lock()
	c.acts = append([]func(*composer){act}, c.acts...)
	c.mu.Unlock()
	c.rouse()
}

func (c *composer) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// resize is told of the terminal's size.
func (c *composer) resize(width, height int) {
	c.mu.Lock()
	c.width = width
	c.mu.Unlock()
	c.do(func(c *composer) {
		c.rows, c.stream.Renderer = max(3, height/2-2), newRenderer(c.cells(), bool(c.paint))
	})
}

// cells is the width of a line.
func (c *composer) cells() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.width
}

// run composes frames, from when the prompt is on the screen until ctx ends.
func (c *composer) run(ctx context.Context) {
	select {
	case <-c.ui.opened:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		c.mu.Lock()
		acts := c.acts
		c.acts = nil
		c.mu.Unlock()
		for _, act := range acts {
			act(c)
		}
		f := c.next
		c.next = frame{}
		f.live, f.running, f.question = c.live(), c.busy, c.question
		f.silent, f.writing = c.silent, c.busy && !slices.ContainsFunc(f.live, func(b block) bool { return !b.since.IsZero() })
		c.ui.program.Send(f)
		select {
		case <-time.After(max(frameEvery, time.Since(began))): // rendering takes at most half of a core
		case <-ctx.Done():
			return
		}
	}
}

// print adds finished lines.
func (c *composer) print(lines ...string) {
	c.next.done = append(c.next.done, lines...)
	if len(lines) > 0 {
		c.spaced = lines[len(lines)-1] == ""
	}
}

// space prints an empty line, unless the last line is empty.
func (c *composer) space() {
	if !c.spaced {
		c.print("")
	}
}

// begin shows the message that a turn answers, unless it was shown with the last turns.
func (c *composer) begin(text string, ids []string) {
	c.busy, c.began, c.silent, c.in, c.out = true, time.Now(), time.Now(), 0, 0
	c.shown.Reset()
	c.wordless = true
	c.plain = strings.HasPrefix(strings.TrimSpace(text), ",")
	if c.next.status = true; slices.ContainsFunc(ids, func(id string) bool { return c.told[id] }) {
		c.space()
		c.print(c.paint.faint("· the turn goes on"), "")
		return
	}
	c.said(text)
}

// said shows what the person has said.
func (c *composer) said(text string) {
	c.space()
	lines := clip(c.wrapped(display.Safe(strings.TrimSpace(text), "\n\t"+joiner), 2), saidLines)
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = c.paint.accent("> ")
		}
		c.print(mark + c.paint.bold(line))
	}
	c.print("")
}

// saidLines is how many lines of what was said are shown.
const saidLines = 12

// steered shows messages that the running turn has read.
func (c *composer) steered(texts []string) {
	c.closeText()
	for _, text := range texts {
		c.said(text)
	}
}

// end shows how the turn ended.
func (c *composer) end(interrupted bool) {
	c.closeText()
	if c.plain && !interrupted { // the output of the command was shown
		c.calls = nil
	}
	for _, l := range c.calls { // they have no result: the turn was interrupted
		c.space()
		c.print(c.callHead(l, c.paint.bad("interrupted"))...)
	}
	c.calls = nil
	took := time.Since(c.began)
	c.space()
	switch {
	case interrupted:
		c.print(c.paint.bad("✗ interrupted") + c.paint.faint(" after "+duration(took)))
	case !c.plain:
		about := duration(took)
		if c.wordless {
			about = "the model gave no answer · " + about
		}
		if c.in+c.out > 0 {
			about += fmt.Sprintf(" · %s tokens in, %s out", display.Number(c.in), display.Number(c.out))
		}
		c.print(c.paint.faint(display.Truncate("· "+about, c.cells())))
	}
	c.space()
	c.busy = false
	c.next.status, c.next.stopped = true, true
}

// event shows an event of the model or a tool.
func (c *composer) event(e hooks.Event) {
	c.silent = time.Now()
	data := hooks.Envelope(e.Data)
	switch e.Kind {
	case hooks.EventText:
		if instead := data.Text("instead"); instead != "" && strings.HasSuffix(instead, data.Text("delta")) { // all of it is shown
			hooks.AddText(&c.shown, e)
			return
		}
		c.closeThought()
		c.text(data.Text("delta"))
	case hooks.EventReasoning:
		if c.thinking.IsZero() {
			c.thinking = time.Now()
			c.thought.Reset()
		}
		if delta := data.Text("delta"); c.thought.Len()+len(delta) < maxThought {
			c.thought.WriteString(delta)
		}
	case hooks.EventNotice:
		c.notice(data.Text("text"))
	case hooks.EventToolCall:
		c.closeText()
		c.calls = append(c.calls, &liveCall{id: data.Text("id"), name: data.Text("name"), arguments: data.Text("arguments"), began: time.Now()})
	case hooks.EventToolOutput:
		c.output(data)
	case hooks.EventToolResult:
		c.closeText()
		c.result(data)
		c.wordless = true
		c.next.status = true
	case hooks.EventUsage:
		in, out := tokens(e.Data)
		c.in, c.out = c.in+in, c.out+out
		c.next.status = true
	}
}

// answered shows what the person has decided.
func (c *composer) answered(r approve.Request, a approve.Answer) {
	c.question = nil
	said := map[approve.Decision]string{
		approve.Once: "✓ allowed", approve.Session: "✓ allowed in this session", approve.Always: "✓ always allowed in this project",
	}[a.Decision]
	switch {
	case said == "":
		said = c.paint.bad("✗ refused") + c.paint.faint(": "+c.brief(r.Tool, r)) // the result has the person's words
	case a.Decision == approve.Once || r.Rule == "":
		said = c.paint.good(said) + c.paint.faint(": "+c.brief(r.Tool, r))
	default:
		said = c.paint.good(said) + c.paint.faint(": "+display.Line(r.Rule))
	}
	c.print(c.fit(said))
}

func (c *composer) brief(tool string, r approve.Request) string {
	what := r.Command
	if r.Path != "" {
		what = r.Path
	}
	return display.Line(tool) + " " + oneLine(what)
}

// live returns the blocks that still change.
func (c *composer) live() (out []block) {
	if !c.thinking.IsZero() {
		b := block{lines: []string{c.paint.faint("thinking · Ctrl-T opens it")}, since: c.thinking}
		if c.open {
			tail := c.thought.String()
			tail = strings.ToValidUTF8(tail[max(0, len(tail)-c.rows*c.cells()):], "")
			b.lines[0] = c.paint.faint("thinking · Ctrl-T folds it")
			lines := c.wrapped(display.Text(strings.TrimSpace(tail)), 2)
			for _, line := range lines[max(0, len(lines)-c.rows):] {
				b.lines = append(b.lines, c.paint.faint("  "+line))
			}
		}
		return append(out, b)
	}
	if lines := c.stream.Live(c.rows); len(lines) > 0 {
		if !c.writing && !c.spaced {
			lines = append([]string{""}, lines...)
		}
		out = append(out, block{lines: lines})
	}
	for _, l := range c.calls {
		out = append(out, c.runningCall(l, max(1, c.rows/max(1, len(c.calls))-1)))
	}
	if len(out) == 0 && c.busy {
		what := "waiting for the model"
		if c.plain {
			what = "running"
		}
		out = append(out, block{lines: []string{c.paint.faint(what)}, since: c.silent})
	}
	return out
}

// tokens reads how many tokens a call of a model took and gave, in the form of either API.
func tokens(usage map[string]any) (in, out int64) {
	number := func(name string) int64 {
		switch v := usage[name].(type) {
		case int64:
			return v
		case int:
			return int64(v)
		case float64:
			return int64(v)
		}
		return 0
	}
	in = max(number("input_tokens"), number("prompt_tokens")) + number("cache_read_input_tokens") + number("cache_creation_input_tokens")
	return in, max(number("output_tokens"), number("completion_tokens"))
}
