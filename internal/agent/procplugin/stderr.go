package procplugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"tape/internal/show/display"
)

// longestLog is how many bytes of a line or message are logged at most.
const longestLog = 4096

// logStderr logs the standard error of the process, at most in.limits.logged lines a minute.
func (in *instance) logStderr(stderr io.Reader) {
	r := bufio.NewReaderSize(stderr, longestLog)
	from, lines := time.Now(), 0
	more := false // the next piece belongs to the same line, and is left out
	for {
		piece, err := r.ReadSlice('\n')
		if time.Since(from) > window {
			if lines > in.limits.logged {
				in.log.Warn("lines of standard error were left out", "lines", lines-in.limits.logged)
			}
			from, lines = time.Now(), 0
		}
		if len(piece) > 0 && !more {
			lines++
			switch {
			case lines <= in.limits.logged:
				in.log.Info(display.Line(strings.TrimRight(string(piece), "\r\n")))
			case lines == in.limits.logged+1:
				in.log.Warn("too much on standard error: the rest of this minute is left out")
			}
		}
		more = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more {
			return
		}
	}
}

// handleLog logs a message that the plugin sent.
func (in *instance) handleLog(m *received) {
	var entry struct {
		Level   slog.Level `json:"level"`
		Message string     `json:"message"`
	}
	if err := json.Unmarshal(m.Params, &entry); err != nil {
		entry.Level, entry.Message = slog.LevelWarn, "log: "+err.Error()
	}
	in.log.Log(context.Background(), entry.Level, display.Line(cut(entry.Message, longestLog)))
	if len(m.ID) > 0 {
		in.answer(m.ID, struct{}{}, nil, false)
	}
}
