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

	"github.com/spf13/cobra"

	"tape/repo"
)

type exportOptions struct {
	app      *App
	format   string
	from, to string
	output   string
}

func newExportCmd(a *App) *cobra.Command {
	o := &exportOptions{app: a}
	cmd := &cobra.Command{
		Use:   "export [--format FORMAT] [--from ANCHOR] [--to ANCHOR] [-o FILE]",
		Short: "Write the tape, or part of it, to standard output",
		Long: `Write the tape as it is stored: one entry a line, byte for byte. With --from it begins
with the phase of that anchor, with --to it ends with the phase of that one.`,
		Example: `  tape export >session.jsonl
  tape export --from implement --to review -o part.jsonl`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "jsonl", "the `FORMAT`: jsonl")
	f.StringVar(&o.from, "from", "", "begin with the phase of this `ANCHOR`")
	f.StringVar(&o.to, "to", "", "end with the phase of this `ANCHOR`")
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, which is replaced when all is there")
	a.completeFlag(cmd, "from", a.completeAnchors)
	a.completeFlag(cmd, "to", a.completeAnchors)
	a.completeFlag(cmd, "format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"jsonl"}, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (o *exportOptions) run(ctx context.Context) error {
	a := o.app
	if o.format != "jsonl" {
		return invalidf("the formats are: jsonl", "there is no format %s", quoted(o.format))
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	if o.output == "" || o.output == "-" {
		return o.write(ctx, t, a.out)
	}
	return replaceFile(o.output, func(w io.Writer) error { return o.write(ctx, t, w) })
}

func (o *exportOptions) write(ctx context.Context, t *repo.Tape, w io.Writer) error {
	for e, err := range o.entries(ctx, t) {
		if err != nil {
			return err
		}
		if _, err = w.Write(e.Raw); err == nil {
			_, err = w.Write([]byte{'\n'})
		}
		if err != nil {
			return &writeError{err}
		}
	}
	return nil
}

// entries are those of the phases from --from through --to.
func (o *exportOptions) entries(ctx context.Context, t *repo.Tape) iter.Seq2[repo.Entry, error] {
	switch {
	case o.from == "" && o.to == "":
		return t.Entries(ctx, repo.Query{})
	case o.from == o.to:
		return t.Entries(ctx, repo.Query{Phase: o.from})
	case o.from != "" && o.to != "":
		return t.Entries(ctx, repo.Query{From: o.from, To: o.to, Inclusive: true})
	}
	return func(yield func(repo.Entry, error) bool) {
		bound, err := firstOf(ctx, t, repo.Query{Phase: o.from + o.to, Limit: repo.N(1)})
		if err != nil {
			yield(repo.Entry{}, err)
			return
		}
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err == nil && o.from != "" && e.AnchorSeq < bound.AnchorSeq {
				continue
			}
			if err == nil && o.to != "" && e.AnchorSeq > bound.AnchorSeq || !yield(e, err) {
				return
			}
		}
	}
}

// replaceFile writes a file beside the one of that name and puts it in its place once
// it is complete and on the disk.
func replaceFile(name string, write func(io.Writer) error) (err error) {
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
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
