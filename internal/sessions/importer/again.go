package importer

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/rewrite"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// again says which tape [Again] imports again.
type again struct {
	tape  *repo.Tape
	facts about.Tape // with what people gave it: title, star, tags
}

// Again replaces a tape by a new import of its transcript. The former history is archived ([Result.Archived]), and
// the title, star and tags that people gave the tape are kept. Entries that were not imported, which [Result.Own] counts, are only
// in the archive. It refuses a file that is not the tape's transcript, and a tape that a transcript cannot replace:
// one that was purged, or that another agent continued.
func Again(ctx context.Context, s *repo.Store, t *repo.Tape, path, version string, o Options) (Result, error) {
	return remake(ctx, s, t, path, version, o, OpenFile)
}

// remake does what [Again] says, with a file that open opens. If that is of a live session, a tape with entries that were
// not imported stays as it is.
func remake(ctx context.Context, s *repo.Store, t *repo.Tape, path, version string, o Options, open Opener) (res Result, err error) {
	var format *record.Format
	known := map[string]bool{} // keys of the transcript's beginning; the tape must have one of them
	info, err := identify(ctx, path, func(f *record.Format, src record.Source) error {
		wanted := 100
		if format = f; f.Keys != nil {
			wanted = math.MaxInt // entries of one's own have a key, too
		}
		first, err := firstKeys(ctx, f, src, wanted)
		for _, key := range first {
			known[key] = true
		}
		return err
	})
	if err != nil {
		return res, err
	}
	var facts about.Tape
	own, matches, purged, elsewhere, parts := 0, false, false, false, false
	keys := keysOf(format)
	for e, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil {
			return res, err
		}
		has, err := keys(e)
		if err != nil {
			return res, err
		}
		facts.Add(e)
		event := ""
		if e.Kind == repo.KindEvent {
			event = jsonl.GetString(e.Payload, "name")
		}
		purged, elsewhere, parts = purged || event == rewrite.PurgedEvent, elsewhere || event == projects.Event, parts || event == record.EventPart
		imported := slices.ContainsFunc(has, func(key string) bool { return known[key] })
		matches = matches || imported
		if format.Keys == nil {
			imported = len(has) > 0
		}
		if !imported && e.ID > 1 && !about.IsLabel(jsonl.GetString(e.Payload, "name")) {
			own++
		}
	}
	if !matches {
		return res, layout.Invalid("", "%s is not the transcript of tape %q", display.Quoted(path), t.Name())
	}
	if purged { // the transcript may still have what was removed, and nobody can tell what that was
		return res, layout.Invalid("", "something was purged from tape %q, and importing it again would bring that back", t.Name()).
			Try(layout.PurgeTranscript, t.Name(), path)
	}
	if elsewhere {
		return res, layout.Invalid("", "tape %q was continued in another agent, so no single transcript has all of it", t.Name())
	}
	if o.live && (own > 0 || parts) {
		return res, nil
	}
	if parts {
		return res, layout.Invalid("with a name for the tape (--tape), one of these files is read as a tape of its own", "the session of tape %q is in several files, so no single transcript has all of it", t.Name())
	}
	var failed error
	batch := NewBatch(s, version, open, func(r Result, err error) error {
		res, failed = r, err
		return nil
	})
	defer batch.Close()
	o.again = &again{t, facts}
	o.Tape = strings.TrimSuffix(t.Name(), "/"+info.Agent)
	if err := batch.add(ctx, outcome{o: o, res: Result{File: path, Format: o.Format}}); err != nil {
		return res, err
	}
	if err := errors.Join(batch.Flush(ctx), failed); err != nil {
		return res, err
	}
	if res.Archived == "" {
		return res, layout.Invalid("", "the transcript %s has no entries; tape %q stays as it is", display.Quoted(path), t.Name())
	}
	res.Own = own
	return res, nil
}

// relabel gives the new tape the title, the star and the tags that people gave the old one.
func (a *again) relabel(ctx context.Context, tx *repo.Tx) error {
	var events []repo.Draft
	if a.facts.Given != "" {
		events = append(events, repo.Event(about.TitleEvent, record.NewObject(64).Str("title", a.facts.Given).Done()))
	}
	if a.facts.Starred {
		events = append(events, repo.Event(about.StarEvent, about.StarData(true)))
	}
	if len(a.facts.Tags) > 0 {
		data, err := about.Tape{}.TagData(a.facts.Tags, nil)
		if err != nil {
			return err
		}
		events = append(events, repo.Event(about.TagEvent, data))
	}
	for _, e := range events {
		if _, err := tx.Append(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses a transcript that would go to another tape, or to a fork of this one. A nil again accepts any.
func (a *again) fits(src record.Source, res *Result) error {
	if a == nil || !src.Within && res.Tape == a.tape.Name() {
		return nil
	}
	return layout.Invalid("name the session's own transcript", "%s is the transcript of a subagent", display.Quoted(res.File))
}

// HasImported reports whether a tape has imported entries with keys in their meta. Those of Bub have none.
func HasImported(ctx context.Context, t *repo.Tape) (bool, error) {
	for e, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil || Keys(e.Meta) != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// Transcript returns the path of the file that a tape was imported from, "" if it is not known.
func Transcript(s *repo.Store, tape string) string {
	return loadMarks((*workspace.Store)(s), "").paths[tape]
}
