package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
)

// bookmark says where to continue reading a transcript that is being written, if nothing in it has
// changed since. It is a cache, with a file for each transcript.
type bookmark struct {
	Version int    // of this, and of what the readers keep in State
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
	bookmarkVersion = 1
	// checked is how many bytes at the beginning, and before the offset, are compared.
	checked = 4 << 10
	// kept is how long an unused bookmark is kept.
	kept = 30 * 24 * time.Hour
)

func bookmarkPath(s *workspace.Store, path string) string {
	sum := sha256.Sum256([]byte(path))
	return s.PrivatePath(bookmarks, fmt.Sprintf("%x", sum[:16]))
}

// loadBookmark returns the bookmark of a transcript if the file still begins as it did.
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

// dropBookmarks removes the bookmarks that were not used for a month.
func dropBookmarks(s *workspace.Store, dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > kept {
			_ = s.FS().Remove(filepath.Join(dir, e.Name()))
		}
	}
}
