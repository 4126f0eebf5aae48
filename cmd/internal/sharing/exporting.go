package sharing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/store/workspace"
	"tape/repo"
	"tape/repo/view"
)

// Export say what to export, and where to.
type Export struct {
	As        export.Format
	From, To  string // the first and the last phase, by anchor; or entries, as @17; "": those of the tape
	Kinds     []string
	Output    string // a file; "" or "-" is standard output
	Artifacts string // the folder for artifacts; "": they are not written
	Inline    bool   // artifacts in place of the references to them
	Secrets   bool   // they are written as they are, not masked

	first, last int64 // ids of From and To, if they are entries
	mask        *Masker

	Prose func(text string, lines int) string // see export.Source
}

// Write writes the export of a tape.
func (o *Export) Write(ctx context.Context, s *stdio.Streams, t *repo.Tape) error {
	if err := o.findEntries(ctx, t); err != nil {
		return err
	}
	if !o.Secrets {
		o.mask = NewMasker((*workspace.Store)(t.Store()))
	}
	src, err := o.source(ctx, t)
	if err != nil {
		return err
	}
	if o.Artifacts != "" {
		if err := o.writeArtifacts(ctx, s, t); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error {
		return o.As.Write(ctx, stdio.Results{Writer: w}, src)
	}
	if o.Output == "" || o.Output == "-" {
		var out io.Writer = s.Out
		if s.Screen().Out && strings.HasPrefix(o.As.Media, "application/json") {
			out = &shown{w: s.Out}
		}
		err = write(out)
	} else if err = stdio.ReplaceFile(nil, o.Output, write); err == nil {
		s.StderrIfVerbose("wrote %s", o.Output)
	}
	if n := o.masked(); err == nil && n > 0 {
		s.Message("warning", display.Count(n, "secret was", "secrets were")+" masked; --with-secrets writes them as they are")
	}
	return err
}

// shown writes JSON to a terminal: what could change what is shown is escaped.
type shown struct {
	w    io.Writer
	rest []byte // the beginning of a character that the next write completes
}

func (s *shown) Write(p []byte) (int, error) {
	all := append(s.rest, p...)
	end := len(all)
	for i := len(all) - 1; i >= 0 && i >= len(all)-utf8.UTFMax; i-- {
		if utf8.RuneStart(all[i]) {
			if !utf8.FullRune(all[i:]) {
				end = i
			}
			break
		}
	}
	s.rest = bytes.Clone(all[end:])
	_, err := s.w.Write(display.JSON(all[:end]))
	return len(p), err
}

func (o *Export) masked() int {
	if o.mask == nil {
		return 0
	}
	return o.mask.Count()
}

// masking masks the secrets of entries.
func (o *Export) masking(entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	if o.mask == nil || entries == nil {
		return entries
	}
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				e, err = o.mask.Entry(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// findEntries resolves --from and --to that are entries (@17): it keeps their ids as bounds, and replaces them by
// their phases.
func (o *Export) findEntries(ctx context.Context, t *repo.Tape) error {
	for _, end := range []struct {
		target *string
		id     *int64
	}{{&o.From, &o.first}, {&o.To, &o.last}} {
		if !strings.HasPrefix(*end.target, "@") {
			continue
		}
		for e, err := range t.Show(ctx, *end.target) {
			if err != nil {
				return err
			}
			*end.target, *end.id = fmt.Sprintf("%03d", e.AnchorSeq), e.ID
			break
		}
	}
	return nil
}

// source returns what to export: the phases from --from through --to.
func (o *Export) source(ctx context.Context, t *repo.Tape) (export.Source, error) {
	src := export.Source{Tape: t.Name(), AgentTitle: importer.All().Title, Resumes: importer.All().Resumes, Kinds: o.Kinds, Entries: o.entries(ctx, t), Prose: o.Prose}
	artifacts := o.As.Artifacts
	if o.Inline {
		artifacts = view.Inlined
	}
	if artifacts != nil {
		src.Entries = view.Each(ctx, t, src.Entries, artifacts)
	}
	src.Entries = o.masking(src.Entries)
	if o.mask != nil {
		src.Tape = o.mask.Text(src.Tape)
	}
	if !o.As.Phases {
		return src, nil
	}
	var err error
	if src.Phases, err = t.Phases(ctx); err != nil {
		return src, err
	}
	for i := range src.Phases {
		if o.mask == nil {
			break
		}
		p := &src.Phases[i]
		if name := o.mask.Text(p.Name); name != p.Name {
			p.Name, p.Tag = name, "" // the tag has the name
		}
		p.State = o.mask.Value(t.Name(), p.State)
	}
	if o.From != "" || o.To != "" {
		if src.Last, err = o.lastPhase(ctx, t); err != nil {
			return src, err
		}
	}
	if o.From != "" {
		q := o.bounds()
		q.Limit = repo.N(1)
		first, err := firstEntry(ctx, t, q)
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
	src.Entries, src.Whole = upToEnd(src.Entries), upToEnd(o.masking(t.Entries(ctx, repo.Query{})))
	return src, nil
}

// until yields the entries before the first one for which after is true.
func until(entries iter.Seq2[repo.Entry, error], after func(repo.Entry) bool) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && after(e) || !yield(e, err) {
				return
			}
		}
	}
}

// bounds returns a query for the phases from --from through --to; without --from, only for the last
// of them; without both, for all.
func (o *Export) bounds() repo.Query {
	switch {
	case o.From == o.To || o.From == "":
		return repo.Query{Phase: o.To}
	case o.To == "":
		return repo.Query{From: o.From, To: repo.Latest, Inclusive: true}
	}
	return repo.Query{From: o.From, To: o.To, Inclusive: true}
}

func (o *Export) entries(ctx context.Context, t *repo.Tape) iter.Seq2[repo.Entry, error] {
	q := o.bounds()
	q.Kinds, q.FirstID, q.LastID = o.Kinds, o.first, o.last
	if o.From != "" || o.To == "" {
		return t.Entries(ctx, q)
	}
	return func(yield func(repo.Entry, error) bool) {
		last, err := o.lastPhase(ctx, t)
		if err != nil {
			yield(repo.Entry{}, err)
			return
		}
		until(t.Entries(ctx, repo.Query{Kinds: o.Kinds, LastID: o.last}), func(e repo.Entry) bool { return e.AnchorSeq > last })(yield)
	}
}

func (o *Export) lastPhase(ctx context.Context, t *repo.Tape) (int, error) {
	q := o.bounds()
	q.Tail = repo.N(1)
	last, err := firstEntry(ctx, t, q)
	return last.AnchorSeq, err
}

func firstEntry(ctx context.Context, t *repo.Tape, q repo.Query) (repo.Entry, error) {
	for e, err := range t.Entries(ctx, q) {
		return e, err
	}
	return repo.Entry{}, nil
}
