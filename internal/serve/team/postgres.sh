#!/bin/sh
# Runs a command beside a PostgreSQL of its own, which listens on a socket in a temporary folder and is
# removed afterwards: sh postgres.sh COMMAND. The command gets its address in TAPE_TEST_PG. PostgreSQL refuses
# to run as root, so root runs it as the user postgres, whom Debian's package makes.
set -eu

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb 2>/dev/null || echo /none/initdb)")
[ -x "$bin/initdb" ] || { echo 'PostgreSQL is missing: apt-get install postgresql' >&2; exit 1; }

dir=$(mktemp -d /tmp/tape-pg.XXXXXX)
as=
if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir"
	as='runuser -u postgres --'
fi
stop() {
	$as "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

cd "$dir"
# The team's user is not the superuser, to whom row security does not apply.
$as "$bin/initdb" -D "$dir/data" -U admin --auth=trust -E UTF8 --locale=C.UTF-8 >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
$as "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" \
	-o "-k $dir -c listen_addresses='' -c fsync=off -c shared_buffers=${PG_BUFFERS:-128MB} -c max_connections=100 -c autovacuum=off" start >/dev/null ||
	{ cat "$dir/server.log" >&2; exit 1; }
$as "$bin/psql" -h "$dir" -U admin -d postgres -qc 'CREATE ROLE team LOGIN CREATEDB' -c 'CREATE DATABASE team OWNER team'
cd - >/dev/null
TAPE_TEST_PG="postgres://team@/team?host=$dir" "$@"
