package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/filter"
	"tape/internal/show/export"
	"tape/internal/store/layout"
	"tape/repo"
	"tape/repo/view"
)

type exportOptions struct {
	*App
	format   string
	as       export.Format
	from, to string
	kinds    []string
	output   string
	files    string // the folder for artifacts
	inline   bool   // artifacts in place of the references to them

	prose func(text string, lines int) string // see export.Source
}

func newExportCmd(a *App) *cobra.Command {
	o := &exportOptions{App: a}
	var formats strings.Builder
	for _, f := range export.Formats() {
		fmt.Fprintf(&formats, "  %-9s %s\n", f.Name, f.Help)
	}
	names := strings.Join(export.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "export [--format FORMAT] [--from ANCHOR] [--to ANCHOR] [--kind KIND]… [-o FILE]",
		Short: "Write the tape, or part of it, to standard output",
		Long: `Write the tape in one of these formats:

` + formats.String() + `
--from and --to select phases: the export begins with the phase of the first anchor and ends
with that of the second. --kind keeps only entries of these kinds; the phases stay.

markdown and html begin with an overview of the tape; times are in your time zone, which they
name. html has a list of the prompts, renders Markdown, and contains its pictures. It loads
nothing: pictures elsewhere become links. markdown shortens long texts and says how to see
them; html has all text, with long texts folded. Both leave out meta, which jsonl has. tape
starts tape-host to write html.

Artifacts, the files that entries refer to, are not in the output. --artifacts writes those of
the exported entries to a folder, each named after its SHA-256. With --inline, texts and
pictures are put into the entries that refer to them. Without it, openai and training have the
pictures and the beginning of texts, as in tape context.

Each line of training has tape, anchor and anchor_seq; entries, the first and last id of the
phase; ids, those of the entries that the messages were made from; commit, the one that has the
whole phase; state; messages, without one for the anchor; and outcome, the name, summary and
state of the next anchor. In the open phase, commit and outcome are null.`,
		Example: `  tape export >session.jsonl
  tape export --from implement --to review -o part.jsonl
  tape export --artifacts files >session.jsonl
  tape export --format html -o session.html
  tape export --format training --kind message`,
		PreRunE: func(*cobra.Command, []string) error {
			ok := false
			if o.as, ok = export.Find(o.format); !ok {
				return layout.Invalid("the formats are: "+names, "there is no format %s", quoted(o.format))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.as.Prose {
				return a.onTape(o.run)(cmd, args)
			}
			return a.hosted(func(_ context.Context, host Host) error {
				o.prose = host.Prose()
				return a.onTape(o.run)(cmd, args)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", export.Names()[0], "the `FORMAT`: "+names)
	f.StringVar(&o.from, "from", "", "begin with the phase of this `ANCHOR`")
	f.StringVar(&o.to, "to", "", "end with the phase of this `ANCHOR`")
	f.StringArrayVar(&o.kinds, "kind", nil, "write entries of this `KIND` only; can be repeated")
	f.StringVar(&o.files, "artifacts", "", "write the artifacts to the `FOLDER`, which is made if need be")
	f.BoolVar(&o.inline, "inline", false, "write the content of artifacts into the entries that refer to them")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, which is replaced only when everything has been written")
	completeFlag(cmd, "format", completeWords(export.Names()...))
	return cmd
}

func (o *exportOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	src, err := o.source(ctx, t)
	if err != nil {
		return err
	}
	q, err := filter.Params{Kinds: o.kinds}.Query(filter.AsFlag, o.Now())
	if err == nil {
		err = o.known(ctx, these(t), q)
	}
	if err != nil {
		return err
	}
	if o.files != "" {
		if err := o.writeArtifacts(ctx, t); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error {
		return o.as.Write(ctx, stdio.Results{Writer: w}, src)
	}
	if o.output == "" || o.output == "-" {
		return write(o.Out)
	}
	if err := stdio.ReplaceFile(nil, o.output, write); err != nil {
		return err
	}
	o.StderrIfVerbose("wrote %s", o.output)
	return nil
}

// source returns what to export: the phases from --from through --to.
func (o *exportOptions) source(ctx context.Context, t *repo.Tape) (export.Source, error) {
	src := export.Source{Tape: t.Name(), Kinds: o.kinds, Entries: o.entries(ctx, t), Prose: o.prose}
	artifacts := o.as.Artifacts
	if o.inline {
		artifacts = view.Inlined
	}
	if artifacts != nil {
		src.Entries = view.Each(ctx, t, src.Entries, artifacts)
	}
	if !o.as.Phases {
		return src, nil
	}
	var err error
	if src.Phases, err = t.Phases(ctx); err != nil {
		return src, err
	}
	if o.from != "" || o.to != "" {
		if src.Last, err = o.lastPhase(ctx, t); err != nil {
			return src, err
		}
	}
	if o.from != "" {
		q := o.bounds()
		q.Limit = repo.N(1)
		first, err := firstOf(ctx, t, q)
		if err != nil {
			return src, err
		}
		src.First = first.AnchorSeq
	}
	// Entries that are appended from now on are not in the phases.
	end := src.Phases[len(src.Phases)-1].LastID
	upToEnd := func(entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
		return until(entries, func(e repo.Entry) bool { return e.ID > end })
	}
	src.Entries, src.Whole = upToEnd(src.Entries), upToEnd(t.Entries(ctx, repo.Query{}))
	return src, nil
}

// until yields the entries before the first one for which behind is true.
func until(entries iter.Seq2[repo.Entry, error], behind func(repo.Entry) bool) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && behind(e) || !yield(e, err) {
				return
			}
		}
	}
}

// bounds returns a query for the phases from --from through --to; without --from, only for the last
// of them.
func (o *exportOptions) bounds() repo.Query {
	switch {
	case o.from == o.to || o.from == "":
		return repo.Query{Phase: o.to}
	case o.to == "":
		return repo.Query{From: o.from, To: repo.Latest, Inclusive: true}
	}
	return repo.Query{From: o.from, To: o.to, Inclusive: true}
}

func (o *exportOptions) entries(ctx context.Context, t *repo.Tape) iter.Seq2[repo.Entry, error] {
	q := o.bounds()
	q.Kinds = o.kinds
	if o.from != "" || o.to == "" {
		return t.Entries(ctx, q)
	}
	return func(yield func(repo.Entry, error) bool) {
		last, err := o.lastPhase(ctx, t)
		if err != nil {
			yield(repo.Entry{}, err)
			return
		}
		until(t.Entries(ctx, repo.Query{Kinds: o.kinds}), func(e repo.Entry) bool { return e.AnchorSeq > last })(yield)
	}
}

func (o *exportOptions) lastPhase(ctx context.Context, t *repo.Tape) (int, error) {
	q := o.bounds()
	q.Tail = repo.N(1)
	last, err := firstOf(ctx, t, q)
	return last.AnchorSeq, err
}

func firstOf(ctx context.Context, t *repo.Tape, q repo.Query) (repo.Entry, error) {
	for e, err := range t.Entries(ctx, q) {
		return e, err
	}
	return repo.Entry{}, nil
}
