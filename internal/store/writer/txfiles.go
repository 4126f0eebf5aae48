package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
)

// load reads the file that the next entry of a class goes to.
func (tx *treeTx) load(c layout.Class) (resolve.LastFile, error) {
	tail := tx.w.rec.Tails[c]
	if tail.Seg == 0 {
		return resolve.LastFile{N: 1}, nil
	}
	name := layout.SegmentName(c, tail.Seg)
	data, err := os.ReadFile(tx.w.phasePath(name))
	if err == nil && int64(len(data)) != tail.Size {
		err = fmt.Errorf("%s has changed while it was locked", name)
	}
	return resolve.LastFile{N: tail.Seg, Data: data, Stored: len(data), Written: len(data)}, err
}

// seal finishes a full file. If a processor is free, its blob is written in the background; otherwise it is written
// now if the Tx has loaded the branch's tree, and else by the next commit.
func (tx *treeTx) seal(c layout.Class, file *resolve.LastFile) error {
	if err := tx.flush(c, file); err != nil {
		return err
	}
	name, folder := layout.SegmentName(c, file.N), tx.w.rec.Folder
	snapshot.SealedFile(tx.w.T, folder, name, int64(len(file.Data)), tx.w.rec.Tails[c].Sum)
	h, ok := tx.batch.TryPut(gitstore.KindBlob, file.Data)
	if !ok && tx.commits != nil {
		h, ok = tx.batch.Put(gitstore.KindBlob, file.Data), true
	}
	if ok {
		tx.b.SetFile(&tx.b.Phase, folder, name, h, len(file.Data))
	}
	return nil
}

// flush writes the part of a file that is only in memory, and syncs the file in the background.
func (tx *treeTx) flush(c layout.Class, file *resolve.LastFile) error {
	if file == nil || file.Written == len(file.Data) {
		return nil
	}
	path := tx.w.phasePath(layout.SegmentName(c, file.N))
	if file.Written == 0 {
		tx.dirs[filepath.Dir(path)] = true
	}
	f, err := tx.w.T.Store().FS().OpenFile(path, os.O_WRONLY|os.O_CREATE, disk.FilePerm)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(file.Data[file.Written:], int64(file.Written)); err != nil {
		return errors.Join(err, f.Close())
	}
	file.Written = len(file.Data)
	tx.syncLater(f)
	return nil
}

// syncLater syncs and closes a file in the background.
func (tx *treeTx) syncLater(f *disk.File) {
	tx.syncing.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
}

// flushAll flushes the last file of each class.
func (tx *treeTx) flushAll() error {
	for c, file := range tx.b.Open {
		if err := tx.flush(layout.Class(c), file); err != nil {
			return err
		}
	}
	return nil
}

// checkIntact checks by their sizes that git has not overwritten the files.
func (tx *treeTx) checkIntact(ctx context.Context) error {
	if err := tx.w.awaitGit(ctx); err != nil {
		return err
	}
	for c, file := range tx.b.Open {
		if file == nil || file.Written == 0 {
			continue
		}
		name := layout.SegmentName(layout.Class(c), file.N)
		size, err := snapshot.SizeOf(tx.w.phasePath(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if size != int64(file.Written) {
			return layout.Conflict("try again", "git has written %s in the meantime", name)
		}
	}
	return nil
}

func (tx *treeTx) closeFolder() error { return errors.Join(tx.flushAll(), tx.keepArtifacts()) }

func (tx *treeTx) openFolder(anchor []byte) error {
	w, d := tx.w, tx.w.T.Store().FS()
	if err := d.Mkdir(w.phasePath()); err != nil {
		return err
	}
	tx.dirs[w.AnchorsPath()], tx.dirs[w.phasePath()] = true, true
	f, err := d.OpenFile(w.phasePath(layout.AnchorFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(anchor); err != nil {
		return errors.Join(err, f.Close())
	}
	tx.syncLater(f)
	return nil
}
