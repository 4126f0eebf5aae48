package store

import (
	"strings"
	"unicode"

	"tape/index/internal/fts5"
	"tape/internal/store/activity"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// wordCollector collects the words of entries in a builder.
type wordCollector struct {
	builder *fts5.Builder
	tape    int64 // the last tape added, see filler
	notes   bool  // also read the activity, see Line
	words   text.Tokenizer
	text    []byte
	term    []byte
}

// add adds an entry's words to the builder, and returns what else is stored about it.
func (w *wordCollector) add(tape int64, e repo.Entry) Line {
	w.text = text.AppendEntry(w.text[:0], e.Kind, e.Payload)
	times := 0
	if relevance.IsTalk(e.Kind) {
		times = relevance.OftenTimes
	}
	w.builder.Often(relevance.MarkOften, times)
	w.builder.Begin(DocOf(tape, e.ID))
	own := len(w.text)
	w.text = AppendAttached(w.text, e)
	w.words.Reset(w.text)
	for w.words.Next() {
		w.builder.Add(w.words.Term)
	}
	for i := range snapshot.Properties {
		p := &snapshot.Properties[i]
		for _, value := range p.Of(e) {
			if value != "" {
				w.mark(relevance.Mark+p.Mark, relevance.Shortened(value))
			}
		}
	}
	if name := relevance.NameOf(e); name != "" {
		w.mark(relevance.MarkName, name)
	}
	if relevance.IsSearch(e) {
		w.mark(relevance.MarkSearch, "")
	}
	l := Line{id: e.ID, Kind: e.Kind, seq: e.AnchorSeq, At: e.At, Sign: int64(int32(relevance.FoldKey(e.Kind, w.text[:own])))} //nolint:gosec // 32 bits tell the candidates of a search apart
	l.label, l.summary = summaryOf(e)
	if at, ok := e.Time(); ok {
		l.Created, l.dated = at.UnixMicro(), true
	}
	if e.Kind == repo.KindAnchor {
		l.anchor = e.Anchor
	}
	if w.notes {
		l.note = activity.Read(e)
	}
	return l
}

// AppendAttached appends the text of an entry's artifacts to dst.
func AppendAttached(dst []byte, e repo.Entry) []byte {
	if len(e.Attached) == 0 {
		return dst
	}
	return append(append(dst, text.Sep), e.Attached...)
}

func (w *wordCollector) mark(mark, value string) {
	w.term = append(append(w.term[:0], mark...), value...)
	w.builder.Add(w.term)
}

// Limits of summaries, in bytes. People ask for the whole summary of a handoff; for other entries, the
// beginning is enough to tell them apart.
const (
	maxSummary       = 80
	maxAnchorSummary = 16 << 10
)

// summaryOf describes an entry in a line: who speaks, which tools, which event; these are labels, which many entries
// share. An error and an anchor have a summary of their own: how the message begins, and the summary of the handoff.
// What a person asks is in the table said.
func summaryOf(e repo.Entry) (label, own string) {
	switch e.Kind {
	case repo.KindMessage:
		label = e.Role()
	case repo.KindToolCall:
		var names []string
		for call := range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
			if name := jsonl.GetString(call, "function", "name"); name != "" {
				names = append(names, name)
			}
		}
		label = strings.Join(names, ", ")
	case repo.KindEvent:
		label = jsonl.GetString(e.Payload, "name")
	case repo.KindError:
		own = cut(jsonl.GetString(e.Payload, "kind")+": "+opening(jsonl.GetString(e.Payload, "message")), maxSummary)
	case repo.KindAnchor:
		own = cut(jsonl.GetString(e.Payload, "state", "summary"), maxAnchorSummary)
	}
	return cut(label, maxSummary), own
}

// cut returns at most the first bytes of a text.
func cut(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// opening is the beginning of a text, on one line.
func opening(body string) string {
	return strings.Join(strings.FieldsFunc(body[:min(len(body), maxSummary)], func(r rune) bool {
		return r == text.Sep || unicode.IsSpace(r)
	}), " ")
}
