package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Record is what the last writer of a tape left in the tape's lock file.
//
// Most of it is a cache: where the open phase ended, so that the next writer need not read the phase again.
// It counts only while the branch and the files' sizes and times are the same; otherwise everything is
// read.
//
// Undo is not a cache. It is written and synced before a change of more than one line, and has the former
// state of the tape. Until it is cleared, readers see the old state. The next writer undoes an interrupted
// change, or completes it if the branch has moved to Next.
//
// The file has two slots. Each holds one line that begins with a checksum, and the newer valid line counts.
// The slot of the last synced record is never written to, so the previous record survives a crash during a
// write.
type Record struct {
	Version   int                     `json:"v"`
	Count     uint64                  `json:"n"`      // grows with each record; odd ones go into the second slot
	Synced    bool                    `json:"synced"` // this record was synced
	Gen       uint64                  `json:"gen"`    // number of changes that had an Undo
	Branch    string                  `json:"branch"`
	Head      string                  `json:"head"`      // the branch's commit
	Home      string                  `json:"home"`      // the working tree, relative to the workspace
	Committed int64                   `json:"committed"` // last id in that commit
	Seq       int                     `json:"seq"`       // the open phase
	Folder    string                  `json:"folder"`
	Anchor    string                  `json:"anchor"` // its anchor's name; "" if too long for the record
	LastID    int64                   `json:"last_id"`
	Owner     string                  `json:"owner,omitempty"` // the author of the tape's first commit; "" if unknown
	Tails     [layout.ClassCount]Tail `json:"tails"`
	DirTime   int64                   `json:"dir_time"`   // of anchors/, ns
	PhaseTime int64                   `json:"phase_time"` // of the open phase's folder, ns
	IndexTime int64                   `json:"index_time"` // of git's index of the working tree, ns
	Undo      *Undo                   `json:"undo,omitempty"`

	// UnsyncedClear: this record was not synced, and clears a synced Undo. After a power cut, the Undo could
	// be the newest record on disk again, and undo what was appended since.
	UnsyncedClear bool `json:"-"`
}

// Tail is the last file of a class in the open phase.
type Tail struct {
	Seg  int    `json:"seg"`            // 0: the class has no file yet
	Size int64  `json:"size"`           // bytes
	Time int64  `json:"time,omitempty"` // modification time, ns
	Sum  uint32 `json:"sum,omitempty"`  // CRC-32 of those bytes
}

// Undo is the state of a tape before a change of several steps.
type Undo struct {
	Head   string                  `json:"head"`
	Next   string                  `json:"next,omitempty"` // the commit that completes the change
	Seq    int                     `json:"seq"`
	Folder string                  `json:"folder"`
	Tails  [layout.ClassCount]Tail `json:"tails"`
	// Checkout: when the branch is at Next, the working tree is rewritten from it.
	Checkout bool `json:"checkout,omitempty"`
	// From, with Checkout: the commit that the working tree equals. Files that both commits share are
	// not rewritten.
	From string `json:"from,omitempty"`
}

// The format of a record on disk.
const (
	stateVersion = 6
	slotSize     = 8 << 10 // bytes
	maxName      = 512     // bytes; longer names of anchors and people are left out
)

func encode(st Record) ([]byte, error) {
	st.Version = stateVersion
	if len(st.Anchor) > maxName {
		st.Anchor = ""
	}
	if len(st.Owner) > maxName {
		st.Owner = ""
	}
	raw, err := json.Marshal(st)
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(raw), raw), err
}

// decode parses a record. The Count is 0 unless the record is complete and of this version.
func decode(raw []byte) (st Record) {
	line, _, ended := bytes.Cut(raw, []byte("\n"))
	sum, body, ok := bytes.Cut(line, []byte(" "))
	if !ok || !ended || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)) {
		return Record{}
	}
	if json.Unmarshal(body, &st) != nil || st.Version != stateVersion || !isPhase(st.Folder) || st.Undo != nil && !isPhase(st.Undo.Folder) {
		return Record{}
	}
	return st
}

// isPhase reports whether a record may name a folder. A workspace may come with its records from anybody,
// and files in that folder are written to and removed.
func isPhase(folder string) bool {
	_, _, ok := layout.ParseFolder(folder)
	return ok || folder == ""
}

// slots returns the newer record and the other one; the Count of a missing one is 0.
func slots(f io.ReaderAt) (newer, older Record, err error) {
	buf := make([]byte, 2*slotSize)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return newer, older, err
	}
	newer = decode(buf[:min(n, slotSize)])
	older = decode(buf[min(n, slotSize):n])
	if older.Count > newer.Count {
		newer, older = older, newer
	}
	return newer, older, nil
}

// Read returns the newer valid record; ok is false if there is none.
func Read(f io.ReaderAt) (st Record, ok bool, err error) {
	st, older, err := slots(f)
	if err != nil {
		return st, false, err
	}
	st.UnsyncedClear = !st.Synced && st.Undo == nil && older.Undo != nil
	return st, st.Count > 0, nil
}

// Save writes the record into the slot that does not hold the last synced one, and syncs it if sync.
func Save(f *disk.File, st Record, sync bool) error {
	last, _, err := slots(f)
	if err != nil {
		return err
	}
	st.Count, st.Synced = last.Count+1, sync
	if !last.Synced {
		st.Count++ // into the same slot
	}
	raw, err := encode(st)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(raw, int64(st.Count%2)*slotSize); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	if !sync {
		return nil
	}
	if err := f.Sync(); err != nil {
		// It is unknown what is on disk: the next record must not use the other slot.
		st.Synced = false
		if raw, encodeErr := encode(st); encodeErr == nil {
			_, _ = f.WriteAt(raw, int64(st.Count%2)*slotSize)
		}
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

// Scrub saves the record and erases all older ones.
func Scrub(f *disk.File, st Record) error {
	for range 2 { // one in each slot
		if err := Save(f, st, true); err != nil {
			return err
		}
	}
	for slot := range int64(2) {
		used := make([]byte, slotSize)
		n, err := f.ReadAt(used, slot*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			continue
		}
		end := bytes.IndexByte(used[:n], '\n') + 1
		if _, err = f.WriteAt(make([]byte, n-end), slot*slotSize+int64(end)); err != nil {
			return err
		}
	}
	return f.Sync()
}

// locksDir has a lock file for each tape that was ever written to.
const locksDir = "locks"

// LockPath returns the tape's lock file, which holds the record.
func LockPath(t *workspace.Tape) string { return t.Store().PrivatePath(locksDir, t.Slug()) }

// PeekOf reads a tape's record without its lock.
func PeekOf(t *workspace.Tape) (Record, error) {
	st, _, err := Peek(LockPath(t))
	return st, err
}

// Changed reports whether a change of several steps began or ended between two records of a tape.
func Changed(before, after Record) bool {
	return after.Gen != before.Gen || (after.Undo == nil) != (before.Undo == nil)
}

// Peek reads the record of a lock file without the lock, and retries if it is being overwritten. ok is false
// if the file is missing or has no valid record; an empty file, which was only locked, gives an empty
// record and true.
func Peek(path string) (st Record, ok bool, err error) {
	for range 5 {
		if st, ok, err = peek(path); ok || err != nil {
			break
		}
	}
	if gitstore.IsAbsent(err) {
		err = nil
	}
	return st, ok, layout.Classify(err)
}

func peek(path string) (Record, bool, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return Record{}, false, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() == 0 {
		return Record{}, err == nil, err
	}
	return Read(f)
}
