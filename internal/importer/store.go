package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync/atomic"

	"tape/internal/jsonl"
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
	// Progress is told from time to time how many bytes of the file were read. It
	// may be called from several goroutines. Nil drops it.
	Progress func(read, size int64)
}

// Result says what an import of one file did.
type Result struct {
	File      string
	Format    string
	Tape      string
	Subagents []string // tapes of subagents that got entries
	Imported  int      // entries, those of subagents included
	Skipped   int      // records that the tape had already
	Damaged   int      // lines that could not be read as a whole
	Anchors   int      // of the entries, how many are anchors
	Problems  []Problem
}

// File imports a transcript into a tape of the store, which is created if need be.
// Imported again, a file adds only what is new. The entries of one file and tape
// come in all at once or not at all.
func File(ctx context.Context, store *repo.Store, name string, src Source, o Options) (Result, error) {
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
	err = readInto(ctx, store, src, info, &res)
	if errors.Is(err, errRaced) {
		err = readInto(ctx, store, src, info, &res)
	}
	return res, err
}

func readInto(ctx context.Context, store *repo.Store, src Source, info Info, res *Result) error {
	*res = Result{File: res.File, Format: res.Format, Tape: res.Tape}
	in := &intake{ctx: ctx, store: store, info: info, res: res, tapes: map[string]*target{}}
	stats, err := Read(ctx, res.Format, src, in.seen, in.add)
	res.Skipped, res.Damaged, res.Problems = stats.Skipped+in.repeated, stats.Damaged, stats.Problems
	if err := in.finish(err); err != nil {
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
func OpenSource(name string, stdin io.Reader) (Source, io.Closer, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return Source{}, nil, err
		}
		return sized(name, f)
	}
	f, err := os.CreateTemp("", "tape-import-*")
	if err != nil {
		return Source{}, nil, err
	}
	// Where an open file can be removed, nothing is left behind by a crash.
	removed := os.Remove(f.Name()) == nil
	if _, err := io.Copy(f, stdin); err != nil {
		return Source{}, nil, errors.Join(fmt.Errorf("read standard input: %w", err), f.Close())
	}
	src, closer, err := sized(name, f)
	if err == nil && !removed {
		closer = &removing{f}
	}
	return src, closer, err
}

func sized(name string, f *os.File) (Source, io.Closer, error) {
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s is a folder", name)
	}
	if err != nil {
		return Source{}, nil, errors.Join(err, f.Close())
	}
	return Source{Name: name, R: f, Size: st.Size()}, f, nil
}

// removing removes a temporary file after closing it.
type removing struct{ *os.File }

func (r *removing) Close() error { return errors.Join(r.File.Close(), os.Remove(r.Name())) }

// counted tells how far a file has been read.
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

// intake writes the items of one file to the session's tape and its subagents'.
type intake struct {
	ctx   context.Context
	store *repo.Store
	info  Info
	res   *Result
	tapes map[string]*target // by Item.Tape

	err      error // a tape could not be read: nothing may be added
	anySeen  bool  // a record was left out because the tape has it
	repeated int   // items that were left out here
}

// target is a tape that is being imported into. It is nil in intake.tapes while the
// tape does not exist.
type target struct {
	tx   *repo.Tx
	have map[[16]byte]struct{} // keys of the entries that were there before
}

func keyHash(key string) [16]byte {
	sum := sha256.Sum256([]byte(key))
	return [16]byte(sum[:16])
}

func (in *intake) tapeName(sub string) string {
	if sub == "" {
		return in.res.Tape
	}
	return in.res.Tape + "/" + sub
}

// seen looks a key up among those of the tape's entries.
func (in *intake) seen(sub, key string) bool {
	t, err := in.open(sub)
	if err != nil || t == nil {
		return false // add meets the same error and returns it
	}
	_, ok := t.have[keyHash(key)]
	in.anySeen = in.anySeen || ok
	return ok
}

// open returns the target of a tape that exists, nil if it does not.
func (in *intake) open(sub string) (*target, error) {
	if in.err != nil {
		return nil, in.err
	}
	if t, ok := in.tapes[sub]; ok {
		return t, nil
	}
	tape, err := in.store.Tape(in.ctx, in.tapeName(sub))
	if errors.Is(err, repo.ErrNotFound) {
		in.tapes[sub] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return in.begin(sub, tape)
}

// begin takes the tape's lock before it looks at what the tape has, so that of two
// imports of the same file one waits for the other.
func (in *intake) begin(sub string, tape *repo.Tape) (*target, error) {
	tx, err := tape.Begin(in.ctx)
	if err != nil {
		return nil, err
	}
	t := &target{tx: tx, have: map[[16]byte]struct{}{}}
	in.tapes[sub] = t
	in.err = in.learn(t, tape)
	return t, in.err
}

// learn collects the keys of the entries that a tape has.
func (in *intake) learn(t *target, tape *repo.Tape) error {
	var bub BubKeys
	for e, err := range tape.Entries(in.ctx, repo.Query{}) {
		if err != nil {
			return err
		}
		for _, key := range Keys(e.Meta) {
			t.have[keyHash(key)] = struct{}{}
		}
		if in.info.Format == Bub {
			d, err := jsonl.ParseDraft(e.Raw)
			if err != nil {
				return err
			}
			t.have[keyHash(bub.Next(d))] = struct{}{}
		}
	}
	return nil
}

// add writes one item.
func (in *intake) add(item Item) error {
	t, err := in.open(item.Tape)
	if err != nil {
		return err
	}
	if t == nil {
		opened, err := in.create(item)
		if err != nil {
			return err
		}
		if opened {
			in.count(item)
			return nil
		}
		t = in.tapes[item.Tape]
	}
	if item.Entry.Kind == kindAnchor {
		if in.repeatsFirst(item) {
			in.repeated++
			return nil
		}
		a, err := anchorOf(item)
		if err != nil {
			return err
		}
		if _, err := t.tx.Handoff(a); err != nil {
			return err
		}
		in.count(item)
		return nil
	}
	d := repo.Draft{Kind: item.Entry.Kind, Payload: item.Entry.Payload, Meta: item.Entry.Meta, Date: item.Entry.Date}
	if item.Line != nil {
		if d, err = repo.StoredLine(item.Line); err != nil {
			return err
		}
	}
	if _, err := t.tx.Append(d); err != nil {
		return err
	}
	in.count(item)
	return nil
}

func (in *intake) count(item Item) {
	in.res.Imported++
	if item.Entry.Kind == kindAnchor {
		in.res.Anchors++
	}
	if name := in.tapeName(item.Tape); item.Tape != "" && !slices.Contains(in.res.Subagents, name) {
		in.res.Subagents = append(in.res.Subagents, name)
	}
}

// repeatsFirst reports whether an anchor is the opening one at the head of a file.
// The tape has one of its own, so this one stays out, and a whole tape keeps its ids.
func (in *intake) repeatsFirst(item Item) bool {
	return in.res.Imported == 0 && !in.anySeen && in.repeated == 0 &&
		jsonl.GetString(item.Entry.Payload, "name") == repo.FirstAnchor
}

// create makes the tape of an item, and reports whether the item is its opening
// anchor.
func (in *intake) create(item Item) (opened bool, err error) {
	name := in.tapeName(item.Tape)
	first := repo.Anchor{Name: repo.FirstAnchor, Date: in.info.Started, State: in.openingState(item.Tape)}
	if item.Tape != "" {
		first.Date = item.Entry.Date
	}
	if jsonl.GetString(item.Entry.Payload, "name") == repo.FirstAnchor && item.Entry.Kind == kindAnchor {
		if first, err = anchorOf(item); err != nil {
			return false, err
		}
		opened = true
	}
	tape, err := in.store.CreateTapeFrom(in.ctx, name, first)
	if errors.Is(err, repo.ErrConflict) {
		// Another import created it in this moment; what it holds is known once its
		// lock is free.
		opened = false
		tape, err = in.store.Tape(in.ctx, name)
	}
	if err != nil {
		return false, err
	}
	t, err := in.begin(item.Tape, tape)
	if err != nil {
		return false, err
	}
	if len(t.have) > 0 && !opened {
		return false, errRaced
	}
	return opened, nil
}

// errRaced ends an import that another one of the same file overtook after this one
// had begun to read; File begins again.
var errRaced = errors.New("another import of the same session came first; run it again")

func (in *intake) openingState(sub string) json.RawMessage {
	if sub != "" {
		state := jsonl.AppendString([]byte(`{"owner":"agent","parent":`), in.res.Tape)
		return append(state, '}')
	}
	state := []byte(`{"owner":"human"`)
	if jsonl.IsObject(in.info.State) && len(in.info.State) > len("{}") {
		return slices.Concat(state, []byte(","), in.info.State[1:])
	}
	return append(state, '}')
}

func anchorOf(item Item) (repo.Anchor, error) {
	if item.Line != nil {
		return repo.StoredAnchor(item.Line)
	}
	return repo.Anchor{Name: jsonl.GetString(item.Entry.Payload, "name"), State: jsonl.Get(item.Entry.Payload, "state"),
		Meta: item.Entry.Meta, Date: item.Entry.Date}, nil
}

// finish commits every tape, or takes everything back because of cause.
func (in *intake) finish(cause error) error {
	if cause == nil {
		cause = in.err
	}
	subs := slices.Sorted(maps.Keys(in.tapes)) // the session's own tape first
	for _, sub := range subs {
		t := in.tapes[sub]
		if t == nil {
			continue
		}
		if cause == nil {
			cause = t.tx.Checkpoint()
		}
		if cause != nil {
			cause = errors.Join(cause, t.tx.Rollback())
			continue
		}
		if _, err := t.tx.Commit(); err != nil {
			cause = err
		}
	}
	return cause
}
