-- The document number of an entry, doc, is the number of its tape, shifted by 32 bits, plus
-- the entry's id. Numbers of tapes, files and documents mean nothing outside of this file;
-- the view entries is for other programs.
--
-- A fork has rows only for its own entries, those after base. The others belong to the tape
-- with the number parent, which is less than the fork's. A fork's row in tapes counts all
-- its entries, but about, project, agent and activity come from its own entries. A fork also
-- has a row for the phase that is open at its base.

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
	head TEXT NOT NULL, -- the branch's commit
	in_tree INTEGER NOT NULL, -- 1: read from a working tree, which may have entries that head lacks
	mark TEXT NOT NULL,
	about TEXT NOT NULL,
	project TEXT NOT NULL DEFAULT '', -- as in about
	agent TEXT NOT NULL DEFAULT '',
	session INTEGER NOT NULL DEFAULT 0, -- a hash of its name; forks and subagents have that of the session they belong to
	activity TEXT NOT NULL DEFAULT '{}', -- the state from which the sums in the tables below continue
	rank INTEGER NOT NULL DEFAULT 0, -- a fact of several tapes counts in the one with the lowest rank, then name
	elsewhere INTEGER NOT NULL DEFAULT 0 -- how many of its facts count in other tapes
);
CREATE INDEX tapes_name ON tapes (name);
-- These two indexes answer queries about all tapes without reading the long columns.
CREATE INDEX worked ON tapes (no, session, project, agent, name);
CREATE INDEX known ON tapes (branch, head, in_tree, name, parent, base, base_bytes, entries, bytes, newest);
CREATE TABLE phases (
	tape INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	name TEXT NOT NULL,
	folder TEXT NOT NULL,
	first_id INTEGER NOT NULL,
	PRIMARY KEY (tape, seq)
) WITHOUT ROWID;
CREATE INDEX phases_name ON phases (name);
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
	created_at TEXT, -- created as a text, for the view
	seq INTEGER NOT NULL,
	file INTEGER NOT NULL,
	line INTEGER NOT NULL,
	offset INTEGER NOT NULL,
	length INTEGER NOT NULL,
	sign INTEGER NOT NULL
);
-- These indexes are for the view: the program itself finds lines by words and by doc.
CREATE INDEX lines_kind ON lines (kind);
CREATE INDEX lines_seq ON lines (seq); -- also within one tape, because every index has doc
CREATE INDEX lines_created_at ON lines (created_at);
CREATE TABLE dates (
	block INTEGER PRIMARY KEY,
	low INTEGER,
	high INTEGER,
	undated INTEGER NOT NULL,
	bytes INTEGER NOT NULL
);

-- What entries say that counts: the same number for every copy of an entry, see activity.Note.Fact. The sums below
-- have each fact once.
CREATE TABLE facts (
	doc INTEGER PRIMARY KEY,
	fact INTEGER NOT NULL
);
CREATE INDEX facts_fact ON facts (fact);

-- What was done in sessions: by quarter of an hour (since 1970, UTC), model and person ('' is the tape's owner).
CREATE TABLE work (
	tape INTEGER NOT NULL,
	quarter INTEGER NOT NULL,
	model TEXT NOT NULL,
	person TEXT NOT NULL,
	turns INTEGER NOT NULL,
	active INTEGER NOT NULL, -- microseconds
	input INTEGER NOT NULL, -- tokens
	output INTEGER NOT NULL,
	cache_read INTEGER NOT NULL,
	cache_write INTEGER NOT NULL,
	cache_long INTEGER NOT NULL, -- those of cache_write that are kept for an hour
	noted_cost INTEGER NOT NULL, -- millionths of a dollar, as the agent says
	noted_input INTEGER NOT NULL, -- tokens of the calls of the model that noted_cost is about
	noted_output INTEGER NOT NULL,
	noted_read INTEGER NOT NULL,
	noted_write INTEGER NOT NULL,
	noted_long INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	PRIMARY KEY (tape, quarter, model, person)
) WITHOUT ROWID;
CREATE TABLE tools (
	tape INTEGER NOT NULL,
	quarter INTEGER NOT NULL,
	name TEXT NOT NULL,
	calls INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	active INTEGER NOT NULL,
	PRIMARY KEY (tape, quarter, name)
) WITHOUT ROWID;

-- Which entries read and wrote which files of projects. base is the last part of a path.
CREATE TABLE paths (
	no INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE,
	base TEXT NOT NULL
);
CREATE INDEX paths_base ON paths (base);
CREATE TABLE touches (
	path INTEGER NOT NULL,
	doc INTEGER NOT NULL,
	at INTEGER, -- microseconds since 1970
	reads INTEGER NOT NULL,
	writes INTEGER NOT NULL,
	added INTEGER NOT NULL, -- lines
	removed INTEGER NOT NULL,
	PRIMARY KEY (path, doc)
) WITHOUT ROWID;
CREATE INDEX touches_doc ON touches (doc);

-- What people asked, and the commits that agents made, in a line each.
CREATE TABLE said (
	doc INTEGER PRIMARY KEY,
	at INTEGER, -- microseconds since 1970
	is_commit INTEGER NOT NULL,
	text TEXT NOT NULL
);
CREATE INDEX said_at ON said (at);

CREATE VIEW entries AS SELECT
	lines.doc & 0xffffffff AS id,
	lines.kind AS kind,
	phases.name AS anchor_name,
	lines.seq AS anchor_seq,
	'anchors/' || phases.folder || '/' || files.name AS file_path,
	lines.line AS line_offset,
	lines.created_at AS created_at,
	lines.summary AS summary,
	tapes.name AS tape,
	lines.offset AS byte_offset,
	lines.length AS byte_length,
	lines.doc AS rowid
FROM lines
	-- The range means the same as the shift, and lets SQLite use lines_seq.
	JOIN phases ON phases.tape = lines.doc >> 32 AND phases.seq = lines.seq
		AND lines.doc BETWEEN phases.tape << 32 AND (phases.tape << 32) + 0xffffffff
	JOIN tapes ON tapes.no = phases.tape
	JOIN files ON files.no = lines.file;
