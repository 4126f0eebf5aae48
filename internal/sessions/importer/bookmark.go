package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
	"tape/repo"
)

// bookmark says where to continue reading a transcript that is being written, if nothing in it has
// changed since. It is a cache, with a file for each transcript.
type bookmark struct {
	Version int    // of this struct, and of what the readers keep in State
	Program string // the program's version
	Format  string
	Tape    string
	Head    string // commit of the tape's branch
	Entries int64  // the tape's last id
	Size    int64  // the file's size
	Before  []byte // see func before

	record.Restart
}

const (
	bookmarks       = "bookmarks" // a folder in .git/tape
	bookmarkVersion = 2
	// checked is how many bytes at the beginning, and before the offset, are compared.
	checked = 4 << 10
	// kept is how long an unused bookmark is kept.
	kept = 30 * 24 * time.Hour
)

func bookmarkPath(s *workspace.Store, path string) string {
	sum := sha256.Sum256([]byte(path))
	return s.PrivatePath(bookmarks, fmt.Sprintf("%x", sum[:16]))
}

// loadBookmark returns the bookmark of a transcript, and whether it can be used: the file has not become shorter, and
// what is compared has not changed.
func loadBookmark(s *workspace.Store, path string, src record.Source) (bookmark, bool) {
	var b bookmark
	raw, err := os.ReadFile(bookmarkPath(s, path))
	if err != nil || json.Unmarshal(raw, &b) != nil || b.Version != bookmarkVersion {
		return b, false // usually there is none
	}
	if src.Size < b.Size || b.Off > b.Size {
		return b, false
	}
	sum, err := before(src.R, b.Off)
	return b, err == nil && bytes.Equal(sum, b.Before)
}

// before returns a hash of the beginning of a file and of the bytes before an offset.
func before(r io.ReaderAt, off int64) ([]byte, error) {
	h := sha256.New()
	for _, from := range []int64{0, max(0, off-checked)} {
		if _, err := io.Copy(h, io.NewSectionReader(r, from, min(checked, off-from))); err != nil {
			return nil, err
		}
	}
	return h.Sum(nil), nil
}

// saveBookmark saves where to continue. If that fails, the next import only takes longer.
func saveBookmark(s *workspace.Store, path string, src record.Source, b bookmark, at *record.Restart) {
	var err error
	if b.Before, err = before(src.R, at.Off); err != nil {
		return
	}
	b.Version, b.Size = bookmarkVersion, src.Size
	b.Restart = *at
	raw, err := json.Marshal(b)
	if err != nil {
		return
	}
	name := bookmarkPath(s, path)
	if _, err := os.Stat(name); err != nil {
		if s.FS().MkdirAll(filepath.Dir(name)) != nil {
			return
		}
		dropBookmarks(s, filepath.Dir(name))
	}
	_ = s.FS().WriteFile(name, raw)
}

// Forget removes the bookmarks and import marks of a tape and of those below it: they have parts of its transcripts.
func Forget(store *repo.Store, tape string) error {
	s := (*workspace.Store)(store)
	concerns := func(name string) bool { return name == tape || strings.HasPrefix(name, tape+"/") }
	list, _ := os.ReadDir(s.PrivatePath(bookmarks)) // usually there is none
	for _, e := range list {
		path := s.PrivatePath(bookmarks, e.Name())
		var b bookmark
		if raw, err := os.ReadFile(path); err != nil || json.Unmarshal(raw, &b) == nil && !concerns(b.Tape) {
			continue
		}
		if err := s.FS().Remove(path); err != nil {
			return err
		}
	}
	raw, err := os.ReadFile(s.PrivatePath(marksFile))
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	var out []byte
	for line := range bytes.Lines(raw) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), "\t", 7)
		if name, err := strconv.Unquote(fields[len(fields)-1]); len(fields) == 7 && err == nil && concerns(name) {
			continue
		}
		out = append(out, line...)
	}
	if len(out) == len(raw) {
		return nil
	}
	return s.FS().WriteFile(s.PrivatePath(marksFile), out)
}

// dropBookmarks removes the bookmarks that were not used for a month.
func dropBookmarks(s *workspace.Store, dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > kept {
			_ = s.FS().Remove(filepath.Join(dir, e.Name()))
		}
	}
}
