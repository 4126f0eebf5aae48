// Package fts5 reads and writes the pages of a SQLite FTS5 table directly.
//
// The table is one without content, positions and column sizes:
//
//	CREATE VIRTUAL TABLE entries_fts USING fts5(text, content='', detail=none, columnsize=0)
//
// It stays an ordinary FTS5 table: any SQLite can query it with MATCH, check it, add to it and merge it. This
// package bypasses the virtual table because that is many times faster: a [Builder] collects the terms of
// many documents, [Index.Write] writes them as one sorted segment, and [Index.Each] decodes the documents of
// a term page by page.
//
// The format is that of ext/fts5/fts5_index.c in the sources of SQLite:
//
//   - %_data holds numbered blocks: record 1 the totals, record 10 the list of
//     segments, and from 1<<37 on the pages of the segments;
//   - a segment is a run of pages with terms in order, each followed by the
//     list of its documents; every term starts with the byte '0', the mark of
//     the main index;
//   - %_idx has, for each page on which a term starts, a key that separates its
//     terms from those of earlier pages.
//
// Deletions are not supported: a document is removed when [Index.Merge] rewrites its segment. A list with
// FTS5's own marks of deletion counts as damaged.
//
// SQLite caches the list of segments for each connection, and does not notice when the same connection writes
// to the shadow tables. So use a separate connection for SQL on the virtual table.
package fts5

import (
	"errors"
	"fmt"
)

// ErrDamaged means that a page is missing or does not decode.
var ErrDamaged = errors.New("full-text index is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Pages stores the pages of an FTS5 table: its %_data and %_idx. Arguments are not kept or changed after a
// call; a returned block is valid until the next call. The caller must put writes that belong together into
// one transaction.
type Pages interface {
	// Block returns a block of %_data; nil, nil if there is none.
	Block(id int64) ([]byte, error)
	// Blocks calls f with the blocks from first to last in order of id, until f returns an error, which it
	// returns as it is. A block is valid only during f, and f must not make other calls.
	Blocks(first, last int64, f func(id int64, block []byte) error) error
	// PutBlock inserts or replaces a block.
	PutBlock(id int64, block []byte) error
	// DeleteBlocks deletes the blocks from first to last.
	DeleteBlocks(first, last int64) error
	// PageOf returns the column pgno of the row of %_idx with the greatest
	// term that is not above term; 0 if there is none.
	PageOf(segid int64, term []byte) (pgno int64, err error)
	// PageAfter returns the same for the row with the smallest term above term.
	PageAfter(segid int64, term []byte) (pgno int64, err error)
	// PagesOf finds the pages of many terms in one call. It calls f for each term, in any order, with the term's place in
	// terms, the page's number, which is that of PageOf but at least first, and its block of %_data, nil if there is none.
	// A block is valid only during f.
	PagesOf(segid, first int64, terms [][]byte, f func(term int, pgno int64, page []byte) error) error
	// PutPage inserts a row into %_idx. The term may be empty, never nil.
	PutPage(segid int64, term []byte, pgno int64) error
	// DeletePages deletes the rows of a segment from %_idx.
	DeletePages(segid int64) error
}

// Ids of records, see fts5_index.c.
const (
	totalsID    = 1
	structureID = 10
	segidShift  = 37 // of the segment's number in an id
)

const (
	pageSize   = 4050  // FTS5's default "pgsz"
	maxTerm    = 32768 // FTS5 cuts longer tokens
	maxSegment = 2000  // FTS5's limit for the number of segments and their ids
	mainIndex  = '0'   // the first byte of each stored term
)

// LeafID is the id of the block with page pgno of a segment.
func LeafID(segid, pgno int64) int64 { return segid<<segidShift + pgno }

// Index is an FTS5 table, for one goroutine at a time. After an error of Write, Merge or Take, roll back and open
// it again; also open it again when others may have written to the table.
type Index struct {
	pages Pages
	st    structure
	key   []byte  // scratch: a term as it is stored
	spare []int64 // scratch of Each
}

// Open reads the list of segments, which may be empty.
func Open(p Pages) (*Index, error) {
	b, err := p.Block(structureID)
	if err != nil {
		return nil, fmt.Errorf("read the list of segments: %w", err)
	}
	st, err := decodeStructure(b)
	return &Index{pages: p, st: st}, err
}

// Segments is the number of segments. A lookup visits each.
func (x *Index) Segments() int { return len(x.st.segs) }

// stored returns a term in its stored form, valid until the next call.
func (x *Index) stored(term []byte) []byte {
	x.key = append(append(x.key[:0], mainIndex), term[:min(len(term), maxTerm)]...)
	return x.key
}
