package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/export"
	"tape/repo"
)

type exportOptions struct {
	app      *App
	format   string
	from, to string
	kinds    []string
	output   string
}

func newExportCmd(a *App) *cobra.Command {
	o := &exportOptions{app: a}
	cmd := &cobra.Command{
		Use:   "export [--format FORMAT] [--from ANCHOR] [--to ANCHOR] [--kind KIND]… [-o FILE]",
		Short: "Write the tape, or part of it, to standard output",
		Long: `Write the tape in one of these formats:

  jsonl     the entries as they are stored, one a line, byte for byte
  openai    the messages of a chat as one JSON array, as tape context makes them
  markdown  a document to read and to review
  html      a page to read, in one file that needs no other
  training  one JSON object a phase: the messages, the state that it began with, and
            the anchor that it ended with

With --from it begins with the phase of that anchor, with --to it ends with the phase
of that one. --kind keeps entries of these kinds; the phases stay.

markdown shortens what is long and says how to see it; html has all text, the long ones
folded. Both leave out meta, which jsonl has.

The fields of training are tape, anchor and anchor_seq; entries, the first and the last
id of the phase; ids, those of the entries that the messages were made from; commit, the
one that has the whole phase; state; messages, without one for the anchor; and outcome,
the name, summary and state of the next anchor. commit and outcome are null in the
open phase.`,
		Example: `  tape export >session.jsonl
  tape export --from implement --to review -o part.jsonl
  tape export --format html -o session.html
  tape export --format training --kind message`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", string(export.JSONL), "the `FORMAT`: "+exportFormats())
	f.StringVar(&o.from, "from", "", "begin with the phase of this `ANCHOR`")
	f.StringVar(&o.to, "to", "", "end with the phase of this `ANCHOR`")
	f.StringArrayVar(&o.kinds, "kind", nil, "write entries of this `KIND` only; may be repeated")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, which is replaced when all is there")
	a.completeFlag(cmd, "from", a.completeAnchors)
	a.completeFlag(cmd, "to", a.completeAnchors)
	a.completeFlag(cmd, "kind", completeKinds)
	a.completeFlag(cmd, "format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(exportFormats(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func exportFormats() string {
	var names []string
	for _, f := range export.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

func (o *exportOptions) run(ctx context.Context) error {
	a := o.app
	if !slices.Contains(export.Formats(), export.Format(o.format)) {
		return invalidf("the formats are: "+exportFormats(), "there is no format %s", quoted(o.format))
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	src, err := o.source(ctx, t)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return export.Write(ctx, resultWriter{w}, export.Format(o.format), src) }
	if o.output == "" || o.output == "-" {
		return write(a.out)
	}
	if err := replaceFile(o.output, write); err != nil {
		return err
	}
	a.note("wrote %s", o.output)
	return nil
}

// resultWriter marks failed writes as those of results.
type resultWriter struct{ io.Writer }

func (w resultWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// source is what is exported: the phases from --from through --to.
func (o *exportOptions) source(ctx context.Context, t *repo.Tape) (export.Source, error) {
	src := export.Source{Tape: t.Name(), Kinds: o.kinds, Entries: o.entries(ctx, t)}
	if f := export.Format(o.format); f == export.JSONL || f == export.OpenAI {
		return src, nil
	}
	var err error
	if src.Phases, err = t.Phases(ctx); err != nil {
		return src, err
	}
	if o.from != "" || o.to != "" {
		q := o.bounds()
		q.Tail = repo.N(1)
		last, err := firstOf(ctx, t, q)
		if err != nil {
			return src, err
		}
		if src.Last = last.AnchorSeq; o.from != "" {
			q.Limit, q.Tail = repo.N(1), nil
			first, err := firstOf(ctx, t, q)
			if err != nil {
				return src, err
			}
			src.First = first.AnchorSeq
		}
	}
	// What is appended from now on is not in the phases.
	all := src.Entries
	end := src.Phases[len(src.Phases)-1].LastID
	src.Entries = func(yield func(repo.Entry, error) bool) {
		for e, err := range all {
			if err == nil && e.ID > end || !yield(e, err) {
				return
			}
		}
	}
	return src, nil
}

// bounds select the phases from --from through --to; without --from, the last of them.
func (o *exportOptions) bounds() repo.Query {
	switch {
	case o.from == o.to || o.from == "":
		return repo.Query{Phase: o.to}
	case o.to == "":
		return repo.Query{From: o.from, To: repo.Latest, Inclusive: true}
	}
	return repo.Query{From: o.from, To: o.to, Inclusive: true}
}

// entries are those of the phases from --from through --to.
func (o *exportOptions) entries(ctx context.Context, t *repo.Tape) iter.Seq2[repo.Entry, error] {
	q := o.bounds()
	q.Kinds = o.kinds
	if o.from != "" || o.to == "" {
		return t.Entries(ctx, q)
	}
	return func(yield func(repo.Entry, error) bool) {
		bound, err := firstOf(ctx, t, repo.Query{Phase: o.to, Limit: repo.N(1)})
		if err != nil {
			yield(repo.Entry{}, err)
			return
		}
		for e, err := range t.Entries(ctx, repo.Query{Kinds: o.kinds}) {
			if err == nil && e.AnchorSeq > bound.AnchorSeq || !yield(e, err) {
				return
			}
		}
	}
}

// replaceFile writes a file beside the one of that name and puts it in its place once
// it is complete and on the disk. A link stays one, and its target is replaced. What is
// there and is not a file, a pipe or a device, is written to.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	st, err := os.Stat(name)
	exists := err == nil
	if exists && !st.Mode().IsRegular() {
		return writeTo(name, write)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil && exists {
		err = f.Chmod(st.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// writeTo writes to a pipe or a device.
func writeTo(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}
