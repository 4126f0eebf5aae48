// Package index keeps a workspace's derived index, and searches with it.
//
// The index is the file index.db of a workspace, an SQLite database. It can be deleted
// at any time: the next search makes it again. It holds where every entry is, and which
// words it has, but not what it says; what is found is read back from the tape's files,
// or from git.
//
// # Catching up
//
// For each tape the index keeps a repo.Mark: the commit and the ends of the files up to
// which it was read. A search first compares that with the tape, which is a matter of a
// few looks at the disk, and reads what has come since. A tape that no longer begins with
// what the mark stands for is read again. Whoever writes to the index holds a lock of its own,
// Store.LockIndex; who reads never waits for longer than a transaction. A whole index is
// built beside the old one and put in its place.
//
// # Forks
//
// A fork has most of its entries of its parent. These are stored once, as the parent's: the
// index has of a fork its own entries, the number of the parent's row, and the last entry
// that is the parent's. What is found, and how it is ranked, is what it would be if all of
// the fork were stored. A search in a fork catches up with its parents, too.
//
// # Words
//
// The words are in a table of SQLite's FTS5, without the text (content=”) and without
// positions (detail=none), so the program sqlite3 can ask it, too. Package
// index/internal/fts5 reads and writes its pages directly: see there, and
// docs/decisions/0006. What a word is, and what a query means, is in package
// internal/text. The index narrows a query down to entries that may match; the text of
// each one decides.
package index
