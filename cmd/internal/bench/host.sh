#!/bin/sh
# host.sh TAPE: times tape serve as its clients see it, and PostgreSQL with the same entries on the
# same machine beside it, where that is installed (Debian: apt-get install postgresql).
#
# ENTRIES (1000000) is the length of the long tape, TAPES (5000) how many small ones are beside it.
# DIR is a folder on the disk to measure; the next run uses its workspace again.
set -eu
[ $# = 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" >&2; exit 2; }
tape=$(realpath "$1") root=$PWD
entries=${ENTRIES:-1000000} tapes=${TAPES:-5000}
made=
if [ -n "${DIR:-}" ]; then
	mkdir -p "$DIR"
else
	DIR=$(mktemp -d)
	made=$DIR
	trap 'rm -rf "$made"' EXIT
fi
DIR=$(realpath "$DIR")
eval "$(bench words)"

ws=$DIR/ws-$entries-$tapes
if [ ! -d "$ws" ]; then
	rm -rf "$ws.new" "$DIR/in"
	"$tape" init -q "$ws.new"
	"$tape" new long -q --workspace "$ws.new"
	bench entries "$entries" | split -l 10000 - "$DIR/part."
	for part in "$DIR"/part.*; do
		"$tape" append --stdin -q --tape long --workspace "$ws.new" <"$part"
		"$tape" handoff "phase-${part##*.}" -q --tape long --workspace "$ws.new"
	done
	rm -f "$DIR"/part.*
	mkdir "$DIR/in"
	bench transcripts "$tapes" 1 "$DIR/in"
	"$tape" import claude-code "$DIR/in" -q --workspace "$ws.new"
	"$tape" index sync --workspace "$ws.new" >/dev/null
	mv "$ws.new" "$ws"
fi
TAPE_BENCH_PROGRAM=$tape TAPE_BENCH_WORKSPACE=$ws TAPE_BENCH_RARE=$rares TAPE_BENCH_COMMON=$common \
	${GO:-go} test -run '^$' -bench BenchmarkServe "$root/cmd/internal/hostcli"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -n "$bin" ] || { echo 'PostgreSQL is left out: it is not installed (Debian: apt-get install postgresql)'; exit 0; }
# The server refuses to run as root.
as=
[ "$(id -u)" != 0 ] || as='runuser -u postgres --'
pg=$DIR/pg
rm -rf "$pg" && mkdir "$pg" && chmod 711 "$DIR"
[ -z "$as" ] || chown postgres "$pg"
cd "$pg"
sql() { $as "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$pg" -d postgres -c "$1"; }
$as "$bin/initdb" -D data -A trust -E UTF8 --locale=C >/dev/null
$as "$bin/pg_ctl" start -w -D data -l log -o "-c listen_addresses= -c shared_buffers=512MB -c maintenance_work_mem=512MB -c max_wal_size=4GB -k $pg" >/dev/null
trap '$as "$bin/pg_ctl" stop -m fast -D data >/dev/null; cd /; rm -rf "$pg" ${made:+"$made"}' EXIT
sql 'create table entries (id bigint primary key, kind text, json text, text text,
	words tsvector generated always as (to_tsvector($$simple$$, text)) stored)'
bench rows "$entries" | sql 'copy entries (id, kind, json, text) from stdin'
sql 'create index on entries using gin (words)'
sql "create sequence ids start $((entries + 1))"
sql 'vacuum analyze'
# row NAME CLIENTS SCRIPT: p50 and p99 of its transactions, in milliseconds.
row() {
	rm -f times.*
	printf '%s\n' "$3" | $as tee script >/dev/null
	$as "$bin/pgbench" -n -M prepared -h "$pg" -c "$2" -T 5 -l --log-prefix times -f script postgres >/dev/null
	cat times.* | awk '{print $3 / 1000}' | sort -n | awk -v name="$1" '{t[NR] = $1}
		END {printf "PostgreSQL %-24s %8.2f p50-ms %8.2f p99-ms %8.0f requests/s\n", name, t[int(NR / 2) + 1], t[int(NR * 0.99) + 1], NR / 5}'
}
page='select id, kind, json from entries where id < :id order by id desc limit 50;'
searched() {
	echo "select id, kind, json, ts_rank(words, q) as rank from entries, to_tsquery('simple', '$1') q where words @@ q order by rank desc limit 10;"
}
insert() { echo "\\set i random(1, 900)
insert into entries (id, kind, json, text) select nextval('ids'), kind, json, text from entries where id between :i and :i + $1 - 1;"; }
row history/newest 1 "\\set id $((entries + 1))
$page"
row history/anywhere 1 "\\set id random(60, $entries)
$page"
row history/8-connections 8 "\\set id random(60, $entries)
$page"
row search/rare 1 "$(searched "${rares%% *}")"
row search/common 1 "$(searched "${common%% *}")"
row append/1-entry 1 "$(insert 1)"
row append/8-connections 8 "$(insert 1)"
row append/100-entries 1 "$(insert 100)"
