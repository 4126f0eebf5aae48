package procplugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"tape/internal/show/display"
)

// longestLog is how many bytes of a line are logged.
const longestLog = 4096

// keepLog logs what the process writes to standard error: so many lines in a minute.
func (in *instance) keepLog(stderr io.Reader) {
	r := bufio.NewReaderSize(stderr, longestLog)
	from, lines := time.Now(), 0
	more := false // the line began before
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
				in.log.Info(display.Line(trimEnd(piece)))
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

func trimEnd(line []byte) string {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return string(line)
}

// logged logs what the plugin asks to be logged.
func (in *instance) logged(m *received) {
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
