package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type importOptions struct {
	app    *App
	format string
	files  []string
	alone  bool // without subagents
	inline bool // without artifacts

	everything bool
	again      string // the tape to import again
}

func newImportCmd(a *App) *cobra.Command {
	o := &importOptions{app: a}
	formats := append(importer.All().Names(), importer.Auto)
	cmd := &cobra.Command{
		Use:   "import [FORMAT] [FILE… | --all]",
		Short: "Import transcripts of other programs",
		Long: `Import transcripts. FORMAT is one of ` + strings.Join(formats, ", ") + `; without
it, the format of each file is recognized.

Without FILE, import looks for the transcripts of this project where ` + strings.Join(importer.All().WithFolders().Names(), ", ") + `
keep them: sessions in this directory and below. With --all, it imports those of all projects,
each into the workspace of its project; tape tapes -A lists them. All worktrees and clones of a
git repository are one project, and so are directories of the same name that are gone. A
session that is in another workspace already stays there.

Of a folder, every session in it and below is imported, also behind links, in .jsonl and .json
files, in those that zstd has compressed (.zst), and in databases of agents. Other files are left
out: the kinds of those in no known format are named, while files that agents keep beside
sessions, and sessions in which nobody says anything, are not. - is standard input. Each file
becomes a tape named after its session, unless --tape gives a name. An export of claude.ai or
ChatGPT, the zip file or its conversations.json, gives a tape for each conversation. A database,
such as opencode.db, gives one for each session; opencode.db/ID names a single session. If another
Bub workspace has a session of the same name, the tape is named after the file. If a file has
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

With --again, a tape is imported again from its transcript, as this version of tape reads it, if
the transcript still exists. The former history becomes an archive, and tape restore brings it
back. The title that you gave the tape stays; other entries that were not imported are only in
the archive. A tape that has open forks, or that a remote has, is refused.

If the current directory has no workspace yet, import creates one, as tape init does.`,
		Example: `  tape import
  tape import --all
  tape import session.jsonl
  tape import --no-subagents session.jsonl
  tape import --again 2b0f
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
			if o.everything && (len(o.files) > 0 || o.app.tapeName != "") {
				return usagef("--all imports the sessions of all projects: leave out FILE and --tape")
			}
			if o.app.Host == nil && importer.NeedsHost(cmd.Context(), o.files, o.agents(), o.app.Getenv) {
				return o.app.startHost(cmd.Name(), os.Args[1:])
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.everything, "all", false, "import the sessions of all projects")
	cmd.Flags().BoolVar(&o.alone, "no-subagents", false, "leave out subagents")
	cmd.Flags().StringVar(&o.again, "again", "", "import the `TAPE` again from its transcript")
	completeFlag(cmd, "again", a.completeTapes())
	cmd.Flags().BoolVar(&o.inline, "inline", false, "leave large results and images in their entries")
	return cmd
}

func (o *importOptions) run(ctx context.Context) error {
	// Another import of the same session may take long; this one waits for it.
	o.app.lockWait = time.Hour
	// Transcripts are read a record at a time. Without the limit, a quick reader lets
	// the heap grow far beyond what is in use.
	const softLimit = 96 << 20 // bytes
	debug.SetMemoryLimit(softLimit)
	version, commit := o.app.build()
	m := &agentside.Import{Streams: &o.app.Streams, Version: version + " " + commit, Source: o.open(ctx),
		Options: importer.Options{Format: o.format, Tape: o.app.wantedTape(), NoSubagents: o.alone, Inline: o.inline}}
	if o.again != "" {
		return o.runAgain(ctx, m)
	}
	if o.everything {
		var apart []string
		places := recorder.Places{Apart: func(in, dir string) {
			apart = append(apart, display.Line(dir)+" has the git remote of "+display.Line(workspace.ProjectOf(in).Dir)+"; if it is a clone of yours: "+linkCommand(in, dir))
		}}
		if o.app.CanAsk() {
			places.AskClone = o.app.isClone
		}
		err := m.Everything(ctx, agentside.Everything{Agents: o.agents(), Workspace: o.app.workspaceDir(), Open: o.app.openRecording, Imported: imported, Places: places})
		for _, line := range apart {
			o.app.StderrUnlessQuiet("%s", line)
		}
		return cmp.Or(err, m.Failure())
	}
	if len(o.files) == 0 {
		if err := o.discover(ctx); err != nil {
			return err
		}
		m.Found = true
		if err := o.toTheirTapes(ctx, m); err != nil || len(o.files) == 0 {
			return cmp.Or(err, m.Failure())
		}
	}
	store, err := o.ensureStore(ctx)
	if err != nil {
		return err
	}
	if err := m.Files(ctx, store, o.files); err != nil {
		return err
	}
	name, err := agentside.LeaveEmpty(ctx, store, m.Tapes)
	if err != nil {
		return err
	}
	if name != "" && !o.app.JSON {
		o.app.PrintUnlessQuiet("the current tape is %s, the newest", quoted(name))
	}
	tidy(ctx, store)
	return m.Failure()
}

// runAgain imports a tape again from its transcript.
func (o *importOptions) runAgain(ctx context.Context, m *agentside.Import) error {
	if o.app.tapeName != "" || o.everything || len(o.files) > 1 {
		return usagef("--again takes the tape, and at most one FILE")
	}
	o.app.tapeName = o.again
	t, err := o.app.openTape(ctx)
	if err != nil {
		return err
	}
	var at resume.Where
	at.Recorder, _ = o.app.places() // without a home directory there are no transcripts
	at.User, _ = o.app.userSettings()
	return m.Again(ctx, t, strings.Join(o.files, ""), at)
}

// imported finishes an import into a workspace: if the current tape is empty, it makes the newest of tapes current.
// Then it packs.
func imported(ctx context.Context, store *repo.Store, tapes []string) error {
	_, err := agentside.LeaveEmpty(ctx, store, tapes)
	tidy(ctx, store)
	return err
}

// open returns a function that opens a file, or standard input for -.
func (o *importOptions) open(ctx context.Context) importer.Opener {
	return func(name string) (record.Source, io.Closer, error) {
		if name != "-" {
			return importer.OpenSource(name, nil)
		}
		in, end := stdio.NewInput(ctx, o.app.Stdin)
		defer end()
		return importer.OpenSource(name, in)
	}
}

// ensureStore opens the workspace. If none was named and the current directory has none, it creates
// one: most people begin with an import.
func (o *importOptions) ensureStore(ctx context.Context) (*repo.Store, error) {
	store, err := o.app.openStore(ctx)
	if !errors.Is(err, repo.ErrNotFound) || o.app.workspaceDir() != "" {
		return store, err
	}
	dir, err := workspace.NewFor(".")
	if err != nil {
		return nil, err
	}
	opts := *o.app.storeOptions()
	opts.Project = "."
	store, _, err = repo.Init(ctx, dir, &repo.InitOptions{Options: opts})
	if err != nil {
		return nil, err
	}
	o.app.noteProject(store)
	if !o.app.JSON {
		o.app.PrintUnlessQuiet("created workspace %s", agentside.ShortPath(&o.app.Streams, dir, 0))
	}
	return store, nil
}
