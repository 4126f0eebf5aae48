package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/sharing"
	"tape/internal/sessions/filter"
	"tape/internal/show/export"
	"tape/internal/store/layout"
	"tape/repo"
)

type exportOptions struct {
	app *App
	sharing.Export
	format string
}

func newExportCmd(a *App) *cobra.Command {
	o := &exportOptions{app: a}
	var formats strings.Builder
	for _, f := range export.Formats() {
		fmt.Fprintf(&formats, "  %-9s %s\n", f.Name, f.Help)
	}
	names := strings.Join(export.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "export [--format FORMAT] [--from ANCHOR] [--to ANCHOR] [--kind KIND]… [-o FILE]",
		Short: "Write the session, or part of it, to standard output",
		Long: `Write the session in one of these formats:

` + formats.String() + `
--from and --to select phases: the export begins with the phase of the first anchor and ends
with that of the second. With entries (@17, or TAPE@17) it begins and ends there. --kind keeps only entries of these kinds; the phases stay.

markdown and html begin with an overview of the tape; times are in your time zone, which they
name. html has a list of the prompts, renders Markdown, and contains its pictures. It loads
nothing: pictures elsewhere become links. markdown shortens long texts and says how to see
them; html has all text, with long texts folded. Both leave out meta, which jsonl has. tape
starts tape-host to write html.

Artifacts, the files that entries refer to, are not in the output. --artifacts writes those of
the exported entries to a folder, each named after its SHA-256. With --inline, texts and
pictures are put into the entries that refer to them. Without it, openai and training have the
pictures and the beginning of texts, as in tape context.

What looks like a secret is replaced by a mark, as by tape publish and in every format.
--with-secrets writes it as it is, for example to import the entries elsewhere. An artifact
that has one stops --artifacts.

Each line of training has the members tape, anchor and anchor_seq; entries (the first and last id
of the phase); ids (of the entries that the messages were made from); commit (which has the whole
phase); state; messages (none for the anchor); and outcome (the name, summary and state of the
next anchor). In the open phase, commit and outcome are null.`,
		Example: `  tape export >session.jsonl
  tape export --from implement --to review -o part.jsonl
  tape export --artifacts files >session.jsonl
  tape export --format html -o session.html
  tape export --format training --kind message`,
		PreRunE: func(*cobra.Command, []string) error {
			if err := a.nameEntries(&o.From, &o.To); err != nil {
				return err
			}
			var ok bool
			if o.As, ok = export.Find(o.format); !ok {
				return layout.Invalid("the formats are: "+names, "there is no format %s", quoted(o.format))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.As.Prose {
				return a.onTape(o.run)(cmd, args)
			}
			return a.hosted(func(_ context.Context, host Host) error {
				o.Prose = host.Prose()
				return a.onTape(o.run)(cmd, args)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", export.Names()[0], "the `FORMAT`: "+names)
	f.StringVar(&o.From, "from", "", "begin with the phase of this `ANCHOR`, or with an entry (@ID)")
	f.StringVar(&o.To, "to", "", "end with the phase of this `ANCHOR`, or with an entry (@ID)")
	f.StringArrayVar(&o.Kinds, "kind", nil, "write entries of this `KIND` only; can be repeated")
	f.StringVar(&o.Artifacts, "artifacts", "", "write the artifacts to the `FOLDER`, which is made if need be")
	f.BoolVar(&o.Inline, "inline", false, "write the content of artifacts into the entries that refer to them")
	f.BoolVar(&o.Secrets, "with-secrets", false, "write what looks like a secret as it is, not masked")
	f.StringVarP(&o.Output, "output", "o", "", "write to `FILE`, which is replaced only when everything has been written")
	completeFlag(cmd, "format", completeWords(export.Names()...))
	return cmd
}

func (o *exportOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	q, err := filter.Params{Kinds: o.Kinds}.Query(filter.AsFlag, o.app.Now())
	if err == nil {
		err = o.app.checkKnown(ctx, these(t), q)
	}
	if err != nil {
		return err
	}
	return o.Export.Write(ctx, &o.app.Streams, t)
}
