package store

import (
	"fmt"
	"hash/crc32"
	"math"

	"tape/repo"
)

// As is how entries look to those for whom an index is; the zero value is as they are.
type As struct {
	version string
	entry   func(*repo.Tape, repo.Entry) repo.Entry
}

// Shown is the As of a way of seeing entries. An index of another version is built anew.
func Shown(version string, entry func(*repo.Tape, repo.Entry) repo.Entry) As {
	return As{version, entry}
}

// Plain reports whether entries are seen as they are.
func (a As) Plain() bool { return a.entry == nil }

// Entry is an entry of a tape as it is seen.
func (a As) Entry(t *repo.Tape, e repo.Entry) repo.Entry {
	if a.Plain() {
		return e
	}
	return a.entry(t, e)
}

// schema is the user_version of the file.
func (a As) schema() uint32 {
	if a.Plain() {
		return SchemaVersion
	}
	return crc32.ChecksumIEEE(fmt.Append(nil, SchemaVersion, " ", a.version)) & math.MaxInt32
}
