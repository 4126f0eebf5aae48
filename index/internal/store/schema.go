package store

import (
	_ "embed" // the tables
	"fmt"
)

// SchemaVersion changes with anything that is stored: the tables, what the words of an
// entry are, the rules of summaries and of what tapes are about. An index of another version is built anew.
const SchemaVersion = 7

// applicationID tells our files from other SQLite databases: "tape", in ASCII.
const applicationID = 0x74617065

// PageSize is that of the database, in bytes. A page of the words table is a little
// smaller, so that it fills one of these.
const PageSize = 4096

//go:embed schema.sql
var tables string

func schema(as As) string {
	return tables + wordsTable + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, as.schema())
}

// wordsTable is read and written by package fts5, page by page. Its tokenizer is for what
// other programs MATCH: of SQLite's, it is the one that folds most as package text does.
const wordsTable = "CREATE VIRTUAL TABLE entries_fts USING fts5 (text, content = '', detail = none, columnsize = 0, tokenize = 'unicode61 remove_diacritics 2');"

const (
	tapeShift = 32 // also in schema.sql
	// BlockShift takes ids to blocks: 1024 share a row of the table dates.
	BlockShift = 10
)

// DocOf is the document number of an entry of a tape.
func DocOf(tape, id int64) int64 { return tape<<tapeShift | id }

// IDOf is the entry's id.
func IDOf(doc int64) int64 { return doc & (1<<tapeShift - 1) }

// TapeOf is the number of the tape.
func TapeOf(doc int64) int64 { return doc >> tapeShift }
