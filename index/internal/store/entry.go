package store

import (
	"slices"
	"strings"
	"unicode"

	"tape/index/internal/fts5"
	"tape/internal/store/activity"
	"tape/internal/store/snapshot"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Marks are terms that no text contains: a private character, and a letter for the meaning. Other letters
// are those of [snapshot.Properties].
const (
	Mark       = "\ue000"
	MarkKind   = Mark + "k" // the entry's kind, which is a property, too
	MarkName   = Mark + "n" // an event's name
	MarkSearch = Mark + "s" // written by a search tool: meta.search
	MarkOften  = Mark + "o" // a word that the entry contains OftenTimes
)

// OftenTimes is how often an entry must contain a word to be a candidate although newer ones contain it.
const OftenTimes = 3

type wordCollector struct {
	builder *fts5.Builder
	tape    int64 // the last tape added, see filler
	notes   bool  // also read what was done
	words   text.Tokenizer
	text    []byte
	term    []byte
}

// add adds an entry's words to the builder, and returns what else is stored of it.
func (w *wordCollector) add(tape int64, e repo.Entry) Line {
	w.text = text.AppendEntry(w.text[:0], e.Kind, e.Payload)
	times := 0
	if isTalk(e.Kind) {
		times = OftenTimes
	}
	w.builder.Often(MarkOften, times)
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
			const longest = 200 // bytes
			if value != "" {
				w.mark(Mark+p.Mark, strings.ToValidUTF8(value[:min(len(value), longest)], ""))
			}
		}
	}
	if name := NameOf(e); name != "" {
		w.mark(MarkName, name)
	}
	if IsSearch(e) {
		w.mark(MarkSearch, "")
	}
	l := Line{id: e.ID, Kind: e.Kind, summary: summaryOf(e, w.text[:own]), Seq: e.AnchorSeq, At: e.At, Sign: int64(SignOf(e.Kind, w.text[:own]))}
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

// AppendAttached adds the text of an entry's artifacts to its own.
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

// TalkKinds are the kinds of entries that people and agents said, as opposed to printed by machines.
var TalkKinds = [...]string{repo.KindMessage, repo.KindAnchor, repo.KindError}

func isTalk(kind string) bool { return slices.Contains(TalkKinds[:], kind) }

// SignOf is equal for entries that are folded into one hit: of what was said, those with the same text; of
// what was printed, also those that differ in digits and the like.
func SignOf(kind string, body []byte) uint64 {
	if isTalk(kind) || kind == repo.KindSystem {
		return text.Identity(body)
	}
	return text.Signature(body)
}

// NameOf is the name by which an event is found; "" if it has none or a very long one.
func NameOf(e repo.Entry) string {
	const longest = 200 // bytes
	if e.Kind != repo.KindEvent {
		return ""
	}
	if name := jsonl.GetString(e.Payload, "name"); len(name) <= longest {
		return name
	}
	return ""
}

// IsSearch reports whether a search tool wrote the entry.
func IsSearch(e repo.Entry) bool {
	return len(e.Meta) > 2 && string(jsonl.Get(e.Meta, "search")) == "true"
}

// Limits of summaries, in bytes. People ask for the whole summary of a handoff; other entries are told
// apart by their beginnings.
const (
	maxSummary       = 80
	maxAnchorSummary = 16 << 10
)

// summaryOf describes an entry in a line: who said what, which tools, which event, which kind of error; for
// an anchor, the summary of the handoff. body is the entry's text.
func summaryOf(e repo.Entry, body []byte) string {
	s, most := "", maxSummary
	switch e.Kind {
	case repo.KindMessage:
		s = e.Role() + ": " + opening(body)
	case repo.KindToolCall:
		var names []string
		for call := range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
			if name := jsonl.GetString(call, "function", "name"); name != "" {
				names = append(names, name)
			}
		}
		s = strings.Join(names, ", ")
	case repo.KindEvent:
		s = jsonl.GetString(e.Payload, "name")
	case repo.KindError:
		s = jsonl.GetString(e.Payload, "kind") + ": " + opening([]byte(jsonl.GetString(e.Payload, "message")))
	case repo.KindAnchor:
		s, most = jsonl.GetString(e.Payload, "state", "summary"), maxAnchorSummary
	}
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// opening is the beginning of a text, on one line.
func opening(body []byte) string {
	return strings.Join(strings.FieldsFunc(string(body[:min(len(body), maxSummary)]), func(r rune) bool {
		return r == text.Sep || unicode.IsSpace(r)
	}), " ")
}
