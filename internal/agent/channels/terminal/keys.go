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

// What keys send.
const (
	ctrlC     = 0x03
	ctrlH     = 0x08
	backspace = 0x7f
	clearLine = "\x05\x15" // to the end of the line, and delete it

	pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"
)

// keys is what a person types: read at once, so that Ctrl-C and whole lines are heard during a turn.
type keys struct {
	interrupt func()
	say       func(line string) // to the turn that runs

	mu      sync.Mutex
	more    *sync.Cond
	waits   bytes.Buffer
	line    []byte // that is typed during a turn
	running bool
	err     error
}

func newKeys(interrupt func(), say func(line string)) *keys {
	k := &keys{interrupt: interrupt, say: say}
	k.more = sync.NewCond(&k.mu)
	return k
}

// busy says whether a turn runs: then Ctrl-C ends it, else it clears the line. What was typed during
// the turn without Enter waits for the prompt.
func (k *keys) busy(running bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = running
	k.waits.Write(k.line)
	k.line = nil
	k.more.Broadcast()
}

func (k *keys) from(in io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		var said []string
		k.mu.Lock()
		for _, b := range buf[:n] {
			switch {
			case b == ctrlC && k.running:
				k.interrupt()
			case b == ctrlC:
				k.waits.WriteString(clearLine)
			case !k.running:
				k.waits.WriteByte(b)
			default:
				said = append(said, k.duringTurn(b)...)
			}
		}
		k.err = err
		k.more.Broadcast()
		k.mu.Unlock()
		for _, line := range said {
			k.say(line)
		}
		if err != nil {
			return
		}
	}
}

// duringTurn takes a key. Enter gives the line to the turn, unless that is a command or was edited
// with more than Backspace: such a line waits for the prompt.
func (k *keys) duringTurn(b byte) (said []string) {
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
			k.waits.Write(append(k.line, '\r'))
		} else if line != "" {
			said = append(said, line)
		}
		k.line = nil
	default:
		k.line = append(k.line, b)
	}
	return said
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
