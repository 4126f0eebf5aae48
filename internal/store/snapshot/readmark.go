package snapshot

import "tape/internal/store/layout"

// ReadMark says how far somebody has read a tape, and lets them continue there: the branch's commit, and the
// ends of the files. These alone decide whether the tape still begins with what was read, never times or
// counts. The zero ReadMark is the beginning.
type ReadMark struct {
	Head   string                 `json:"head"`    // the branch's commit
	LastID int64                  `json:"last_id"` // the last entry read
	Seq    int                    `json:"seq"`     // its phase
	Folder string                 `json:"folder"`
	Ends   [layout.ClassCount]End `json:"ends"` // of that phase's files
	Disk   bool                   `json:"disk"` // read from a working tree
}

// End is how far the files of one class were read.
type End struct {
	File  int    `json:"file"`  // 0: none yet
	Size  int64  `json:"size"`  // bytes
	Lines int    `json:"lines"` // number of lines
	Sum   uint32 `json:"sum"`   // CRC-32 of the last bytes, at most EndSample
}

// EndSample is how many bytes before an end its checksum covers. Every line has a date, so a rewritten file
// does not end in the same way.
const EndSample = 1 << 10

// SumOf returns the checksum of the last bytes that were read, at most EndSample.
func SumOf(read []byte) uint32 { return Checksum(0, read[max(0, len(read)-EndSample):]) }

// Place returns the place right after the mark.
func (m ReadMark) Place() Place { return Place{ID: m.LastID + 1, ends: &m.Ends} }
