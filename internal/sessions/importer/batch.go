package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/projects"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/repo"
)

// Batch imports transcripts into tapes, and creates tapes as needed. A file that is imported again adds
// only what is new. All entries of a session are added, or none.
//
// What a subagent did becomes a fork of the tape. The fork begins at the call that started the subagent, and is
// merged after that call's result. Without a result, it is merged at the end of the import, and the entries that a
// later import finds become another fork of the same name.
//
// Many new tapes are written together. The result for a file is reported when it is durable.
type Batch struct {
	store   *repo.Store
	report  func(Result, error) error
	open    Opener
	copied  databaseCopy
	bulk    *writer.Bulk
	pending []outcome
	size    int64           // bytes of the pending files
	names   map[string]bool // true: tapes that are not written yet; false: their parents
	marks   *marks
	git     projectgit.Resolver
}

// outcome is the result for a file, unless the Bulk fails.
type outcome struct {
	res    Result
	err    error
	inBulk bool
	o      Options
	whole  bool           // the file is the transcript of the whole tape
	part   *record.Source // one session of a file with several; nil: the whole file
	key    string         // of its mark
	mark   mark

	in      *intake // of a live session
	reading *record.Reading
}

// The pending files are written when they reach one of these limits. A file is never split, so the last one may exceed maxSize.
const (
	maxFiles = 1000
	maxSize  = 256 << 20 // bytes
)

// Opener opens a file, as [OpenSource] does. A file may be opened more than once.
type Opener func(name string) (record.Source, io.Closer, error)

// NewBatch returns a Batch that imports into a store. report gets the result of each file, in order; its error ends the import.
// version is the program's. Close the batch when done.
func NewBatch(store *repo.Store, version string, open Opener, report func(Result, error) error) *Batch {
	return &Batch{store: store, open: open, report: report, bulk: writer.NewBulk((*workspace.Store)(store)), names: map[string]bool{},
		marks: loadMarks((*workspace.Store)(store), version)}
}

// Close drops what was not flushed.
func (b *Batch) Close() {
	b.bulk.Discard()
	b.git.Close()
	b.copied.close()
}

// File imports a file; [Batch.Flush] makes it durable. An error of the file goes to report; one that File
// returns ends the import.
func (b *Batch) File(ctx context.Context, name string, o Options) error {
	out := outcome{o: o, res: Result{File: name, Format: o.Format}}
	out.key, out.mark = newMark(name, o)
	if err := b.add(ctx, out); err != nil {
		return err
	}
	if len(b.pending) >= maxFiles || b.size >= maxSize {
		return b.Flush(ctx)
	}
	return nil
}

// add reads a file, unless a mark says that its tape has all of it.
func (b *Batch) add(ctx context.Context, out outcome) error {
	var size int64
	if m, ok := b.marks.valid(out.key, out.mark); ok {
		out.key, out.res.Format, out.res.Tape = "", m.format, m.tape
		out.res.Known, out.res.LeftOut = m.entries, m.leftOut
	} else {
		size, out.err = b.importFile(ctx, &out)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if errors.Is(out.err, errParts) { // its sessions have outcomes of their own
		return nil
	}
	if former, ok := errors.AsType[formerError](out.err); ok && !out.o.live {
		again := outcome{o: out.o, res: Result{File: former.path}}
		again.o.Format = Auto
		again.key, again.mark = newMark(former.path, again.o)
		return b.add(ctx, again)
	}
	b.pending = append(b.pending, out)
	b.size += size
	return nil
}

// Flush makes what was read durable, and reports the results. Its error is that of report, or of ctx.
func (b *Batch) Flush(ctx context.Context) error {
	pending := b.pending
	b.pending, b.size, b.names = nil, 0, map[string]bool{}
	lost, err := b.bulk.Commit(ctx)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, out := range pending {
		switch {
		case !out.inBulk:
		case err != nil:
			out.err = fmt.Errorf("import %s into tape %q: %w", out.res.File, out.res.Tape, err)
		case slices.Contains(lost, out.res.Tape):
			// Another process has created or forgotten the tape: import the file again.
			if _, out.err = b.importFile(ctx, &out); out.err == nil && out.inBulk {
				out.err = errRaced
			}
		}
		if out.err == nil && out.key != "" && len(out.res.Problems) == 0 {
			out.mark.entries, out.mark.leftOut, out.mark.format, out.mark.tape = out.res.Imported+out.res.Known, out.res.LeftOut, out.res.Format, out.res.Tape
			b.marks.put(out.key, out.mark)
		}
		if out.err == nil && out.whole {
			b.marks.note(out.res.Tape, out.res.File)
		}
		if err := b.report(out.res, out.err); err != nil {
			return err
		}
	}
	b.marks.save(ctx)
	return nil
}

// importFile imports a file. It returns errParts if the file has several sessions, which are imported one by one.
func (b *Batch) importFile(ctx context.Context, out *outcome) (size int64, err error) {
	src, closer, err := b.source(out)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if many, err := b.parts(ctx, src, out); many || err != nil {
		return 0, cmp.Or(err, errParts)
	}
	if out.o.Progress != nil {
		src.R = &progressReader{ReaderAt: src.R, size: src.Size, report: out.o.Progress}
	}
	f, info, err := describe(ctx, &src, out.o, &out.res)
	if err != nil {
		return 0, err
	}
	if !info.Named && out.o.Tape == "" && out.o.Fallback == "" && out.part == nil && out.res.File != "-" {
		if out.res.Tape, err = b.nameOfFile(ctx, f, src, out.res.Tape); err != nil {
			return 0, fmt.Errorf("import %s: %w", out.res.File, err)
		}
	}
	if info.Full != "" && out.o.Tape == "" {
		if out.res.Tape, err = b.nameOf(ctx, f, src, info); err != nil {
			return 0, fmt.Errorf("import %s: %w", out.res.File, err)
		}
	}
	chosen := out.o.Tape // nobody has to look whether the tape is of this session
	if chosen == "" {
		continuations, err := projects.ContinuedIn((*workspace.Store)(b.store))
		if err != nil {
			return 0, fmt.Errorf("import %s: %w", out.res.File, err)
		}
		chosen = continuations.Tape(f.Name, info.Session)
		out.res.Tape = cmp.Or(chosen, out.res.Tape)
	}
	if left, err := b.skipForgotten(out, info.Session); left || err != nil {
		return 0, err
	}
	// The next steps ask the store for the tape.
	if err := b.flushFor(ctx, out.res.Tape); err != nil {
		return 0, err
	}
	if chosen == "" {
		if err := b.checkSame(ctx, f, src, info, out.res.Tape); err != nil {
			return 0, fmt.Errorf("import %s: %w", out.res.File, err)
		}
	}
	if err := placeAgent(ctx, b.store, &src, &info, out.o, &out.res); err != nil {
		return 0, fmt.Errorf("import %s: %w", out.res.File, err)
	}
	if left, err := b.skipForgotten(out); left || err != nil { // a subagent's session has its name only now
		return 0, err
	}
	if err := out.o.again.fits(src, &out.res); err != nil {
		return 0, err
	}
	if err := b.flushFor(ctx, out.res.Tape); err != nil {
		return 0, err
	}
	if err := b.checkNotHostTape(ctx, out.res.Tape); err != nil {
		return 0, fmt.Errorf("import %s: %w", out.res.File, err)
	}
	err = b.writeNew(ctx, f, src, info, out)
	if errors.Is(err, errRaced) {
		err = b.writeNew(ctx, f, src, info, out)
	}
	out.whole = !src.Within && out.part == nil && !out.res.Empty
	return src.Size, err
}

// skipForgotten reports whether a session was forgotten, under its tape's name or one of names, and notes that in out. It reads the list each
// time, because a session may be forgotten during an import.
func (b *Batch) skipForgotten(out *outcome, names ...string) (bool, error) {
	list, err := projects.ReadForgotten((*workspace.Store)(b.store))
	if out.res.Forgotten = slices.ContainsFunc(append(names, out.res.Tape), list.Has); out.res.Forgotten {
		out.key, out.inBulk = "", false
	}
	return out.res.Forgotten, err
}

// checkNotHostTape refuses tapes that belong to tape serve: the name comes from the transcript, and could be that of one of them.
func (b *Batch) checkNotHostTape(ctx context.Context, name string) error {
	top, _, _ := strings.Cut(name, "/")
	t, err := b.store.Tape(ctx, top)
	if err == nil {
		err = query.CheckNotHostTape(ctx, (*workspace.Tape)(t))
	}
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return err
}

// writeNew writes what is new in a source to its tape, and fills out.res.
func (b *Batch) writeNew(ctx context.Context, f *record.Format, src record.Source, info record.Info, out *outcome) error {
	res := &out.res
	*res = Result{File: res.File, Format: res.Format, Tape: res.Tape, Sessions: res.Sessions}
	in := newIntake(b.store, b.bulk, f, info, out.o, res)
	in.git = &b.git
	r, err := in.read(ctx, src)
	if res.Stats = r.Stats; out.o.live {
		out.in, out.reading = in, r
	}
	res.Known, res.LeftOut = len(in.matched)+in.repeated, len(in.out)
	if err != nil {
		return fmt.Errorf("import %s into tape %q: %w", res.File, res.Tape, err)
	}
	if out.inBulk = in.tx != nil && in.tx.InBulk(); out.inBulk {
		for name := range selfAndParents(res.Tape) {
			b.names[name] = b.names[name] || name == res.Tape
		}
	}
	return nil
}

// flushFor flushes if the tape with that name, or one above or below it, is not written yet.
func (b *Batch) flushFor(ctx context.Context, tape string) error {
	_, unwritten := b.names[tape]
	for name := range selfAndParents(tape) {
		unwritten = unwritten || b.names[name]
	}
	if unwritten {
		return b.Flush(ctx)
	}
	return nil
}

// selfAndParents yields the name of a tape and the names of its parents.
func selfAndParents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(name) {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				return
			}
			name = name[:i]
		}
	}
}
