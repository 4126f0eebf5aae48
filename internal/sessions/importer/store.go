package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Auto is the name of a format that lets the import detect the format.
const Auto = "auto"

// Options say how a file is imported.
type Options struct {
	Formats Formats
	Format  string // the name of one of Formats; Auto or "" detects it
	Tape    string // the tape to import into; "" names it after the session
	// Fallback names the tape of a session that has no name; "" takes the file's.
	Fallback string
	// NoSubagents leaves out what subagents did. A later import may add it.
	NoSubagents bool
	// Inline leaves large results and pictures in their entries. Otherwise they become artifacts.
	Inline bool
	// Progress gets how many bytes of the file's size were read so far. It may be nil.
	Progress func(read, size int64)

	live  bool // the session goes on, see [Continue]
	again *again
}

// Result is what the import of a file did.
type Result struct {
	File      string
	Format    string
	Tape      string
	Subagents []string // forks with entries of subagents, as TAPE/FORK
	Imported  int      // entries, those of subagents included
	Anchors   int      // of the entries, how many are anchors
	Known     int      // entries of the file that the tape had
	Forgotten bool     // the session was forgotten, and is left out
	LeftOut   int      // keys of subagents' entries that NoSubagents left out
	Sessions  int      // how many the file has, if it is a list of sessions
	Empty     bool     // nobody says anything in it, so it is no session; nothing was imported
	Archived  string   // by Again: the ref of the former history
	Own       int      // by Again: entries of the former history that were not imported
	tookBack  bool     // a person took back what is in the context of a live session's tape
	record.Stats
}

// Add adds the subagents, the counts of entries and of damaged lines from another file's result.
func (r *Result) Add(other Result) {
	r.Subagents = append(r.Subagents, other.Subagents...)
	r.Imported += other.Imported
	r.Anchors += other.Anchors
	r.Known += other.Known
	r.LeftOut += other.LeftOut
	r.Damaged += other.Damaged
}

// describe returns the format of a file and what its beginning says, and sets the format and the tape in res.
func describe(ctx context.Context, src *record.Source, o Options, res *Result) (f *record.Format, info record.Info, err error) {
	f, head, err := formatOf(*src, o, res)
	if err != nil {
		return nil, info, err
	}
	res.Format = f.Name
	if f.Many && record.IsList(head) {
		return nil, info, fmt.Errorf("import %s: %w", res.File, ErrManySessions)
	}
	if info, err = Describe(ctx, f, *src); err != nil {
		return nil, info, fmt.Errorf("import: %w", err)
	}
	switch {
	case o.Tape != "":
		res.Tape = o.Tape
	case !info.Named && o.Fallback != "":
		res.Tape = o.Fallback
	case !info.Named && res.File == "-":
		return nil, info, fmt.Errorf("import %s: %w", res.File, ErrNoName)
	default:
		res.Tape = info.Session
	}
	return f, info, nil
}

// formatOf returns the format of a file, and its beginning: 64 KiB if these show the format, else up to 1 MiB.
func formatOf(src record.Source, o Options, res *Result) (f *record.Format, head []byte, err error) {
	const plenty, most = 64 << 10, 1 << 20
	for size := min(src.Size, plenty); ; size = min(src.Size, most) {
		head = make([]byte, size)
		if _, err := src.R.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("import %s: %w", res.File, err)
		}
		if o.Format == Auto || o.Format == "" {
			f = o.Formats.Detect(res.File, head)
		} else {
			f = o.Formats.Find(o.Format)
		}
		if size == min(src.Size, most) || bytes.Count(head, []byte{'\n'}) >= detectLines && (f != nil || hasLines(head)) {
			break
		}
	}
	if f == nil && o.Formats.isCompanion(head) {
		return nil, nil, fmt.Errorf("import %s: %w", res.File, ErrNoSession)
	}
	if f == nil {
		return nil, nil, fmt.Errorf("import %s: %w", res.File, ErrUnknownFormat)
	}
	return f, head, nil
}

// hasLines reports whether the beginning of a file is a line of JSON, not a document of many lines.
func hasLines(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	_, err := jsonl.Prefix(line)
	return err == nil
}

// Identify returns what the beginning of a transcript says.
func Identify(ctx context.Context, path string) (record.Info, error) {
	return identify(ctx, path, func(*record.Format, record.Source) error { return nil })
}

// identify is like Identify, and passes the open transcript to read.
func identify(ctx context.Context, path string, read func(*record.Format, record.Source) error) (info record.Info, err error) {
	src, closer, err := OpenSource(path, nil)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	f, info, err := describe(ctx, &src, Options{}, &Result{File: path})
	if err == nil {
		err = read(f, src)
	}
	return info, err
}

// placeAgent decides where a subagent's own file goes. If the session's tape already has a fork of the subagent, or
// subagents are left out, the file is read as a part of that session. Otherwise it becomes a tape below the session's,
// with a context of its own.
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
		info.Agent = "" // it belongs to no session, so it is one itself
	}
	return nil
}

// hasFork reports whether a closed fork of a tape has that name, perhaps with a number.
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

// ErrUnknownFormat says that the format was not recognised, or that the one in Options does not exist.
var ErrUnknownFormat = errors.New("not a transcript in any known format")

// ErrNoSession says that a file is empty, or one that an agent keeps beside its transcripts.
var ErrNoSession = errors.New("not a session, but a file that its agent keeps beside sessions, or an empty one")

// ErrManySessions says that a file is a list of sessions, where a single session is needed.
var ErrManySessions = errors.New("it has many sessions, where one is wanted")

// ErrNoName says that a session from standard input has no name, and none was given.
var ErrNoName = errors.New("the session has no name")

// OpenSource opens a file to import, or a session in a database. For "-" it copies stdin to a temporary file, because
// transcripts are read twice. Close the closer when done.
func OpenSource(name string, stdin io.Reader) (record.Source, io.Closer, error) {
	if src, closer, ok, err := openSession(name, nil); ok {
		return src, closer, err
	}
	if name != "-" {
		// Opening a pipe would wait for its writer, perhaps forever.
		if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return record.Source{}, nil, layout.Invalid("send its output to standard input, and give - as the file", "%s is not a file but a pipe or a device", name)
		}
		f, err := os.Open(name)
		if err != nil {
			return record.Source{}, nil, err
		}
		if strings.HasSuffix(name, compressed) {
			return unzstd(name, f)
		}
		if order := orderOf(f); order != nil {
			src, closer, err := temporary(name, newWideReader(f, order))
			return src, closer, errors.Join(err, f.Close())
		}
		return sized(name, f, f)
	}
	src, closer, err := temporary(name, stdin)
	if err != nil {
		return src, closer, fmt.Errorf("read standard input: %w", err)
	}
	if order := orderOf(src.R); order != nil {
		wide, wideCloser, err := temporary(name, newWideReader(io.NewSectionReader(src.R, 0, src.Size), order))
		return wide, wideCloser, errors.Join(err, closer.Close())
	}
	return src, closer, nil
}

// OpenFile opens a file to import, as OpenSource does. It is an [Opener].
func OpenFile(name string) (record.Source, io.Closer, error) { return OpenSource(name, nil) }

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

// tempFile is removed when it is closed.
type tempFile struct{ *os.File }

func (f *tempFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// progressReader calls report after about each MiB that was not read before, and whenever the end is read.
type progressReader struct {
	io.ReaderAt
	size   int64
	far    atomic.Int64 // the last end that was reported
	report func(read, size int64)
}

func (c *progressReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	const step = 1 << 20
	if end := off + int64(n); end > c.far.Load()+step || end == c.size {
		c.far.Store(end)
		c.report(end, c.size)
	}
	return n, err
}
