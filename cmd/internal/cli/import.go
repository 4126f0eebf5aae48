package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type importOptions struct {
	*App
	format string
	files  []string
	alone  bool // without subagents
	inline bool // without artifacts
	tapes  []string
	sums   importer.Result // of all files
}

func newImportCmd(a *App) *cobra.Command {
	o := &importOptions{App: a}
	formats := append(importer.All().Names(), importer.Auto)
	cmd := &cobra.Command{
		Use:   "import [FORMAT] [FILE…]",
		Short: "Import transcripts of other programs",
		Long: `Import transcripts. FORMAT is one of ` + strings.Join(formats, ", ") + `; without
it, the format of each file is recognized.

Without FILE, import looks for the transcripts of this project where ` + strings.Join(importer.All().WithFolders().Names(), ", ") + `
keep them: sessions in this directory and below.

Of a folder, every .jsonl and .json file in it and below is imported; - is standard input. Each
file becomes a tape named after its session, unless --tape gives a name. If another Bub
workspace has a session of the same name, the tape is named after the file. If a file has
grown, importing it again adds only the new entries. For each file, import prints the number of
new entries, known entries and damaged lines, which are kept as events named import.damaged. An
incomplete last line is left for the next import.

Images, and tool results with more than 16 KiB of text, become artifacts: the entry keeps the
beginning and end of the text, and tape artifact shows all of it. With --inline, everything
stays in the entries.

An imported tape has no working tree until somebody writes to it.

A subagent of a Claude Code session becomes a fork of the tape, TAPE/agent-ID. The fork begins
at the call that started the subagent, and is merged after the result of that call, or at the
end if there is no result. The entries have context:false in meta, because the session's model
saw only the result. They are searched and listed like all others, and forks --closed lists the
forks. If a later import finds more entries of a subagent, they become another fork of that
name. The subagent's own file, agent-ID.jsonl, adds to the fork if the session's tape has it;
otherwise it becomes a tape, TAPE/agent-ID, with its own context.

With --no-subagents, subagents are left out. If you import them later, they are added at the
end of the tape, because the calls are already there.

If the current directory has no workspace yet, import creates one, as tape init does.`,
		Example: `  tape import
  tape import session.jsonl
  tape import --no-subagents session.jsonl
  tape import ~/.claude/projects
  tape --tape review import openai - <chat.json`,
		Args:              takes(0, "FORMAT", "FILE…"),
		ValidArgsFunction: before(1, completeWords(formats...), cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.format, o.files = importer.Auto, args
			if len(args) > 0 && slices.Contains(formats, args[0]) {
				o.format, o.files = args[0], args[1:]
			} else if len(args) > 1 && !isFile(args[0]) {
				return layout.Invalid("the formats are: "+strings.Join(formats, ", "), "there is no format and no file %s", quoted(args[0]))
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.alone, "no-subagents", false, "leave out subagents")
	cmd.Flags().BoolVar(&o.inline, "inline", false, "leave large results and images in their entries")
	return cmd
}

func (o *importOptions) run(ctx context.Context) error {
	// Another import of the same session may take long; this one waits for it.
	o.lockWait = time.Hour
	// Transcripts are read a record at a time. Without the limit, a quick reader lets
	// the heap grow far beyond what is in use.
	const softLimit = 128 << 20 // bytes
	debug.SetMemoryLimit(softLimit)
	if len(o.files) == 0 {
		if err := o.discover(ctx); err != nil {
			return err
		}
	}
	store, err := o.ensureStore(ctx)
	if err != nil {
		return err
	}
	return o.all(ctx, store)
}

// all imports the named files, and those in named folders.
func (o *importOptions) all(ctx context.Context, store *repo.Store) error {
	var list []importer.File
	var failed []error
	for _, name := range o.files {
		found, err := importer.Files(name)
		if err != nil {
			failed = append(failed, err)
		}
		list = append(list, found...)
	}
	files, total := len(list)+len(failed), int64(0)
	for i, err := range failed {
		if failed[i] = err; files > 1 {
			o.Message("error", err.Error())
		}
	}
	label := fmt.Sprintf("importing %d files", files)
	for _, t := range list {
		if total += t.Size; files == 1 {
			label = o.shortPath(t.Name, stdio.LabelCells)
		}
	}
	bar := o.Progress(label)
	defer bar.Clear()
	version, commit := o.build()
	batch := importer.NewBatch(store, version+" "+commit, o.open(ctx), func(res importer.Result, err error) error {
		bar.Clear()
		if err != nil {
			if failed = append(failed, importError(err)); files > 1 {
				o.Message("error", err.Error())
			}
			return nil
		}
		return o.report(res)
	})
	defer batch.Close()
	done := int64(0)
	for _, t := range list {
		start := done
		err := batch.File(ctx, t.Name, importer.Options{Format: o.format, Tape: o.wantedTape(), Fallback: t.Fallback, NoSubagents: o.alone, Inline: o.inline,
			Progress: func(read, _ int64) { bar.Part(start+read, total) }})
		if err != nil {
			return err
		}
		done += t.Size
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	if files > 1 && !o.JSON {
		o.PrintUnlessQuiet("%s", importText(display.Count(files, "file", "files")+": ", o.sums, display.Count(len(o.tapes), "session", "sessions")))
	}
	name, err := leaveEmpty(ctx, store, o.tapes)
	if err != nil {
		return err
	}
	if name != "" && !o.JSON {
		o.PrintUnlessQuiet("the current tape is %s, the newest", quoted(name))
	}
	tidy(ctx, store)
	return importFailure(failed, files)
}

// leaveEmpty makes the newest of some sessions the current tape if the current one is the empty tape
// that was made with the workspace. It returns the new name, or "" if nothing changed.
func leaveEmpty(ctx context.Context, store *repo.Store, tapes []string) (string, error) {
	t, err := store.Tape(ctx, "")
	if err != nil || len(tapes) == 0 {
		return "", nil //nolint:nilerr // it is not there: then nobody expects it to be left
	}
	if now, err := t.Summary(ctx); err != nil || now.Entries > 1 {
		return "", err
	}
	var newest string
	var last time.Time
	for _, name := range tapes {
		t, err := store.Tape(ctx, name)
		if err != nil {
			return "", err
		}
		s, err := t.Summary(ctx)
		if err != nil {
			return "", err
		}
		if at, ok := display.ParseStored(s.Updated); ok && s.Entries > 1 && !at.Before(last) {
			newest, last = name, at
		}
	}
	if newest == "" {
		return "", nil
	}
	// Its files are written when somebody writes to it.
	_, err = (*workspace.Store)(store).Switch(ctx, newest)
	return newest, err
}

// open opens files, and standard input.
func (o *importOptions) open(ctx context.Context) importer.Opener {
	return func(name string) (record.Source, io.Closer, error) {
		if name != "-" {
			return importer.OpenSource(name, nil)
		}
		in, end := stdio.NewInput(ctx, o.Stdin)
		defer end()
		return importer.OpenSource(name, in)
	}
}

// importError adds the way out.
func importError(err error) error {
	switch {
	case errors.Is(err, importer.ErrUnknownFormat):
		return layout.Invalid("name the format: "+strings.Join(importer.All().Names(), ", "), "%v", err)
	case errors.Is(err, importer.ErrNoName):
		return layout.Invalid("name the tape: --tape NAME", "%v", err)
	}
	return err
}

// ensureStore opens the workspace. If none was named and the current directory has none, it creates
// one: most people begin with an import.
func (o *importOptions) ensureStore(ctx context.Context) (*repo.Store, error) {
	store, err := o.openStore(ctx)
	if !errors.Is(err, repo.ErrNotFound) || o.workspaceDir() != "" {
		return store, err
	}
	dir, err := repo.WorkspaceFor(".")
	if err != nil {
		return nil, err
	}
	store, _, err = repo.Init(ctx, dir, &repo.InitOptions{Options: *o.storeOptions()})
	if err != nil {
		return nil, err
	}
	o.noteProject(store)
	if !o.JSON {
		o.PrintUnlessQuiet("created workspace %s", display.Line(dir))
	}
	return store, nil
}

// importFailure returns the only file's error, or a count, in the class that all failures share.
func importFailure(failed []error, files int) error {
	if len(failed) == 0 {
		return nil
	}
	if files == 1 {
		return failed[0]
	}
	class := codeOf(failed[0])
	if slices.ContainsFunc(failed, func(err error) bool { return codeOf(err).code != class.code }) {
		class.class = nil
	}
	return &cliError{class: class.class, msg: fmt.Sprintf("%d of %d files could not be imported", len(failed), files)}
}

// report shows the result of a file's import.
func (o *importOptions) report(res importer.Result) error {
	if !slices.Contains(o.tapes, res.Tape) && !res.Forgotten {
		o.tapes = append(o.tapes, res.Tape)
	}
	if o.sums.Add(res); res.Forgotten {
		return o.reportForgotten(res)
	}
	text := importText("", res, "tape "+quoted(res.Tape))
	err := o.Result(object{{"file", res.File}, {"tape", res.Tape}, {"format", res.Format}, {"imported", res.Imported}, {"skipped", res.Known + res.LeftOut},
		{"damaged", res.Damaged}, {"anchors", res.Anchors}}.With("subagents", res.Subagents), "%s: %s", o.shortPath(res.File, o.Width()-display.Width(": "+text)), text)
	if err = cmp.Or(err, o.Flush()); err != nil {
		return err
	}
	for _, p := range res.Problems {
		where := res.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", res.File, p.Line)
		}
		o.Warn(where + ": " + p.Msg)
	}
	return nil
}

// reportForgotten shows that a file was left out.
func (o *importOptions) reportForgotten(res importer.Result) error {
	return o.Result(object{{"file", res.File}, {"tape", res.Tape}, {"format", res.Format}, {"imported", 0}, {"skipped", 0}, {"damaged", 0}, {"anchors", 0},
		{"forgotten", true}}, "%s: left out, the session %s was forgotten; tape new %s begins it again", o.shortPath(res.File, 60), quoted(res.Tape), shellWord(res.Tape))
}

// shortPath returns a path with ~ for the home directory; on a screen, cut at the beginning to so many
// cells.
func (a *App) shortPath(path string, cells int) string {
	const least = 24
	text := display.Line(path)
	if home := a.Getenv("HOME"); home != "" && strings.HasPrefix(text, home+"/") {
		text = "~" + strings.TrimPrefix(text, home)
	}
	if cells = max(least, cells); a.Width() == 0 || display.Width(text) <= cells {
		return text
	}
	for display.Width(text) >= cells {
		_, n := utf8.DecodeRuneInString(text)
		text = text[n:]
	}
	return "…" + text
}

func importText(what string, res importer.Result, into string) string {
	text := fmt.Sprintf("%s%s into %s", what, display.Entries(res.Imported), into)
	parts := append([]string{text}, display.Some(len(res.Subagents), "fork of a subagent", "forks of subagents")...)
	return strings.Join(slices.Concat([]string{strings.Join(parts, " and ")}, display.Some(res.Anchors, "anchor", "anchors"), display.Some(res.Known, "known", "known"), display.Some(res.LeftOut, "left out", "left out"),
		display.Some(res.Damaged, "damaged line", "damaged lines")), ", ")
}
