-- The document number of an entry, doc, is the number of its tape, shifted by 26 bits, plus
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
	last_id INTEGER NOT NULL, -- 0x3ffffff while the phase is open
	PRIMARY KEY (tape, seq)
) WITHOUT ROWID;
-- These two indexes are for the view.
CREATE INDEX phases_name ON phases (name);
CREATE INDEX phases_seq ON phases (seq);
CREATE TABLE files (
	no INTEGER PRIMARY KEY,
	tape INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	name TEXT NOT NULL,
	UNIQUE (tape, seq, name)
);
-- What many entries have in common: the kind and, as summary, the role, the tools or the name of the event.
CREATE TABLE labels (
	no INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	summary TEXT NOT NULL, -- '' if there is none
	UNIQUE (kind, summary)
);
CREATE TABLE lines (
	doc INTEGER PRIMARY KEY,
	label INTEGER NOT NULL,
	file INTEGER NOT NULL,
	line INTEGER NOT NULL,
	offset INTEGER NOT NULL,
	length INTEGER NOT NULL,
	created INTEGER, -- microseconds since 1970
	sign INTEGER NOT NULL,
	summary TEXT, -- of an error or an anchor
	created_at TEXT GENERATED ALWAYS AS ( -- created as a text, for the view; the remainder is never negative
		strftime('%Y-%m-%dT%H:%M:%S', (created - (created % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
		|| '.' || substr((created % 1000000 + 1000000) % 1000000 + 1000000, 2) || '+00:00') VIRTUAL
);
-- In which blocks of 64 documents (doc >> 6) a label is. That is all that the view needs to find the entries of a kind:
-- an index with a row for each of them would be ten times as large.
CREATE TABLE label_blocks (
	label INTEGER NOT NULL,
	block INTEGER NOT NULL,
	PRIMARY KEY (label, block)
) WITHOUT ROWID;
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
	lines.doc & 0x3ffffff AS id,
	labels.kind AS kind,
	phases.name AS anchor_name,
	phases.seq AS anchor_seq,
	'anchors/' || phases.folder || '/' || files.name AS file_path,
	lines.line AS line_offset,
	lines.created_at AS created_at,
	ifnull(lines.summary, nullif(labels.summary, '') || ifnull(': ' || said.text, '')) AS summary,
	tapes.name AS tape,
	lines.offset AS byte_offset,
	lines.length AS byte_length,
	lines.doc AS rowid
FROM lines
	JOIN files ON files.no = +lines.file
	-- SQLite begins with what the query asks for. From a phase or a label it goes to a range of lines, and likelihood says
	-- that such a range is short. The plus signs keep it from beginning with files: lines have no index of these.
	JOIN phases ON phases.tape = +files.tape AND phases.seq = +files.seq
		AND likelihood(lines.doc >= (phases.tape << 26) + phases.first_id, 0.00001)
		AND likelihood(lines.doc <= (phases.tape << 26) + phases.last_id, 0.1)
	JOIN tapes ON tapes.no = phases.tape
	JOIN label_blocks ON label_blocks.label = lines.label AND label_blocks.block = lines.doc >> 6
		AND likelihood(lines.doc >= label_blocks.block << 6, 0.001)
		AND likelihood(lines.doc <= (label_blocks.block << 6) + 63, 0.1)
	JOIN labels ON labels.no = label_blocks.label
	LEFT JOIN said ON said.doc = lines.doc AND NOT said.is_commit;
