package repo

import (
	"bytes"
	"errors"
	"hash/crc32"

	"tape/internal/gitstore"
)

// How a file that somebody changed is told from one that was only appended to.
//
// What is committed has its hash in git. What is not is covered by the last writer's
// note, which holds a checksum of each open file up to the size that it then had, or,
// once the file is sealed, by a line in the list of sealed files.

// checksum continues a checksum (from 0) over more bytes.
func checksum(sum uint32, data []byte) uint32 {
	return crc32.Update(sum, crc32.IEEETable, data)
}

// check refuses the content of a file that is not, or does not begin with, what was
// recorded.
func (v *snapshot) check(p phase, file string, data []byte) error {
	tail, noted := v.noted(p, file, len(data))
	if noted && checksum(0, data[:tail.Size]) == tail.Sum {
		return nil
	}
	blob, err := v.committedBlob(p, file, data)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, blob) {
		return &CorruptError{File: v.path(p, file), Line: firstDifference(data, blob),
			Msg: "the line is not the one that was recorded", Fix: v.restoreHint(p)}
	}
	if blob == nil && !noted {
		return v.checkSealed(p, file, data)
	}
	if noted {
		return &CorruptError{File: v.path(p, file), Line: bytes.Count(blob, []byte("\n")) + 1,
			Msg: "this line, or a later one, is not the one that was recorded",
			Fix: "put it back; if the change is meant (it is not committed yet), empty the file " + shellWord(v.notePath) + " while nothing is being recorded"}
	}
	return nil
}

// noted returns what the note says of a file that has a size in bytes.
func (v *snapshot) noted(p phase, file string, size int) (tail, bool) {
	if v.note.Seq != p.seq || v.note.Folder != p.folder {
		return tail{}, false
	}
	c, n, ok := parseSegment(file)
	if !ok || v.note.Tails[c].Seg != n || v.note.Tails[c].Size > int64(size) {
		return tail{}, false
	}
	return v.note.Tails[c], true
}

// committedBlob returns the committed content of a file, or data itself if its hash
// says that they are the same; nil if the file is not committed.
func (v *snapshot) committedBlob(p phase, file string, data []byte) ([]byte, error) {
	if v.head == nil {
		return nil, nil
	}
	committed, err := v.head()
	if err != nil {
		return nil, err
	}
	was, ok := committed.phase(p.seq, p.folder)
	if !ok {
		return nil, nil
	}
	entries, err := committed.tree(was)
	if err != nil {
		return nil, err
	}
	e, ok := findEntry(entries, file)
	if !ok {
		return nil, nil
	}
	if gitstore.HashObject(gitstore.KindBlob, data) == e.Hash {
		return data, nil
	}
	blob, err := committed.git.Blob(e.Hash)
	if errors.Is(err, gitstore.ErrNotFound) {
		err = corruptObject(committed.commit, err)
	}
	return blob, err
}
