package importer

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// errParts means that a file has several sessions, which were imported one by one.
var errParts = errors.New("it has several sessions")

// source opens a file. One session of a file that is already open is returned as it is.
func (b *Batch) source(out *outcome) (record.Source, io.Closer, error) {
	if out.part != nil {
		return *out.part, io.NopCloser(nil), nil
	}
	if src, closer, ok, err := openSession(out.res.File, &b.copied); ok {
		return src, closer, err
	}
	return b.open(out.res.File)
}

// parts imports the sessions of a file with several: a JSON array of sessions, or an archive with such arrays. many
// reports whether the file is one of these. The sessions are durable before the file is closed.
func (b *Batch) parts(ctx context.Context, src record.Source, out *outcome) (many bool, err error) {
	if out.part != nil || out.o.live || out.o.again != nil {
		return false, nil
	}
	head := make([]byte, min(src.Size, 512))
	if _, err := src.R.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	lists := []record.Source{src}
	switch {
	case len(head) > 4 && string(head[:4]) == "PK\x03\x04":
		var unpacked closers
		if lists, unpacked, err = unpack(ctx, src); err != nil {
			return true, layout.Invalid("", "import %s: %v", display.Quoted(src.Name), err)
		}
		defer func() { err = errors.Join(err, unpacked.Close()) }()
	case !record.IsList(head):
		return false, nil
	default:
		f, _, err := formatOf(src, out.o, &out.res)
		if err != nil || !f.Many {
			return false, nil //nolint:nilerr // describe returns the error
		}
	}
	return true, b.lists(ctx, lists, *out, src.Size)
}

// lists imports the sessions of JSON arrays. size is the size of the file in bytes, for the progress.
func (b *Batch) lists(ctx context.Context, lists []record.Source, whole outcome, size int64) error {
	found := make([][]session, len(lists))
	total := 0
	for i, src := range lists {
		f, head, err := formatOf(src, whole.o, &whole.res)
		if err != nil {
			return err
		}
		if !f.Many {
			return fmt.Errorf("import %s: %w", src.Name, ErrUnknownFormat)
		}
		whole.o.Format, whole.res.Format = f.Name, f.Name
		if found[i], err = sessionsIn(ctx, src, record.IsList(head)); err != nil {
			return err
		}
		total += len(found[i])
	}
	if whole.o.Tape != "" && total > 1 {
		return layout.Invalid("leave out --tape", "%s has %d sessions, and --tape names one tape", display.Quoted(whole.res.File), total)
	}
	whole.key, whole.res.Sessions = "", total
	progress, done := whole.o.Progress, 0
	whole.o.Progress = nil
	for i, src := range lists {
		for n, s := range found[i] {
			if err := b.session(ctx, src, s, n, whole); err != nil {
				return err
			}
			if done++; progress != nil {
				progress(size*int64(done)/int64(total), size)
			}
		}
	}
	return b.Flush(ctx)
}

// session imports session n of an array, counted from 0.
func (b *Batch) session(ctx context.Context, src record.Source, s session, n int, out outcome) error {
	part := src
	part.R, part.Size = io.NewSectionReader(src.R, s.at.Off, s.at.Size), s.at.Size
	out.part = &part
	if s.problem == nil {
		info, err := Describe(ctx, out.o.Formats.Find(out.o.Format), part)
		if err == nil && !info.Named && out.o.Tape == "" {
			err = fmt.Errorf("session %d has no id", n+1)
		}
		s.problem = err
	}
	if s.problem != nil {
		out.err = layout.Invalid("", "import %s: %v", display.Quoted(src.Name), s.problem)
		b.pending = append(b.pending, out)
		return nil
	}
	if err := b.add(ctx, out); err != nil {
		return err
	}
	if len(b.pending) >= maxFiles || b.size >= maxSize {
		return b.Flush(ctx)
	}
	return nil
}

// session is the place of a session in an array, or the reason why it cannot be read.
type session struct {
	at      record.Span
	problem error
}

func sessionsIn(ctx context.Context, src record.Source, list bool) (found []session, err error) {
	if !list {
		return []session{{at: record.Span{Size: src.Size}}}, nil
	}
	err = record.Sessions(ctx, src, func(at record.Span, problem error) { found = append(found, session{at, problem}) })
	return found, err
}

// The limits for archives. Text shrinks to about a tenth of its size, hardly ever to a hundredth.
const (
	maxRatio      = 100
	maxUnmeasured = 16 << 20 // up to this size in bytes, the ratio is not checked
)

type closers []io.Closer

func (c closers) Close() (err error) {
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
}

// unpack returns the arrays in an archive: conversations.json, or several such files with numbers. They are unpacked
// to temporary files, whose names do not come from the archive.
func unpack(ctx context.Context, src record.Source) (lists []record.Source, all closers, err error) {
	archive, err := zip.NewReader(src.R, src.Size)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Close())
		}
	}()
	var total uint64
	for _, f := range archive.File {
		name := path.Base(f.Name)
		if numbered, _ := path.Match("conversations-*.json", name); name != "conversations.json" && !numbered {
			continue
		}
		if total += f.UncompressedSize64; total > maxUnmeasured && total/maxRatio > uint64(src.Size) || total < f.UncompressedSize64 {
			return nil, all, fmt.Errorf("unpacked, it would have more than %d times its size; unpack %s yourself if you trust it", maxRatio, display.Quoted(name))
		}
		list, closer, err := unpackFile(ctx, f)
		if err != nil {
			return nil, all, fmt.Errorf("unpack %s: %w", display.Quoted(name), err)
		}
		list.Name = src.Name
		lists, all = append(lists, list), append(all, closer)
	}
	if lists == nil {
		return nil, all, errors.New("the archive has no file conversations.json")
	}
	return lists, all, nil
}

func unpackFile(ctx context.Context, f *zip.File) (src record.Source, closer io.Closer, err error) {
	in, err := f.Open()
	if err != nil {
		return src, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	// At most one byte more than the archive says is read: that shows a wrong size.
	src, closer, err = temporary(f.Name, &interruptible{ctx, io.LimitReader(in, int64(min(f.UncompressedSize64, 1<<62))+1)})
	if err == nil && src.Size != int64(f.UncompressedSize64) {
		err = errors.Join(errors.New("its size is not the one that the archive says"), closer.Close())
	}
	return src, closer, err
}

type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// temporary copies what a reader returns to a temporary file, which the closer removes.
func temporary(name string, in io.Reader) (record.Source, io.Closer, error) {
	f, err := os.CreateTemp("", "tape-import-*")
	if err != nil {
		return record.Source{}, nil, err
	}
	var closer io.Closer = &tempFile{f}
	// If the system can remove an open file, a crash leaves nothing behind.
	if os.Remove(f.Name()) == nil {
		closer = f
	}
	if _, err := io.Copy(f, in); err != nil {
		return record.Source{}, nil, errors.Join(err, closer.Close())
	}
	return sized(name, f, closer)
}
