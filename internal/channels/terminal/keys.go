package terminal

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"tape/hooks"
	"tape/internal/display"
)

// What keys send.
const (
	ctrlC     = 0x03
	clearLine = "\x05\x15" // to the end of the line, and delete it
)

// keys is what a person types: read at once, so that Ctrl-C is heard during a turn.
type keys struct {
	interrupt func()

	mu      sync.Mutex
	more    *sync.Cond
	waits   bytes.Buffer
	running bool
	err     error
}

func newKeys(interrupt func()) *keys {
	k := &keys{interrupt: interrupt}
	k.more = sync.NewCond(&k.mu)
	return k
}

// busy says whether a turn runs: then Ctrl-C ends it, else it clears the line.
func (k *keys) busy(running bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = running
}

func (k *keys) from(in io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		k.mu.Lock()
		for _, b := range buf[:n] {
			switch {
			case b != ctrlC:
				k.waits.WriteByte(b)
			case k.running:
				k.interrupt()
			default:
				k.waits.WriteString(clearLine)
			}
		}
		k.err = err
		k.more.Broadcast()
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read gives what was typed.
func (k *keys) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.waits.Len() == 0 {
		if k.err != nil {
			return 0, k.err
		}
		k.more.Wait()
	}
	return k.waits.Read(p)
}

// How much of a call a line shows.
const targetCells = 60

// target is what a call is about: the argument that says so by its name, else the first text.
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

// resultLine tells a call and how it ended.
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
