package index

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"tape/index/internal/fts5"
	"tape/internal/jsonl"
	"tape/internal/text"
	"tape/repo"
)

// How new entries become rows. One goroutine reads them, some take their words, and the
// caller's writes rows and words to the database: see fill.

const (
	// Entries are handed on in batches, bounded by their number and their bytes.
	batchEntries = 256
	batchBytes   = 1 << 20
	// builderBytes bounds the words that all workers together hold in memory.
	builderBytes = 96 << 20
)

// line is what is stored of an entry.
type line struct {
	id      int64
	kind    string
	summary string
	created int64 // microseconds since 1970
	dated   bool
	seq     int
	at      repo.Position
	sign    int64
	anchor  string // the name, of an anchor that opens a phase
}

type batch struct {
	number  int
	entries []repo.Entry
	lines   []line
}

// fill reads a suffix and calls row for every entry, in order, and words with every
// builder that has become full. Both are called by this goroutine.
func fill(ctx context.Context, s *repo.Suffix, tape int64, row func(line) error, words func(*fts5.Builder) error) error {
	workers := max(1, runtime.GOMAXPROCS(0))
	g, ctx := errgroup.WithContext(ctx)
	in := make(chan *batch, workers)
	out := make(chan *batch, workers)
	full := make(chan *fts5.Builder)
	g.Go(func() error { return readBatches(ctx, s, in) })
	var running sync.WaitGroup
	for range workers {
		running.Add(1)
		g.Go(func() error {
			defer running.Done()
			return takeWords(ctx, tape, builderBytes/workers, in, out, full)
		})
	}
	go func() {
		running.Wait()
		close(out)
		close(full)
	}()
	err := store(out, full, row, words)
	if err != nil {
		// Let the others end: they stop when the context is cancelled.
		g.Go(func() error { return err })
		for range out {
		}
		for range full {
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	return err
}

func readBatches(ctx context.Context, s *repo.Suffix, in chan<- *batch) error {
	defer close(in)
	b, size := &batch{}, 0
	send := func() error {
		select {
		case in <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		b, size = &batch{number: b.number + 1}, 0
		return nil
	}
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return err
		}
		b.entries = append(b.entries, e)
		size += len(e.Raw)
		if len(b.entries) == batchEntries || size >= batchBytes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(b.entries) == 0 {
		return nil
	}
	return send()
}

// takeWords does the work on batches until there are no more.
func takeWords(ctx context.Context, tape int64, limit int, in <-chan *batch, out chan<- *batch, full chan<- *fts5.Builder) error {
	w := &worder{builder: fts5.NewBuilder()}
	flush := func() error {
		if w.builder.Docs() == 0 {
			return nil
		}
		select {
		case full <- w.builder:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.builder = fts5.NewBuilder()
		return nil
	}
	for b := range in {
		b.lines = make([]line, len(b.entries))
		for i, e := range b.entries {
			b.lines[i] = w.add(tape, e)
		}
		b.entries = nil
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		if w.builder.Size() >= limit {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// store takes what the workers made: batches in their order, builders as they come.
func store(out <-chan *batch, full <-chan *fts5.Builder, row func(line) error, words func(*fts5.Builder) error) error {
	early := map[int]*batch{}
	next := 0
	for out != nil || full != nil {
		select {
		case b, ok := <-out:
			if !ok {
				out = nil
				continue
			}
			early[b.number] = b
			for early[next] != nil {
				for _, l := range early[next].lines {
					if err := row(l); err != nil {
						return err
					}
				}
				delete(early, next)
				next++
			}
		case b, ok := <-full:
			if !ok {
				full = nil
				continue
			}
			if err := words(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Marks are terms that no text has: they begin with a private character, and a letter
// says what for.
const (
	markKind   = "\ue000k" // the entry's kind
	markRole   = "\ue000r" // a message's role
	markSearch = "\ue000s" // written by a search tool: meta.search
	markOften  = "\ue000o" // a word that the entry has oftenTimes
)

// oftenTimes is how often an entry has to have a word to be a candidate for it even
// when newer ones have it, too.
const oftenTimes = 3

// worder makes words of entries.
type worder struct {
	builder *fts5.Builder
	words   text.Tokenizer
	text    []byte
	term    []byte
}

// add puts an entry's words into the builder, and returns what else is stored of it.
func (w *worder) add(tape int64, e repo.Entry) line {
	w.text = text.AppendEntry(w.text[:0], e.Kind, e.Payload)
	times := 0
	if isTalk(e.Kind) {
		times = oftenTimes
	}
	w.builder.Often(markOften, times)
	w.builder.Begin(docOf(tape, e.ID))
	w.words.Reset(w.text)
	for w.words.Next() {
		w.builder.Add(w.words.Term)
	}
	w.mark(markKind, e.Kind)
	if hasRole(e) {
		w.mark(markRole, roleOf(e))
	}
	if isSearch(e) {
		w.mark(markSearch, "")
	}
	l := line{id: e.ID, kind: e.Kind, summary: summaryOf(e), seq: e.AnchorSeq, at: e.At, sign: int64(signOf(e.Kind, w.text))}
	if at, ok := e.Time(); ok {
		l.created, l.dated = at.UnixMicro(), true
	}
	if e.Kind == repo.KindAnchor {
		l.anchor = e.Anchor
	}
	return l
}

func (w *worder) mark(mark, value string) {
	w.term = append(append(w.term[:0], mark...), value...)
	w.builder.Add(w.term)
}

// talkKinds are the kinds of what people and agents said, rather than machines printed.
var talkKinds = [...]string{repo.KindMessage, repo.KindAnchor, repo.KindError}

func isTalk(kind string) bool { return slices.Contains(talkKinds[:], kind) }

// signOf is equal for entries that are shown as one: of what was said, those that say the
// same; of what was printed, also those that differ in digits and the like.
func signOf(kind string, body []byte) uint64 {
	if isTalk(kind) || kind == repo.KindSystem {
		return text.Identity(body)
	}
	return text.Signature(body)
}

// roleOf is the role of a message; that of a system prompt is its kind.
func roleOf(e repo.Entry) string {
	if e.Kind == repo.KindSystem {
		return e.Kind
	}
	return jsonl.GetString(e.Payload, "role")
}

func hasRole(e repo.Entry) bool { return e.Kind == repo.KindMessage || e.Kind == repo.KindSystem }

// isSearch reports whether a search tool wrote the entry.
func isSearch(e repo.Entry) bool {
	return len(e.Meta) > 2 && string(jsonl.Get(e.Meta, "search")) == "true"
}

// maxSummary bounds a summary, in bytes.
const maxSummary = 200

// summaryOf says in a few words what an entry is: its role, its tools, its name; of an
// anchor, the summary of the handoff. Never what it says, which is in the tape.
func summaryOf(e repo.Entry) string {
	var s string
	switch e.Kind {
	case repo.KindMessage:
		s = roleOf(e)
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
		s = jsonl.GetString(e.Payload, "kind")
	case repo.KindAnchor:
		s = jsonl.GetString(e.Payload, "state", "summary")
	}
	if len(s) <= maxSummary {
		return s
	}
	cut := maxSummary
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
