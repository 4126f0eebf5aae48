package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"tape/hooks"
)

// pageBytes is how many bytes a tool shows at once. With fewer than [LongestResult], a page does not become an
// artifact.
const pageBytes = 15_000

// Limits of fs.read.
const (
	defaultLines = 2000
	lineBytes    = 2000      // shown of a line
	sniffBytes   = 8 << 10   // read to find out whether a file is text
	maxScanned   = 512 << 20 // bytes that are read at most, also to find the first line that is shown
)

// files has the tools that read and write the project's files.
type files struct {
	dir     string
	writing sync.Mutex // held by a write, and from an edit's read to its write
}

func (f *files) tools() []hooks.Tool {
	path := `"path":{"type":"string","minLength":1,"description":"in the project"}`
	read := definePreviewed("fs.read", "Read a text file of the project, with line numbers, or list a folder.",
		path+`,"offset":{"type":"integer","minimum":1,"description":"first line, default 1"},`+
			`"limit":{"type":"integer","minimum":1,"description":"lines, default 2000"}`, []string{"path"}, f.previewRead, f.read)
	read.Reads = true
	return []hooks.Tool{
		read,
		definePreviewed("fs.write", "Write a text file of the project: create it, or replace all of it.",
			path+`,"content":{"type":"string"}`, []string{"path", "content"}, f.previewWrite, f.write),
		definePreviewed("fs.edit", "Replace text in a file of the project. old must be exactly what the file has, without line numbers, and only once there, unless all is true.",
			path+`,"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean","description":"replace every occurrence"}`,
			[]string{"path", "old", "new"}, f.previewEdit, f.edit),
	}
}

// open opens the project, and returns the path's name in it, with links resolved as far as the
// path exists.
func (f *files) open(path string) (root *os.Root, name string, err error) {
	if strings.ContainsRune(path, 0) {
		return nil, "", errors.New("a path cannot have a NUL byte")
	}
	dir, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return nil, "", fmt.Errorf("open the project: %w", err)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	real, err := resolve(filepath.Clean(path))
	if err != nil {
		return nil, "", err
	}
	if name, err = filepath.Rel(dir, real); err != nil || !filepath.IsLocal(name) {
		return nil, "", fmt.Errorf("%s is outside of the project %s; bash can reach it", clip(path, 200), f.dir)
	}
	root, err = os.OpenRoot(dir)
	return root, name, err
}

// resolve resolves the links of a path as far as it exists.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		if real, err = resolve(parent); err == nil {
			real = filepath.Join(real, filepath.Base(path))
		}
	}
	return real, err
}

// regular opens a regular file, and does not block on a pipe.
func regular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if err := refuse(root.Stat(name)); err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err := refuse(info, err); err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// refuse returns an error unless info describes a regular file. It passes on err, that of the Stat.
func refuse(info fs.FileInfo, err error) error {
	switch failed := (*fs.PathError)(nil); {
	case errors.As(err, &failed):
		return failed.Err // the caller names the file
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a file", info.Name())
	case info.Mode()&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a named pipe, not a file", info.Name())
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is a device or a socket (%s), not a file", info.Name(), info.Mode().Type())
	}
	return nil
}

// notText returns nil if head, the beginning of some data, is UTF-8 text; otherwise an error that names its type.
func notText(head []byte) error {
	if bytes.IndexByte(head, 0) < 0 && utf8.Valid(wholeRunes(head)) {
		return nil
	}
	kind := http.DetectContentType(head)
	if strings.HasPrefix(kind, "text/") {
		kind = "text in another encoding"
	}
	return fmt.Errorf("it is not UTF-8 text, but looks like %s; bash has programs for it", kind)
}

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (f *files) read(ctx context.Context, _ hooks.ToolContext, a readArgs) (string, error) {
	root, name, err := f.open(a.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return list(root, name, max(1, a.Offset), cmp.Or(a.Limit, defaultLines))
	}
	file, _, err := regular(root, name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", clip(a.Path, 200), err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 64<<10)
	head, err := r.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", clip(a.Path, 200), err)
	}
	if err := notText(head); err != nil {
		return "", fmt.Errorf("read %s: %w", clip(a.Path, 200), err)
	}
	if a.Limit == 0 {
		a.Limit = defaultLines
	}
	text, err := page(ctx, r, max(1, a.Offset), a.Limit)
	if err == nil && bytes.Contains(head, []byte("\r\n")) {
		text += "(its lines end in CR LF; fs.edit keeps that)\n"
	}
	return text, err
}

// list shows at most limit names in a folder, beginning with the one whose number is from.
func list(root *os.Root, name string, from, limit int) (string, error) {
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(name))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, e := range entries {
		if i+1 < from {
			continue
		}
		if i+1-from >= limit || out.Len() > pageBytes-lineBytes {
			fmt.Fprintf(&out, "(%d more follow: read on with offset=%d)\n", len(entries)-i, i+1)
			break
		}
		mark := ""
		switch {
		case e.IsDir():
			mark = "/"
		case e.Type()&fs.ModeSymlink != 0:
			mark = " (a link)"
		}
		fmt.Fprintln(&out, toText([]byte(e.Name()))+mark)
	}
	if len(entries) == 0 {
		return "(the folder is empty)\n", nil
	}
	return out.String(), nil
}

// page shows at most limit lines of a text with their numbers, beginning with the line whose number is from.
func page(ctx context.Context, r *bufio.Reader, from, limit int) (string, error) {
	var out strings.Builder
	scanned := 0
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if n-from >= limit || out.Len() > pageBytes-lineBytes {
			if _, err := r.Peek(1); err == nil {
				fmt.Fprintf(&out, "(more follows: read on with offset=%d)\n", n)
			}
			return out.String(), nil
		}
		line, size, err := readLine(ctx, r, maxScanned-scanned)
		if errors.Is(err, io.EOF) && size == 0 {
			return out.String() + ending(n-1, from), nil
		}
		if scanned += size; scanned > maxScanned {
			return "", fmt.Errorf("line %d ends more than %d MiB into the file; use bash with tail or cut", max(n, from), maxScanned>>20)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if n >= from {
			fmt.Fprintf(&out, "%6d\t%s\n", n, line)
		}
	}
}

// ending returns a note if a text of so many lines has no line with the number from; otherwise "".
func ending(lines, from int) string {
	switch {
	case lines == 0:
		return "(the file is empty)\n"
	case from > lines:
		return fmt.Sprintf("(the file ends with line %d)\n", lines)
	}
	return ""
}

// readLine reads a line, or a little more than limit bytes of it, and returns at most lineBytes of
// it. size is how much was read.
func readLine(ctx context.Context, r *bufio.Reader, limit int) (text string, size int, err error) {
	var kept []byte
	for {
		piece, err := r.ReadSlice('\n')
		size += len(piece)
		kept = append(kept, piece[:min(len(piece), lineBytes+1-len(kept))]...)
		if errors.Is(err, bufio.ErrBufferFull) && size <= limit {
			if err := ctx.Err(); err != nil {
				return "", size, err
			}
			continue
		}
		text := strings.TrimRight(toText(wholeRunes(kept)), "\r\n")
		if size > len(kept) {
			text = fmt.Sprintf("%s… [%d more bytes]", text, size-len(kept))
		}
		return text, size, err
	}
}
