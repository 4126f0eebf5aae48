package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/internal/display"
	"tape/internal/importer"
	"tape/internal/layout"
	"tape/repo"
)

type importOptions struct {
	*App
	format string
	files  []string
	alone  bool // without subagents
	tapes  []string
}

func newImportCmd(a *App) *cobra.Command {
	o := &importOptions{App: a}
	formats := append(slices.Clone(importer.Formats), importer.Auto)
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE…",
		Short: "Import transcripts of other programs",
		Long: `Import transcripts. FORMAT is one of ` + strings.Join(formats, ", ") + `.
Of a folder, every .jsonl and .json file in it and below is imported; - is standard
input. Each file becomes a tape named after its session, unless --tape says otherwise.
Imported again, a file that has grown adds only what is new. Damaged lines are counted
and kept as events named import.damaged.

What a subagent of a Claude Code session did is a fork of the tape, TAPE/agent-ID: begun at
the call that started it, and merged behind the result of that call, or in the end where
the file has no result. The entries have context:false in meta, for the session's model saw
only the result; they are searched and listed like all others, and forks --closed lists
the forks. What a later import finds of a subagent is another fork of that name. The file
that a subagent has for itself, agent-ID.jsonl, adds to the fork if the session's tape has
it; otherwise it becomes a tape, TAPE/agent-ID, with a context of its own.

With --no-subagents, what subagents did is left out and counted as skipped. An import
without it brings it in later: at the end of the tape, for the calls are there already.

Where the current directory has no workspace yet, it gets one, as by tape init.`,
		Example: `  tape import auto session.jsonl
  tape import --no-subagents auto session.jsonl
  tape import claude-code ~/.claude/projects/-home-me-shop
  tape --tape review import openai - <chat.json`,
		Args:              takes(2, "FORMAT", "FILE…"),
		ValidArgsFunction: before(1, completeWords(formats...), cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.format, o.files = args[0], args[1:]; !slices.Contains(formats, o.format) {
				return layout.Invalid("the formats are: "+strings.Join(formats, ", "), "there is no format %s", quoted(o.format))
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.alone, "no-subagents", false, "leave out what subagents did")
	return cmd
}

func (o *importOptions) run(ctx context.Context) error {
	// Another import of the same session may take its time; this one comes after it.
	o.lockWait = time.Hour
	// Transcripts are read a record at a time. Without the limit, a quick reader lets
	// the heap grow far beyond what is in use.
	const softLimit = 128 << 20 // bytes
	debug.SetMemoryLimit(softLimit)
	store, err := o.ensureStore(ctx)
	if err != nil {
		return err
	}
	var failed []error
	files := 0
	fail := func(err error) {
		failed = append(failed, err)
		if len(o.files) > 1 || files > 1 {
			o.message("error", err.Error())
		}
	}
	for _, name := range o.files {
		list, err := transcripts(name)
		if err != nil {
			files++
			fail(err)
			continue
		}
		for _, file := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			files++
			err := o.file(ctx, store, file, fallbackName(name, file))
			var w *writeError
			switch {
			case err == nil:
			case ctx.Err() != nil || errors.As(err, &w):
				return err
			default:
				fail(err)
			}
		}
	}
	if err := o.leaveEmpty(ctx, store); err != nil {
		return err
	}
	return importFailure(failed, files)
}

// leaveEmpty makes the newest session the current tape, where that is an empty one: it was
// made with the workspace, and nobody has used it.
func (o *importOptions) leaveEmpty(ctx context.Context, store *repo.Store) error {
	t, err := store.Tape(ctx, "")
	if err != nil || len(o.tapes) == 0 {
		return nil //nolint:nilerr // it is not there: then nobody expects it to be left
	}
	if now, err := t.Summary(ctx); err != nil || now.Entries > 1 {
		return err
	}
	var newest string
	var last time.Time
	for _, name := range o.tapes {
		t, err := store.Tape(ctx, name)
		if err != nil {
			return err
		}
		s, err := t.Summary(ctx)
		if err != nil {
			return err
		}
		if at, ok := parseStored(s.Updated); ok && s.Entries > 1 && !at.Before(last) {
			newest, last = name, at
		}
	}
	if newest == "" {
		return nil
	}
	if _, err := store.Switch(ctx, newest); err != nil || o.json {
		return err
	}
	o.say("the current tape is %s, the newest", quoted(newest))
	return nil
}

// ensureStore opens the workspace. Where the current directory has none yet, and none was
// named, one is created: bringing in what is there is how most people begin.
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
	if err == nil && !o.json {
		o.say("created workspace %s", display.Line(dir))
	}
	return store, err
}

// importFailure is the only file's error, or a count in the class that all failures share.
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

// transcripts lists a file, or the files in a folder and below.
func transcripts(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "there is no file %s", quoted(name))
	}
	if err != nil || !st.IsDir() {
		return []string{name}, err
	}
	var out, agents []string
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch ext := filepath.Ext(path); {
		case !d.Type().IsRegular() || ext != ".jsonl" && ext != ".json":
		case strings.HasPrefix(d.Name(), "agent-"):
			agents = append(agents, path)
		default:
			out = append(out, path)
		}
		return nil
	})
	// Subagents' own files come behind the sessions that tell where they belong.
	out = append(out, agents...)
	if err == nil && len(out) == 0 {
		err = layout.Invalid("", "%s has no .jsonl or .json files", quoted(name))
	}
	return out, err
}

// fallbackName tells files of one name in different folders of a folder apart.
func fallbackName(folder, file string) string {
	rel, err := filepath.Rel(folder, file)
	if err != nil || filepath.Dir(rel) == "." {
		return ""
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, filepath.Ext(rel)))
}

func (o *importOptions) file(ctx context.Context, store *repo.Store, name, fallback string) error {
	var stdin io.Reader
	if name == "-" {
		in, end := newInput(ctx, o.Stdin)
		defer end()
		stdin = in
	}
	src, closer, err := importer.OpenSource(name, stdin)
	if err != nil {
		return err
	}
	defer closer.Close()
	bar := o.progress(name)
	res, err := importer.File(ctx, store, name, src, importer.Options{Format: o.format, Tape: o.wantedTape(), Fallback: fallback,
		NoSubagents: o.alone, Progress: bar.part})
	bar.clear()
	switch {
	case errors.Is(err, importer.ErrUnknownFormat):
		return layout.Invalid("name the format: "+strings.Join(importer.Formats, ", "), "%v", err)
	case errors.Is(err, importer.ErrNoName):
		return layout.Invalid("name the tape: --tape NAME", "%v", err)
	case err != nil:
		return err
	}
	o.tapes = append(o.tapes, res.Tape)
	err = o.result(object{{"file", res.File}, {"tape", res.Tape}, {"format", res.Format}, {"imported", res.Imported}, {"skipped", res.Skipped},
		{"damaged", res.Damaged}, {"anchors", res.Anchors}}.with("subagents", res.Subagents), "%s: %s", display.Line(name), importText(res))
	if err != nil {
		return err
	}
	// Each file's result is known when its import is over.
	if err := o.out.Flush(); err != nil {
		return &writeError{err}
	}
	for _, p := range res.Problems {
		where := name
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", name, p.Line)
		}
		o.warn(where + ": " + p.Msg)
	}
	return nil
}

func importText(res importer.Result) string {
	text := fmt.Sprintf("%s into tape %s", display.Entries(res.Imported), quoted(res.Tape))
	into := append([]string{text}, some(len(res.Subagents), "fork of a subagent", "forks of subagents")...)
	return strings.Join(slices.Concat([]string{strings.Join(into, " and ")}, some(res.Anchors, "anchor", "anchors"), some(res.Skipped, "skipped", "skipped"),
		some(res.Damaged, "damaged line", "damaged lines")), ", ")
}
