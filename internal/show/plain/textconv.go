package plain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// How an entry looks in a diff. It depends only on the stored line.
const (
	diffCells  = 100
	diffIndent = "    " // so that no text can look like the heading of an entry
	diffText   = diffCells - len(diffIndent)
	diffKind   = 40 // cells of a kind, or of a date that cannot be read, at most
	diffTime   = "2006-01-02 15:04:05 UTC"
)

// diffLimit returns how many cells of a line of text are shown; 0 means all. Results and data may have very
// long lines.
func diffLimit(kind string) int {
	switch kind {
	case layout.KindMessage, layout.KindSystem, layout.KindAnchor:
		return 0
	case layout.KindToolCall:
		return diffText // a call is on one line
	}
	return 3 * diffText
}

// quietEvent reports whether an entry is shown on one line, without a blank line before it. This holds for all
// events but a model's thinking, because there may be more events than messages.
func quietEvent(e layout.Entry) bool {
	return e.Kind == layout.KindEvent && conversation.Event{Entry: e}.Thinking() == ""
}

// Textconv renders each line of a file without regard to the others, so that lines added to the file only add to
// the rendering. A blank line goes before each entry except the first and quiet events. If the last line lacks its
// newline, so does the rendering, and git says so.
func Textconv(raw []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(raw)+len(raw)/8))
	for line := range bytes.Lines(raw) {
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		diffLine(out, text)
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// diffLine renders one stored line, without a newline at the end.
func diffLine(out *bytes.Buffer, line []byte) {
	stored, err := jsonl.Parse(line)
	e := layout.Entry{ID: stored.ID, Kind: stored.Kind, Payload: stored.Payload, Date: stored.Date}
	quiet := err == nil && quietEvent(e)
	if out.Len() > 0 && !quiet {
		out.WriteByte('\n')
	}
	if err != nil {
		out.WriteString(display.Safe(string(line), "\t"))
		return
	}
	heading := fmt.Sprintf("@%d %s  %s  %s", e.ID, display.Truncate(display.Line(Kind(e)), diffKind), diffDate(e.Date), checksum(line))
	out.WriteString(heading)
	if quiet {
		text := strings.ReplaceAll(strings.Join(Short(e), " "), "\t", " ")
		out.WriteString("  " + display.Truncate(text, diffCells-display.Width(heading)-2))
		return
	}
	limit := diffLimit(e.Kind)
	for _, text := range Short(e) {
		text = strings.ReplaceAll(strings.TrimRight(text, " \t"), "\t", "    ")
		if limit > 0 {
			text = display.Shorten(text, limit)
		}
		for _, part := range display.Wrap(text, diffText) {
			out.WriteByte('\n')
			if part != "" {
				out.WriteString(diffIndent + part)
			}
		}
	}
}

// diffDate returns a date in UTC, to the second. A smaller difference shows in the checksum.
func diffDate(date string) string {
	t, ok := display.ParseStored(date)
	switch {
	case ok:
		return t.In(time.UTC).Format(diffTime)
	case date == "":
		return "no date"
	}
	return display.Truncate(display.Line(date), diffKind)
}

// checksum shows that lines differ. It is short, and does not protect against forgery.
func checksum(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:4])
}
