package terminal

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"tape/hooks"
	"tape/internal/show/display"
)

// What keys send to the program.
const (
	ctrlC     = 0x03
	ctrlH     = 0x08
	backspace = 0x7f
	clearLine = "\x05\x15" // Ctrl-E, Ctrl-U

	pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"
)

// keys reads a person's keys without waiting for the prompt, so that Ctrl-C and lines reach a running
// turn.
type keys struct {
	interrupt func()
	steer     func(line string)

	mu      sync.Mutex
	more    *sync.Cond
	pending bytes.Buffer // for the prompt
	line    []byte       // typed during a turn
	running bool
	err     error
}

func newKeys(interrupt func(), steer func(line string)) *keys {
	k := &keys{interrupt: interrupt, steer: steer}
	k.more = sync.NewCond(&k.mu)
	return k
}

// setRunning says whether a turn runs: then Ctrl-C ends it, else it clears the line. What was typed
// without Enter during the turn goes to the prompt.
func (k *keys) setRunning(running bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = running
	k.pending.Write(k.line)
	k.line = nil
	k.more.Broadcast()
}

// from reads keys until the end of in.
func (k *keys) from(in io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		var lines []string
		k.mu.Lock()
		for _, b := range buf[:n] {
			switch {
			case b == ctrlC && k.running:
				k.interrupt()
			case b == ctrlC:
				k.pending.WriteString(clearLine)
			case !k.running:
				k.pending.WriteByte(b)
			default:
				lines = append(lines, k.duringTurn(b)...)
			}
		}
		k.err = err
		k.more.Broadcast()
		k.mu.Unlock()
		for _, line := range lines {
			k.steer(line)
		}
		if err != nil {
			return
		}
	}
}

// duringTurn handles a key during a turn. Enter steers the turn with the line, unless the line is a
// command or was edited with more than Backspace: such a line goes to the prompt.
func (k *keys) duringTurn(b byte) (lines []string) {
	if bytes.LastIndex(k.line, []byte(pasteBegins)) > bytes.LastIndex(k.line, []byte(pasteEnds)) { // within a paste
		k.line = append(k.line, b)
		return nil
	}
	switch b {
	case backspace, ctrlH:
		_, size := utf8.DecodeLastRune(k.line)
		k.line = k.line[:len(k.line)-size]
	case '\r', '\n':
		line := strings.TrimSpace(string(k.line))
		if strings.HasPrefix(line, ",") || strings.ContainsFunc(line, unicode.IsControl) {
			k.pending.Write(append(k.line, '\r'))
		} else if line != "" {
			lines = append(lines, line)
		}
		k.line = nil
	default:
		k.line = append(k.line, b)
	}
	return lines
}

// Read returns what is pending for the prompt.
func (k *keys) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.pending.Len() == 0 {
		if k.err != nil {
			return 0, k.err
		}
		k.more.Wait()
	}
	return k.pending.Read(p)
}

// targetCells is how wide a line shows the target of a call.
const targetCells = 60

// target returns what a call is about: a well-known argument, else the first text.
func target(arguments string) string {
	var all map[string]any
	if json.Unmarshal([]byte(arguments), &all) != nil {
		return ""
	}
	names := []string{"path", "cmd", "url", "query", "prompt", "name", "id"}
	for _, name := range append(names, slices.Sorted(maps.Keys(all))...) {
		if text, ok := all[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// resultLine shows a call and its result on one line.
func resultLine(e hooks.Envelope, target string) string {
	ms, _ := strconv.ParseFloat(e.Text("duration_ms"), 64)
	line := "• " + display.Line(e.Text("name"))
	if target != "" {
		line += " " + display.Truncate(display.Line(target), targetCells)
	}
	line += "  " + time.Duration(ms*float64(time.Millisecond)).Round(time.Millisecond).String()
	content := e.Text("content")
	if failed, _ := e["error"].(bool); failed {
		first, _, _ := bytes.Cut([]byte(content), []byte("\n"))
		return line + "  error: " + display.Truncate(display.Line(string(first)), targetCells)
	}
	return line + "  " + display.Bytes(int64(len(content)))
}
