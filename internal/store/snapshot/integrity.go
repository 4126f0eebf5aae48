package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// A changed file is told from one that was only appended to as follows. Committed content has a hash in git.
// For uncommitted content, the last writer's record has a checksum of each open file up to the size that it
// had then, and the list of sealed files has a checksum of each sealed file.

// Checksum continues a checksum, from 0, with more bytes.
func Checksum(sum uint32, data []byte) uint32 {
	return crc32.Update(sum, crc32.IEEETable, data)
}

// check refuses the content of a file that does not begin with what was recorded.
func (v *Snapshot) check(p layout.Phase, file string, data []byte) error {
	tail, recorded := v.recorded(p, file, len(data))
	if recorded && Checksum(0, data[:tail.Size]) == tail.Sum {
		return nil
	}
	blob, err := v.committedBlob(p, file, data)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, blob) {
		if err := v.converted(p, file, data, blob); err != nil {
			return err
		}
		return &layout.CorruptError{File: v.Path(p, file), Line: layout.FirstDifference(data, blob),
			Msg: "the line is not the one that was recorded"}
	}
	if c, n, ok := layout.ParseSegment(file); blob == nil && !recorded && ok && v.Sealed != nil && n < len(v.Last[c]) {
		return CheckSealed(v.Sealed(), v.Path(p, file), data)
	}
	if recorded {
		return &layout.CorruptError{File: v.Path(p, file), Line: bytes.Count(blob, []byte("\n")) + 1,
			Msg: "this line, or a later one, is not the one that was recorded"}
	}
	return nil
}

// recorded returns what the record says about a file; false if it says nothing, or if the file is shorter than
// recorded.
func (v *Snapshot) recorded(p layout.Phase, file string, size int) (journal.Tail, bool) {
	if v.rec.Seq != p.Seq || v.rec.Folder != p.Folder {
		return journal.Tail{}, false
	}
	c, n, ok := layout.ParseSegment(file)
	if !ok || v.rec.Tails[c].Seg != n || v.rec.Tails[c].Size > int64(size) {
		return journal.Tail{}, false
	}
	return v.rec.Tails[c], true
}

// committedBlob returns the committed content of a file, data itself if the hashes are equal, and nil if the
// file is not committed.
func (v *Snapshot) committedBlob(p layout.Phase, file string, data []byte) ([]byte, error) {
	if v.head == nil {
		return nil, nil
	}
	committed, err := v.head()
	if err != nil {
		return nil, err
	}
	was, ok := committed.Phase(p.Seq, p.Folder)
	if !ok {
		return nil, nil
	}
	entries, err := committed.Tree(was)
	if err != nil {
		return nil, err
	}
	e, ok := layout.FindEntry(entries, file)
	if !ok {
		return nil, nil
	}
	if gitstore.HashObject(gitstore.KindBlob, data) == e.Hash {
		return data, nil
	}
	blob, err := committed.Git.Blob(e.Hash)
	if errors.Is(err, gitstore.ErrNotFound) {
		err = layout.CorruptObject(committed.Commit, err)
	}
	return blob, err
}

// A file that is sealed but not committed is covered neither by git nor by the record, which has only open
// files. So a list has a line for each such file: its name, size and checksum. The list is not synced: a file
// without a line is not checked, and torn lines are skipped. If a file has several lines, the last counts.

// SealsPath returns the path of the list of sealed files that are not committed.
func SealsPath(t *workspace.Tape) string { return t.Store().PrivatePath("seals", t.Slug()) }

// RemoveSeals forgets the checksums of a tape's sealed files, when it is removed or gets another history.
func RemoveSeals(t *workspace.Tape) { _ = t.Store().FS().Remove(SealsPath(t)) }

// SealedFile adds a newly sealed file to the list. If that fails, the file is not checked until it is
// committed.
func SealedFile(t *workspace.Tape, folder, name string, size int64, sum uint32) {
	d, path := t.Store().FS(), SealsPath(t)
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return
	}
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(fmt.Appendf(nil, "\n%s/%s %d %08x\n", folder, name, size, sum)) // the line before may be torn
	_ = f.Close()
}

// Seals reads the list: "size checksum" by folder/file.
func Seals(t *workspace.Tape) map[string]string {
	raw, err := os.ReadFile(SealsPath(t))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line, ended := strings.CutSuffix(line, "\n")
		file, seal, _ := strings.Cut(line, " ")
		if _, sum, _ := strings.Cut(seal, " "); ended && len(sum) == 8 {
			out[file] = seal
		}
	}
	return out
}

// CheckSealed refuses a sealed file that differs from its line in the list.
func CheckSealed(seals map[string]string, path string, data []byte) error {
	seal, ok := seals[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)]
	if !ok || seal == fmt.Sprintf("%d %08x", len(data), Checksum(0, data)) {
		return nil
	}
	return &layout.CorruptError{File: path,
		Msg: "the sealed file is not as it was recorded: a line in it was changed or is missing"}
}
