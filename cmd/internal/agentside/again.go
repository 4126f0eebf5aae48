package agentside

import (
	"cmp"
	"context"
	"strconv"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/forks"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Again imports the transcript of a tape again, and archives the former history. If file is "", it looks for the
// transcript.
func (m *Import) Again(ctx context.Context, t *repo.Tape, file string, at resume.Where) error {
	if err := forks.CheckNoneOpen(ctx, (*workspace.Tape)(t)); err != nil {
		return err
	}
	if err := checkUnpublished(ctx, t); err != nil {
		return err
	}
	if file == "" {
		var err error
		if file, err = resume.TranscriptOf(ctx, t.Store(), t, at); err != nil {
			return err
		}
	}
	if list, err := importer.Files(ctx, file); err != nil || len(list) != 1 {
		return cmp.Or(err, error(layout.Invalid("", "%s is not the transcript of one session", display.Quoted(file))))
	}
	bar := m.Progress(ShortPath(m.Streams, file, stdio.LabelCells))
	defer bar.Clear()
	o := m.Options
	o.Progress = bar.Part
	res, err := importer.Again(ctx, t.Store(), t, file, m.Version, o)
	bar.Clear()
	if err != nil {
		return wayOut(err)
	}
	if err := m.report(res); err != nil || m.JSON {
		return err
	}
	m.PrintUnlessQuiet("the former history is kept as %s", res.Archived)
	if res.Own > 0 {
		m.PrintUnlessQuiet("%s only there", display.Count(res.Own, "entry that was not imported is", "entries that were not imported are"))
	}
	return nil
}

// checkUnpublished refuses a tape that a remote has: a pull would merge both histories.
func checkUnpublished(ctx context.Context, t *repo.Tape) error {
	remotes, err := t.Distances(ctx)
	for _, r := range remotes {
		if r.Shared {
			return layout.Conflict("tape --tape NEW import FILE makes another tape of the transcript",
				"%s has tape %s, too: the next pull would bring its former history back beside the new one", r.Remote, strconv.Quote(t.Name()))
		}
	}
	return err
}
