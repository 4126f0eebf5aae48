package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"tape/internal/importer/record"
	"tape/repo"
)

// Auto lets File find out the format by itself.
const Auto = "auto"

// Options say how a file is imported.
type Options struct {
	Format string // one of Formats, or Auto
	Tape   string // the tape to import into; "" names it after the session
	// Fallback names the tape of a session that has no name; "" takes the file's.
	Fallback string
	// NoSubagents leaves out what subagents did. An import without it brings it in.
	NoSubagents bool
	// Progress is told from time to time how many bytes of the file were read. It
	// may be called from several goroutines. Nil drops it.
	Progress func(read, size int64)
}

// Result says what an import of one file did.
type Result struct {
	File         string
	Format       string
	Tape         string
	Subagents    []string // forks with entries of subagents, as TAPE/FORK
	Imported     int      // entries, those of subagents included
	Anchors      int      // of the entries, how many are anchors
	record.Stats          // Skipped are also the records that were not wanted
}

// File imports a transcript into a tape, which is created if need be. Imported again, a
// file adds only what is new. Its entries come in all at once or not at all.
//
// What a subagent did is a fork of the tape, begun at the call that started it and merged
// behind the result of that call. What is there of it without a result is merged in the
// end, and what a later import finds of it is another fork of the same name.
func File(ctx context.Context, store *repo.Store, name string, src record.Source, o Options) (Result, error) {
	res := Result{File: name, Format: o.Format}
	if o.Format == Auto || o.Format == "" {
		head := make([]byte, min(src.Size, 1<<20))
		if _, err := src.R.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
			return res, fmt.Errorf("import %s: %w", name, err)
		}
		format, ok := Detect(name, head)
		if !ok {
			return res, fmt.Errorf("import %s: %w", name, ErrUnknownFormat)
		}
		res.Format = format
	}
	if o.Progress != nil {
		src.R = &counted{ReaderAt: src.R, size: src.Size, tell: o.Progress}
	}
	info, err := Describe(ctx, res.Format, src)
	if err != nil {
		return res, fmt.Errorf("import: %w", err)
	}
	switch {
	case o.Tape != "":
		res.Tape = o.Tape
	case !info.Named && o.Fallback != "":
		res.Tape = o.Fallback
	case !info.Named && name == "-":
		return res, fmt.Errorf("import %s: %w", name, ErrNoName)
	default:
		res.Tape = info.Session
	}
	if err := placeAgent(ctx, store, &src, &info, o, &res); err != nil {
		return res, fmt.Errorf("import %s: %w", name, err)
	}
	err = readInto(ctx, store, src, info, o, &res)
	if errors.Is(err, errRaced) {
		err = readInto(ctx, store, src, info, o, &res)
	}
	return res, err
}

// placeAgent decides where a subagent's own file goes. Where its session's tape has the
// subagent already, the file adds to that. Otherwise it becomes a tape below the
// session's, with a context of its own.
func placeAgent(ctx context.Context, store *repo.Store, src *record.Source, info *record.Info, o Options, res *Result) error {
	if info.Agent == "" {
		return nil
	}
	known, err := hasFork(ctx, store, res.Tape, info.Agent)
	switch {
	case err != nil:
		return err
	case known || o.NoSubagents:
		src.Within, info.Agent = true, ""
	case info.Named || o.Tape != "":
		res.Tape += "/" + info.Agent
	default:
		info.Agent = "" // of no session: it is one
	}
	return nil
}

// hasFork reports whether a fork of that name was merged into a tape.
func hasFork(ctx context.Context, store *repo.Store, name, fork string) (bool, error) {
	tape, err := store.Tape(ctx, name)
	if errors.Is(err, repo.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	forks, err := tape.ClosedForks(ctx)
	return slices.ContainsFunc(forks, func(f repo.ForkInfo) bool {
		return f.Fork == fork || strings.HasPrefix(f.Fork, fork+".")
	}), err
}

func readInto(ctx context.Context, store *repo.Store, src record.Source, info record.Info, o Options, res *Result) error {
	*res = Result{File: res.File, Format: res.Format, Tape: res.Tape}
	in := newIntake(store, info, o, res)
	var err error
	res.Stats, err = in.read(ctx, src)
	res.Skipped += in.repeated
	if err != nil {
		return fmt.Errorf("import %s into tape %q: %w", res.File, res.Tape, err)
	}
	return nil
}

// ErrUnknownFormat says that Auto found none of the formats.
var ErrUnknownFormat = errors.New("not a transcript in any known format")

// ErrNoName says that a session from standard input has no name, and none was given.
var ErrNoName = errors.New("the session has no name")

// OpenSource opens a file to import; "-" is copied from stdin to a temporary file,
// because transcripts are read twice. Close it when done.
func OpenSource(name string, stdin io.Reader) (record.Source, io.Closer, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return record.Source{}, nil, err
		}
		return sized(name, f, f)
	}
	f, err := os.CreateTemp("", "tape-import-*")
	if err != nil {
		return record.Source{}, nil, err
	}
	var closer io.Closer = &removing{f}
	// Where an open file can be removed, nothing is left behind by a crash.
	if os.Remove(f.Name()) == nil {
		closer = f
	}
	if _, err := io.Copy(f, stdin); err != nil {
		return record.Source{}, nil, errors.Join(fmt.Errorf("read standard input: %w", err), closer.Close())
	}
	return sized(name, f, closer)
}

func sized(name string, f *os.File, closer io.Closer) (record.Source, io.Closer, error) {
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s is a folder", name)
	}
	if err != nil {
		return record.Source{}, nil, errors.Join(err, closer.Close())
	}
	return record.Source{Name: name, R: f, Size: st.Size()}, closer, nil
}

// removing removes a temporary file after closing it.
type removing struct{ *os.File }

func (r *removing) Close() error { return errors.Join(r.File.Close(), os.Remove(r.Name())) }

type counted struct {
	io.ReaderAt
	size int64
	far  atomic.Int64
	tell func(read, size int64)
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	const step = 1 << 20
	if end := off + int64(n); end > c.far.Load()+step || end == c.size {
		c.far.Store(end)
		c.tell(end, c.size)
	}
	return n, err
}
