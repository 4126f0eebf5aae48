package writer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/resolve"
	"tape/internal/snapshot"
)

// openFile is a lastFile that is written to the working tree.
type openFile struct {
	resolve.LastFile
	file *disk.File
}

// Tail returns the file that the next entry of a class goes to.
func (tx *Tx) tail(c layout.Class) (*openFile, error) {
	if tx.open[c] != nil {
		return tx.open[c], nil
	}
	was := tx.w.rec.Tails[c]
	file := &openFile{LastFile: resolve.LastFile{N: max(was.Seg, 1)}}
	if was.Seg > 0 {
		data, err := os.ReadFile(tx.w.phasePath(layout.SegmentName(c, was.Seg)))
		if err != nil {
			return nil, err
		}
		if int64(len(data)) != was.Size {
			return nil, fmt.Errorf("%s has changed while it was locked", layout.SegmentName(c, was.Seg))
		}
		file.Data, file.Written = data, len(data)
	}
	tx.open[c] = file
	return file, nil
}

// seal finishes a full file and begins the next one. Where there is a processor to
// spare, the full one's blob is written beside the work that follows; the commit
// writes those that are missing.
func (tx *Tx) seal(c layout.Class) (*openFile, error) {
	file := tx.open[c]
	if err := tx.flush(c); err != nil {
		return nil, err
	}
	tx.syncLater(file)
	snapshot.SealedFile(tx.w.T, tx.w.rec.Folder, layout.SegmentName(c, file.N), int64(len(file.Data)), tx.w.rec.Tails[c].Sum)
	if h, ok := tx.Objects().TryPut(gitstore.KindBlob, file.Data); ok {
		tx.sealed[layout.SegmentName(c, file.N)] = h
	}
	tx.open[c] = &openFile{LastFile: resolve.LastFile{N: file.N + 1, Data: make([]byte, 0, layout.SealSize+layout.SealSize/8)}}
	return tx.open[c], nil
}

// flush writes what a class's open file has in memory only.
func (tx *Tx) flush(c layout.Class) error {
	file := tx.open[c]
	if file == nil || file.Written == len(file.Data) {
		return nil
	}
	if file.file == nil {
		path := tx.w.phasePath(layout.SegmentName(c, file.N))
		if file.Written == 0 {
			tx.dirs[filepath.Dir(path)] = true
		}
		f, err := tx.w.T.Store().FS().OpenFile(path, os.O_WRONLY|os.O_CREATE, disk.FilePerm)
		if err != nil {
			return err
		}
		file.file = f
	}
	if _, err := file.file.WriteAt(file.Data[file.Written:], int64(file.Written)); err != nil {
		return err
	}
	file.Written = len(file.Data)
	return nil
}

// syncLater syncs and closes a file that was written to, beside other work.
func (tx *Tx) syncLater(file *openFile) {
	f := file.file
	if f == nil {
		return
	}
	file.file = nil
	tx.syncing.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
}

// FlushAll brings everything that was appended so far to the files, and on its way to
// the disk.
func (tx *Tx) flushAll() error {
	for c := range tx.open {
		if err := tx.flush(layout.Class(c)); err != nil {
			return err
		}
		if tx.open[c] != nil {
			tx.syncLater(tx.open[c])
		}
	}
	return nil
}

// checkStands makes sure that git has not written over the files.
func (tx *Tx) checkStands(ctx context.Context) error {
	if err := tx.w.awaitGit(ctx); err != nil {
		return err
	}
	for c, file := range tx.open {
		if file == nil || file.Written == 0 {
			continue
		}
		name := layout.SegmentName(layout.Class(c), file.N)
		if size, err := snapshot.SizeOf(tx.w.phasePath(name)); err != nil || size != int64(file.Written) {
			return layout.Conflict("try again", "git has written %s in the meantime", name)
		}
	}
	return nil
}
