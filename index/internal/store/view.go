package store

import (
	"fmt"
	"hash/crc32"
	"math"

	"tape/repo"
)

// View is how the readers of an index see entries. The zero value shows entries as they are.
type View struct {
	version string
	entry   func(*repo.Tape, repo.Entry) repo.Entry
}

// Shown returns a view in which entries are as the function entry returns them. version must change with what
// that function returns: an index of another version is rebuilt.
func Shown(version string, entry func(*repo.Tape, repo.Entry) repo.Entry) View {
	return View{version, entry}
}

// Plain reports whether entries are shown as they are.
func (a View) Plain() bool { return a.entry == nil }

// Entry is an entry as it is seen.
func (a View) Entry(t *repo.Tape, e repo.Entry) repo.Entry {
	if a.Plain() {
		return e
	}
	return a.entry(t, e)
}

// schema is the user_version of the file.
func (a View) schema() uint32 {
	if a.Plain() {
		return uint32(SchemaVersion)
	}
	return crc32.ChecksumIEEE(fmt.Append(nil, SchemaVersion, " ", a.version)) & math.MaxInt32
}
