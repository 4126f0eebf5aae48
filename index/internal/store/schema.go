package store

import (
	_ "embed" // the tables
	"fmt"

	"tape/internal/store/snapshot"
)

// SchemaVersion changes when the stored data does: the tables, the words of an entry, or the rules for summaries,
// for what tapes are about and for what was done in them. An index of another version is rebuilt.
const SchemaVersion = 31<<8 + len(snapshot.Properties)

// applicationID tells our files from other SQLite databases: "tape", in ASCII.
const applicationID = 0x74617065

// PageSize is the page size of the database, in bytes. A page of words is a little smaller, so that it fits
// into one.
const PageSize = 4096

//go:embed schema.sql
var tables string

func schema(v View) string {
	return tables + wordsTable + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, v.schema())
}

// wordsTable is read and written by package fts5, page by page. The tokenizer is for other programs' MATCH:
// of SQLite's tokenizers, it folds words most like package text.
const wordsTable = "CREATE VIRTUAL TABLE entries_fts USING fts5 (text, content = '', detail = none, columnsize = 0, tokenize = 'unicode61 remove_diacritics 2');"

// lateIndexes are made when a new index has its rows: that is twice as fast, and fills the pages. This one is for the
// view: the program itself finds lines by words and by doc.
const lateIndexes = "CREATE INDEX lines_created_at ON lines (created_at);"

const (
	tapeShift  = 26 // also in schema.sql and in queries; the words of many short tapes are smaller by a tenth than with 32
	labelShift = 6  // also in schema.sql: documents share a row of label_blocks
	// BlockShift converts documents to blocks: 1024 share a row of the table dates.
	BlockShift = 10
)

// DocOf is the document number of an entry of a tape.
func DocOf(tape, id int64) int64 { return tape<<tapeShift | id }

// IDOf is the id of a document's entry.
func IDOf(doc int64) int64 { return doc & (1<<tapeShift - 1) }

// TapeOf is the number of a document's tape.
func TapeOf(doc int64) int64 { return doc >> tapeShift }
