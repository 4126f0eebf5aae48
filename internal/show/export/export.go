// Package export writes a tape, or phases of it, for use elsewhere.
//
// [JSONL] is the record itself, byte for byte. [OpenAI] and [Training] are for models:
// the messages that package view makes of the entries. [Markdown] and [HTML] are for
// people: what was said and done, in the order of the tape, with details folded.
//
// Recorded text is hostile, and stays text. Pages render its Markdown only as elements
// that load and run nothing, and as links to the web. It cannot make headings or fences of
// a document, and invisible and reordering characters become visible. Documents for people
// leave out meta and the spelling of JSON; only JSONL has everything.
//
// Entries are written as they are read. At most some megabytes of them are held back:
// calls that wait for their results, and the entries between.
package export

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"tape/internal/show/export/messages"
	"tape/repo"
	"tape/repo/view"
)

// Format is the name of a format.
type Format string

// The formats.
const (
	JSONL    Format = "jsonl"    // the stored lines
	OpenAI   Format = "openai"   // one JSON array of chat messages
	Markdown Format = "markdown" // a document
	HTML     Format = "html"     // one page that needs no other file
	Training Format = "training" // one JSON object a phase, see [Write]
)

// Formats returns the names of all formats, JSONL first.
func Formats() []Format { return []Format{JSONL, OpenAI, Markdown, HTML, Training} }

// Source is the input of an export.
type Source struct {
	Tape string
	// Phases are all phases of the tape, from number 1 on. JSONL and OpenAI do not need them.
	Phases []repo.Phase
	// First and Last are the numbers of the phases to export; 0 is no bound.
	First, Last int
	// Kinds are the kinds of the entries; nil: all.
	Kinds []string
	// Entries are those to export, in the order of the tape. They are read once.
	Entries iter.Seq2[repo.Entry, error]
	// Whole are all entries of the tape. Markdown and HTML read them first, for the title
	// and the list of prompts.
	Whole iter.Seq2[repo.Entry, error]
	// Prose renders Markdown as HTML, folded behind the first lines. Only HTML needs it. It is
	// a parameter because package prose would slow down the start of tape.
	Prose func(text string, lines int) string
}

// has reports whether an entry is of the selected phases and kinds.
func (s Source) has(e repo.Entry) bool {
	return e.AnchorSeq >= s.First && (s.Last == 0 || e.AnchorSeq <= s.Last) && (len(s.Kinds) == 0 || slices.Contains(s.Kinds, e.Kind))
}

func (s Source) selected() []repo.Phase {
	return slices.DeleteFunc(slices.Clone(s.Phases), func(p repo.Phase) bool {
		return p.Seq < s.First || s.Last != 0 && p.Seq > s.Last
	})
}

// Write writes the source in a format. It returns errors of the source and of w
// unchanged. After an error, the output is incomplete.
//
// A line of Training is one phase, in this shape:
//
//	{"tape":"main","anchor":"implement","anchor_seq":2,
//	 "entries":{"first_id":17,"last_id":45},
//	 "commit":"…",
//	 "state":{…},
//	 "outcome":{"anchor":"review","anchor_seq":3,"summary":"…","state":{…}},
//	 "messages":[{"role":"user","content":"…"},…],
//	 "ids":[18,19,21]}
//
// state is that of the anchor that opens the phase, outcome describes the anchor that
// closes it, and commit contains the closed phase. If the phase is open, the last two are
// null. entries are the first and the last of the phase, ids those that the messages were
// made of. Each phase stands for itself, as in tape context: a call whose result is in the
// next phase gets a placeholder for it.
func Write(ctx context.Context, w io.Writer, f Format, src Source) error {
	writers := map[Format]func(context.Context, *output, Source) error{
		JSONL: writeJSONL, OpenAI: writeOpenAI, Markdown: writeMarkdown, HTML: writeHTML, Training: writeTraining,
	}
	write, ok := writers[f]
	if !ok {
		return fmt.Errorf("there is no format %q", f)
	}
	out := newOutput(w)
	if err := write(ctx, out, src); err != nil {
		return err
	}
	return out.w.Flush()
}

// each calls use for each entry, until there is an error.
func each(ctx context.Context, entries iter.Seq2[repo.Entry, error], use func(repo.Entry) error) error {
	for e, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = use(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeJSONL(ctx context.Context, w *output, src Source) error {
	return each(ctx, src.Entries, func(e repo.Entry) error {
		w.bytes(e.Raw)
		w.text("\n")
		return w.failed()
	})
}

// writeOpenAI writes the messages of all phases as one array, one message per line.
func writeOpenAI(ctx context.Context, w *output, src Source) error {
	m := messages.NewWriter(w.w, messages.StretchBytes, "\n", view.Options{})
	w.text("[")
	err := each(ctx, src.Entries, m.Add)
	if err == nil {
		err = m.Flush()
	}
	if err != nil {
		return err
	}
	if m.Any {
		w.text("\n")
	}
	w.text("]\n")
	return nil
}
