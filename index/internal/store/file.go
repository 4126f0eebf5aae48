package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"tape/internal/git/disk"
)

// State is the state of the file at the path of an index.
type State string

// States of the file.
const (
	Absent   State = "absent"
	Fresh    State = "fresh" // an index of this version
	Outdated State = "outdated"
	Damaged  State = "damaged"
	Foreign  State = "foreign" // not made by this program
)

// StateOf returns the state of a file. It reads only the header, without opening a database: SQLite's file
// format has its magic at offset 0, user_version at 60 and application_id at 68.
func (a View) StateOf(path string) (State, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // before it is opened: it may be a pipe
		return Foreign, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	defer f.Close()
	var head [100]byte
	n, err := io.ReadFull(f, head[:])
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return Damaged, nil // an empty file is not worth keeping
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return Absent, err
	case string(head[:16]) != "SQLite format 3\x00" || binary.BigEndian.Uint32(head[68:]) != applicationID:
		return Foreign, nil
	case binary.BigEndian.Uint32(head[60:]) != a.schema():
		return Outdated, nil
	}
	return Fresh, nil
}

// scratchPattern is the pattern of the names of a build's temporary files.
const scratchPattern = "index-*.db"

// openScratch opens a temporary database. It has no journal, because it is thrown away if anything fails.
func openScratch(path string) (*DB, error) {
	return Open(path, "page_size("+strconv.Itoa(PageSize)+")", "journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)")
}

// Build makes a new index in the folder dir, and replaces the file index with it. With extend, it begins with a copy
// of that file. Until the new one is complete, the old one stays. Build returns how many entries it added.
func (a View) Build(ctx context.Context, index, dir string, extend bool, tapes []*Target, progress func(entries int64)) (int64, error) {
	for _, path := range disk.Glob(dir, scratchPattern+"*") { // of builds that were killed
		_ = os.Remove(path)
	}
	f, err := os.CreateTemp(dir, scratchPattern)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the rename there is nothing to remove
	if extend {
		err = copyTo(f, index)
	}
	var added int64
	if err == nil {
		added, err = a.fillFile(ctx, f.Name(), !extend, tapes, progress)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	// The old journal must never be found beside another database, so it goes before the new file comes.
	if err := Remove(index); err != nil {
		return added, err
	}
	return added, os.Rename(f.Name(), index)
}

func copyTo(out *os.File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}

func (a View) fillFile(ctx context.Context, path string, empty bool, tapes []*Target, progress func(entries int64)) (int64, error) {
	d, err := openScratch(path)
	if err != nil {
		return 0, err
	}
	d.View, d.scratch = a, filepath.Dir(path)
	var added int64
	if empty {
		added, err = d.Fill(ctx, tapes, progress)
	} else {
		added, err = d.CatchUp(ctx, tapes, progress)
	}
	return added, errors.Join(err, d.Close())
}

// Fill makes an index of tapes in an empty database. It returns how many entries it added.
func (d *DB) Fill(ctx context.Context, tapes []*Target, progress func(entries int64)) (int64, error) {
	if err := d.Script(schema(d.View)); err != nil {
		return 0, err
	}
	added, err := d.CatchUp(ctx, tapes, progress)
	if err == nil {
		err = d.Script(lateIndexes)
	}
	return added, err
}

// Remove removes an index, if there is one.
func Remove(path string) error {
	for _, old := range []string{path, path + "-journal", path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
