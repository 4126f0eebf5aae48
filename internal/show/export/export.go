// Package export writes a tape, or phases of it, for use elsewhere.
//
// jsonl is the record itself, byte for byte. openai and training are for models: the
// messages that package view makes of the entries. markdown and html are for people: what
// was said and done, in the order of the tape, with details folded.
//
// Recorded text is hostile, and stays text. Pages render its Markdown only as elements
// that load and run nothing, and as links to the web. It cannot make headings or fences of
// a document, and invisible and reordering characters become visible. Documents for people
// leave out meta and how the JSON was written; only jsonl has everything.
//
// Entries are written as they are read. At most some megabytes of them are held back:
// calls that wait for their results, and the entries between.
package export

import (
	"context"
	"io"
	"iter"
	"slices"

	"tape/repo"
	"tape/repo/view"
)

// Format is a way to write a tape. To add one, write its function and its line in [Formats].
type Format struct {
	Name  string // as users write it
	Title string // the words of a link
	Media string // the media type, for browsers
	Help  string // what it is, on one line

	Phases    bool                                                              // needs Source.Phases
	Prose     bool                                                              // needs Source.Prose
	Artifacts func(context.Context, *repo.Tape, repo.Entry) (repo.Entry, error) // puts texts or pictures from artifacts into an entry; may be nil

	write func(context.Context, *output, Source) error
}

// Formats returns all formats, the default first.
func Formats() []Format {
	return []Format{
		{Name: "jsonl", Title: "JSON", Media: "application/jsonl", write: writeJSONL,
			Help: "the entries as they are stored, one a line, byte for byte"},
		{Name: "openai", Title: "Messages", Media: "application/json", write: writeOpenAI, Artifacts: view.WithArtifacts,
			Help: "the messages of a chat as one JSON array, as models take them"},
		{Name: "markdown", Title: "Markdown", Media: "text/plain", write: writeMarkdown, Phases: true,
			Help: "a document to read and to review"},
		{Name: "html", Title: "HTML", Media: "text/html", write: writeHTML, Phases: true, Prose: true, Artifacts: view.WithPictures,
			Help: "a page to read, in a single file"},
		{Name: "training", Title: "Training", Media: "application/jsonl", write: writeTraining, Phases: true, Artifacts: view.WithArtifacts,
			Help: "one JSON object a phase: messages, first state, and the anchor at its end"},
	}
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// Find returns the format with a name.
func Find(name string) (f Format, ok bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return f, false
}

// Source is the input of an export.
type Source struct {
	Tape string
	// Phases are all phases of the tape, from number 1 on.
	Phases []repo.Phase
	// First and Last are the numbers of the phases to export; 0 is no bound.
	First, Last int
	// Kinds are the kinds of the entries; nil: all.
	Kinds []string
	// Entries are those to export, in the order of the tape. They are read once.
	Entries iter.Seq2[repo.Entry, error]
	// Whole are all entries of the tape. Documents for people read them first, for the title
	// and the list of prompts, and once more if subagents took part.
	Whole iter.Seq2[repo.Entry, error]
	// Published leaves out what only the owner of the repository needs: events, folders, names of tapes.
	Published bool
	// Omitted is called after all entries have been read, and says what the page does not show; may be nil.
	Omitted func() []string
	// AgentTitle is the name that people know an agent by; nil: its short name.
	AgentTitle func(name string) string
	// Resumes reports whether sessions of an agent can be resumed; pages then have the command. nil: none can.
	Resumes func(agent string) bool
	// Prose renders Markdown as HTML, folded after a number of lines. It is passed in because
	// package prose would slow down the start of tape.
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

// Write writes the source in the format. It returns errors of the source and of w unchanged.
// After an error, the output is incomplete.
func (f Format) Write(ctx context.Context, w io.Writer, src Source) error {
	out := newOutput(w)
	if err := f.write(ctx, out, src); err != nil {
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
	m := newMessageWriter(w.w, stretchBytes, "\n", view.Options{})
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
