// Package index keeps a workspace's index, and searches with it.
//
// The index is the file index.db of a workspace, an SQLite database. It can be deleted at any time: the
// next search makes it again. It contains the position, the words and a summary of every entry, and what people
// asked, in a line each, but not the texts, which are read from the tape's files or from git.
//
// # Catching up
//
// For each tape the index has a read mark: the commit and the ends of the files up to which it was read.
// A search first compares the read mark with the tape, which takes a few file system calls, and reads the
// entries added since. If a tape no longer begins with what was read before, all of it is read again. Whoever
// writes to the index holds Store.LockIndex; readers wait for one transaction at most. A new index is built beside the
// old one and then replaces it.
//
// # Forks
//
// Most entries of a fork are its parent's, and are stored once, for the parent. For a fork, the index has
// its own entries, the number of the parent's row, and the id of the last entry from the parent. Results and
// ranks are as if the fork were stored in full. A search in a fork catches up with its ancestors, too.
//
// # Words
//
// The words are in an FTS5 table of SQLite, without the text (a contentless table) and without positions
// (detail=none). The program sqlite3 can query it, too. Package index/internal/fts5 reads and writes the
// table's pages directly; see there and docs/decisions/0006. Package internal/text defines what a word is and
// what a query means. The index narrows a query down to entries that may match; the text of each
// entry decides.
package index
