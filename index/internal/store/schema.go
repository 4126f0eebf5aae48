package store

import "fmt"

// SchemaVersion changes with anything that is stored: the tables, what the words of an
// entry are, the rules of summaries. An index of another version is built anew.
const SchemaVersion = 3

// applicationID tells our files from other SQLite databases: "tape", in ASCII.
const applicationID = 0x74617065

// PageSize is that of the database, in bytes. A page of the words table is a little
// smaller, so that it fills one of these.
const PageSize = 4096

// schema creates everything. A line is known by its document number, doc: that of the
// tape, shifted by tapeShift, and the entry's id. Numbers of tapes, files and documents
// mean nothing outside; the view entries is for other programs.
//
// A fork has rows for its own entries alone, those behind base; the others are in the tape
// with the number parent, which is less than the fork's. What tapes says of a fork is
// about all of it. It has a row for the phase that is open at the base, too.
func schema() string {
	return fmt.Sprintf(`
CREATE TABLE tapes (
	no INTEGER PRIMARY KEY AUTOINCREMENT,
	branch TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	parent INTEGER NOT NULL,
	base INTEGER NOT NULL,
	base_bytes INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	newest INTEGER,
	mark TEXT NOT NULL
);
CREATE TABLE phases (
	tape INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	name TEXT NOT NULL,
	folder TEXT NOT NULL,
	first_id INTEGER NOT NULL,
	PRIMARY KEY (tape, seq)
) WITHOUT ROWID;
CREATE TABLE files (
	no INTEGER PRIMARY KEY,
	tape INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	name TEXT NOT NULL,
	UNIQUE (tape, seq, name)
);
CREATE TABLE lines (
	doc INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	summary TEXT,
	created INTEGER,
	seq INTEGER NOT NULL,
	file INTEGER NOT NULL,
	line INTEGER NOT NULL,
	offset INTEGER NOT NULL,
	length INTEGER NOT NULL,
	sign INTEGER NOT NULL
);
CREATE INDEX anchors ON lines (seq) WHERE kind = 'anchor';
CREATE TABLE dates (
	block INTEGER PRIMARY KEY,
	low INTEGER,
	high INTEGER,
	undated INTEGER NOT NULL,
	bytes INTEGER NOT NULL
);
%s
CREATE VIEW entries AS SELECT
	lines.doc & %d AS id,
	lines.kind AS kind,
	phases.name AS anchor_name,
	lines.seq AS anchor_seq,
	'anchors/' || phases.folder || '/' || files.name AS file_path,
	lines.line AS line_offset,
	strftime('%%Y-%%m-%%dT%%H:%%M:%%S', (lines.created - (lines.created %% 1000000 + 1000000) %% 1000000) / 1000000, 'unixepoch')
		|| printf('.%%06d+00:00', (lines.created %% 1000000 + 1000000) %% 1000000) AS created_at,
	lines.summary AS summary,
	tapes.name AS tape,
	lines.offset AS byte_offset,
	lines.length AS byte_length
FROM lines
	JOIN tapes ON tapes.no = lines.doc >> %d
	JOIN phases ON phases.tape = tapes.no AND phases.seq = lines.seq
	JOIN files ON files.no = lines.file;
PRAGMA application_id = %d;
PRAGMA user_version = %d;
`, wordsTable, int64(1)<<tapeShift-1, tapeShift, applicationID, SchemaVersion)
}

// wordsTable is read and written by package fts5, page by page.
const wordsTable = "CREATE VIRTUAL TABLE words USING fts5 (text, content = '', detail = none, columnsize = 0, tokenize = 'ascii');"

const (
	tapeShift = 32
	// BlockShift takes ids to blocks: 1024 share a row of the table dates.
	BlockShift = 10
)

// DocOf is the document number of an entry of a tape.
func DocOf(tape, id int64) int64 { return tape<<tapeShift | id }

// IDOf is the entry's id.
func IDOf(doc int64) int64 { return doc & (1<<tapeShift - 1) }

// TapeOf is the number of the tape.
func TapeOf(doc int64) int64 { return doc >> tapeShift }
