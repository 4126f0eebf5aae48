-- All tables but tape_team, tokens and audit are derived from git. tapes, entries, months and words have the column remote,
-- by which they can be spread over servers. No query joins across remotes.

CREATE TABLE tape_team (
	version int   NOT NULL, -- of this schema
	key     bytea NOT NULL  -- signs cursors, and keys the marks that replace secrets
);

CREATE TABLE remotes (
	id      int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name    text NOT NULL UNIQUE,
	tried   timestamptz,            -- when the last sync began
	synced  timestamptz,            -- when the last successful sync began
	error   text NOT NULL DEFAULT '' -- why the last sync failed
);

CREATE TABLE tapes (
	remote    int    NOT NULL,
	id        bigint GENERATED ALWAYS AS IDENTITY,
	ref       text   NOT NULL, -- its branch at the remote
	name      text   NOT NULL,
	parent    text   NOT NULL, -- of a subagent's tape: the branch of the session that started it; otherwise ''
	title     text   NOT NULL,
	agent     text   NOT NULL,
	model     text   NOT NULL,
	project   text   NOT NULL,
	authors   text[] NOT NULL,
	owner     text   NOT NULL, -- who began it, and is the author of entries that name none
	started   timestamptz,
	updated   timestamptz,
	entries   bigint NOT NULL, -- its own; a fork's do not include its parent's
	bytes     bigint NOT NULL, -- length of their lines
	messages  int    NOT NULL,
	calls     int    NOT NULL,
	tokens    bigint NOT NULL,
	anchors   int    NOT NULL,
	first_id  bigint NOT NULL, -- of its own entries
	last_id   bigint NOT NULL,
	oldest    timestamptz NOT NULL, -- of the dates of its entries
	newest    timestamptz NOT NULL,
	about     text   NOT NULL, -- from which a sync continues title, counts and so on
	watermark text   NOT NULL, -- the commit up to which its entries are in the table entries
	PRIMARY KEY (remote, id),
	UNIQUE (remote, ref)
);
CREATE INDEX ON tapes (updated DESC, id);

CREATE TABLE entries (
	remote int    NOT NULL,
	tape   bigint NOT NULL,
	id     bigint NOT NULL,
	date   timestamptz NOT NULL,
	kind   text   NOT NULL,
	role   text   NOT NULL,
	author text   NOT NULL,
	phase  int    NOT NULL,
	anchor text   NOT NULL, -- the phase's name
	sign   bigint NOT NULL, -- equal for entries that say nearly the same
	bytes  int    NOT NULL, -- length of the line in git
	text   text   NOT NULL, -- what is searched, masked
	line   text   NOT NULL, -- the stored line, masked: payload, meta, date
	words  tsvector NOT NULL
) PARTITION BY RANGE (date);
CREATE INDEX ON entries (remote, tape, id);
CREATE INDEX ON entries (date, id);
-- Each partition also has an index of its words, which is made at the end of the sync that first fills it.

-- Entries without a date, and from before the first month that gets a partition.
CREATE TABLE entries_old PARTITION OF entries FOR VALUES FROM (MINVALUE) TO ('2015-01-01 00:00:00+00');

-- How many entries a remote has in a month, and the length of their lines together.
CREATE TABLE months (
	remote  int    NOT NULL,
	month   date   NOT NULL,
	part    text   NOT NULL, -- the partition
	entries bigint NOT NULL,
	bytes   bigint NOT NULL,
	PRIMARY KEY (remote, month)
);

-- The words of a remote's entries, without those that have digits: what is similar to one that no entry has. A word may be
-- here that only other users' entries have, or none any more: it counts if entries are found with it.
CREATE TABLE words (
	remote int  NOT NULL,
	word   text NOT NULL COLLATE "C",
	PRIMARY KEY (remote, word)
);

CREATE TABLE tokens (
	hash    bytea PRIMARY KEY,
	name    text   NOT NULL,
	groups  text[] NOT NULL,
	created timestamptz NOT NULL,
	expires timestamptz NOT NULL,
	revoked timestamptz,
	used    timestamptz
);
CREATE UNIQUE INDEX ON tokens (name) WHERE revoked IS NULL;

CREATE TABLE audit (
	date     timestamptz NOT NULL DEFAULT now(),
	who      text NOT NULL,
	action   text NOT NULL,
	resource text NOT NULL
);
CREATE INDEX ON audit (date);

-- The second wall. A transaction sees the remotes that tape.remotes lists, even if its user owns the tables; without
-- this setting it sees none. The first wall is package db, which puts the set into every query.
CREATE FUNCTION tape_seen() RETURNS int[] LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT coalesce(nullif(current_setting('tape.remotes', true), ''), '{}')::int[] $$;
ALTER TABLE remotes ENABLE ROW LEVEL SECURITY;
ALTER TABLE remotes FORCE ROW LEVEL SECURITY;
ALTER TABLE tapes ENABLE ROW LEVEL SECURITY;
ALTER TABLE tapes FORCE ROW LEVEL SECURITY;
ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
ALTER TABLE months ENABLE ROW LEVEL SECURITY;
ALTER TABLE months FORCE ROW LEVEL SECURITY;
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
ALTER TABLE words FORCE ROW LEVEL SECURITY;
-- A subquery is evaluated once for a statement, the function itself once for each row.
-- With tape.all, package db finds remotes by name, before it knows their ids.
CREATE POLICY seen ON remotes USING (id = ANY ((SELECT tape_seen())::int[]) OR current_setting('tape.all', true) = 'on');
CREATE POLICY seen ON tapes USING (remote = ANY ((SELECT tape_seen())::int[]));
CREATE POLICY seen ON entries USING (remote = ANY ((SELECT tape_seen())::int[]));
CREATE POLICY seen ON months USING (remote = ANY ((SELECT tape_seen())::int[]));
CREATE POLICY seen ON words USING (remote = ANY ((SELECT tape_seen())::int[]));

-- tape_find returns entries that match a tsquery, the newest first, until there are enough. Under row security,
-- PostgreSQL uses no index of words. So the function reads the partitions themselves, month by month, with the same set
-- of remotes.
CREATE FUNCTION tape_find(question text, among bigint[], since timestamptz, until timestamptz, most int)
RETURNS TABLE (remote int, tape bigint, id bigint, date timestamptz, kind text, sign bigint, bytes int)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	part  record;
	seen  int[] := tape_seen();
	rest  int := most;
	found int;
	rule  text := '';
BEGIN
	IF question <> '' THEN rule := rule || ' AND e.words @@ $1::tsquery'; END IF;
	IF among IS NOT NULL THEN rule := rule || ' AND e.tape = ANY ($2)'; END IF;
	IF since IS NOT NULL THEN rule := rule || ' AND e.date >= $3'; END IF;
	IF until IS NOT NULL THEN rule := rule || ' AND e.date <= $4'; END IF;
	FOR part IN SELECT DISTINCT m.month, m.part FROM months m
		WHERE m.remote = ANY (seen) AND m.entries > 0 AND (since IS NULL OR m.month >= date_trunc('month', since AT TIME ZONE 'UTC')::date)
			AND (until IS NULL OR m.part = 'entries_old' OR m.month <= (until AT TIME ZONE 'UTC')::date)
		ORDER BY m.month DESC
	LOOP
		RETURN QUERY EXECUTE format('SELECT e.remote, e.tape, e.id, e.date, e.kind, e.sign, e.bytes FROM %I e
			WHERE e.remote = ANY ($5)%s ORDER BY e.date DESC, e.id DESC LIMIT $6', part.part, rule)
			USING question, among, since, until, seen, rest;
		GET DIAGNOSTICS found = ROW_COUNT;
		rest := rest - found;
		EXIT WHEN rest <= 0;
	END LOOP;
END $$;

-- tape_count returns how many entries match a tsquery, and among how many it has counted. It counts month by month,
-- the newest first, until there are enough.
CREATE FUNCTION tape_count(question text, most int) RETURNS TABLE (hits bigint, among bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	part record;
	seen int[] := tape_seen();
	n    bigint;
BEGIN
	hits := 0;
	among := 0;
	FOR part IN SELECT m.month, m.part, sum(m.entries) AS entries FROM months m
		WHERE m.remote = ANY (seen) AND m.entries > 0 GROUP BY m.month, m.part ORDER BY m.month DESC
	LOOP
		EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %I e WHERE e.remote = ANY ($1) AND e.words @@ $2::tsquery LIMIT $3) x', part.part)
			INTO n USING seen, question, most;
		hits := hits + n;
		among := among + part.entries;
		EXIT WHEN hits >= most;
	END LOOP;
	RETURN NEXT;
END $$;
