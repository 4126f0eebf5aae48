// Package snapshot reads a tape as it was at one moment, from its working tree or from a commit.
// [Take] and [AtCommit] return a [Snapshot]. Readers take no lock: a snapshot of a working tree is bounded by
// the sizes that the files had, and by the journal's record.
package snapshot
