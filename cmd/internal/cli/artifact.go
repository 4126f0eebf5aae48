package cli

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

func newArtifactCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact list | show ID | cat ID",
		Short: "List and read the files that entries refer to",
		Long: `Artifacts are files of a session, such as large results and images, which are stored outside the entries.
tape append --artifact FILE adds one, with an entry that refers to it. The file is committed with
the phase, as anchors/NNN_name/artifacts/ID. The ID is the SHA-256 of the content; its first
digits are enough if no other artifact of the session begins with them. An entry
(@17, or TAPE@17) stands for its artifact.`,
		Example: `  tape append --artifact build.log --text "why does it fail?"
  tape artifact list
  tape artifact cat 3f1c --length 4096`,
		RunE: a.onTape(a.runArtifacts),
	}
	o := &catOptions{app: a}
	cat := &cobra.Command{
		Use:   "cat ID",
		Short: "Write the content of an artifact",
		Long: `Write the content of an artifact to standard output, byte for byte, or --length bytes of it from
--offset on. On a terminal, text is made safe to show, and other content is not written.`,
		Example: `  tape artifact cat 3f1c >build.log
  tape artifact cat 3f1c --offset 4096 --length 4096`,
		Args: takes(1, "ID"),
		RunE: a.onArtifact(o.run),
	}
	cat.Flags().Int64Var(&o.offset, "offset", 0, "skip this many `BYTES`")
	cat.Flags().Int64Var(&o.length, "length", -1, "write at most this many `BYTES` (default all)")
	addSubcommands(cmd, &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the artifacts of the session",
		Long:    `List the artifacts of the session, ordered by the phase in which they first appear, with the entries that refer to them.`,
		Example: `  tape artifact list --json`,
		Args:    takes(0),
		RunE:    a.onTape(a.runArtifacts),
	}, &cobra.Command{
		Use:     "show ID",
		Short:   "Show what is known of an artifact",
		Long:    `Show the type, name and size of an artifact, the phase that has it, and the entries there that refer to it.`,
		Example: `  tape artifact show 3f1c`,
		Args:    takes(1, "ID"),
		RunE:    a.onArtifact(a.showArtifact),
	}, cat)
	return cmd
}

func artifactObject(x repo.ArtifactInfo) object {
	return object{{"id", x.ID}, {"mime_type", orNull(x.MIMEType)}, {"name", orNull(x.Name)}, {"size_bytes", x.Size}, {"sha256", x.SHA256},
		{"anchor", x.Anchor}, {"anchor_seq", x.AnchorSeq}, {"entries", x.Entries}}
}

func (a *App) runArtifacts(ctx context.Context, t *repo.Tape, _ []string) error {
	list, err := t.Artifacts(ctx)
	return listing[repo.ArtifactInfo]{
		None:   "tape " + quoted(t.Name()) + " has no artifacts",
		Head:   []string{"ID", ">BYTES", "TYPE", "PHASE", "ENTRIES", "NAME"},
		Object: artifactObject,
		Row: func(x repo.ArtifactInfo, add func(cells ...any)) {
			add(x.ID[:12], x.Size, x.MIMEType, x.Anchor, display.IDs(x.Entries), x.Name)
		},
	}.Show(&a.Streams, list, err)
}

// onArtifact opens the tape and passes on an artifact's id: the given one, or the one that an entry (@17,
// TAPE@17) refers to.
func (a *App) onArtifact(run func(ctx context.Context, t *repo.Tape, args []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.nameEntries(&args[0]); err != nil {
			return err
		}
		t, err := a.openTape(cmd.Context())
		if err != nil {
			return err
		}
		if !strings.HasPrefix(args[0], "@") {
			return run(cmd.Context(), t, args)
		}
		var ids []string
		for e, err := range t.Show(cmd.Context(), args[0]) {
			if err != nil {
				return err
			}
			ids = append(ids, namesOf(repo.References(e), func(x repo.Artifact) string { return x.ID })...)
		}
		if len(ids) != 1 {
			return layout.NotFound("tape artifact list shows which entries have one", "%s of %s has %s", args[0], quoted(t.Name()), display.Count(len(ids), "artifact", "artifacts"))
		}
		return run(cmd.Context(), t, ids)
	}
}

func (a *App) showArtifact(ctx context.Context, t *repo.Tape, args []string) error {
	x, r, err := t.OpenArtifact(ctx, args[0])
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if a.JSON {
		return a.Emit(artifactObject(x))
	}
	for _, line := range [][2]string{{"id", x.ID}, {"name", x.Name}, {"type", x.MIMEType}, {"bytes", strconv.FormatInt(x.Size, 10)}, {"phase", x.Anchor}, {"entries", display.IDs(x.Entries)}} {
		if line[1] != "" {
			a.Line(display.Line(line[0] + ": " + line[1]))
		}
	}
	return nil
}

type catOptions struct {
	app            *App
	offset, length int64
}

func (o *catOptions) run(ctx context.Context, t *repo.Tape, args []string) error {
	if o.offset < 0 || o.length < -1 {
		return usagef("--offset and --length cannot be negative")
	}
	r, err := t.Artifact(ctx, args[0])
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Seek(o.offset, io.SeekStart); err != nil {
		return err
	}
	var from io.Reader = r
	if o.length >= 0 {
		from = io.LimitReader(r, o.length)
	}
	if !o.app.Screen().Out {
		_, err = io.Copy(o.app.Out, from)
		return err
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if mediaTypeOf(data) != plainTextType {
		return layout.Invalid("write it to a file: tape artifact cat ID >FILE", "the artifact is not text, and standard output is a terminal")
	}
	o.app.Page()
	o.app.Line(display.Text(string(data)))
	return nil
}
