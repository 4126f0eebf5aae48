#!/bin/sh
# demo.sh TAPE [TRANSCRIPT]: shows what tape does, in a folder of its own.
#
# TAPE is the program, TRANSCRIPT an agent's session file (default: the sample
# beside this script). The folder is kept for looking around; TAPE_DEMO_DIR
# chooses it. Run by `make demo` and by a script of the test suite.
set -eu

die() {
	printf 'demo: error: %s\n' "$*" >&2
	exit 1
}

absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$PWD" "$1" ;;
	esac
}

[ $# -ge 1 ] || die 'usage: demo.sh TAPE [TRANSCRIPT]'
tape=$(absolute "$1")
sample=$(dirname "$0")/session.jsonl
transcript=$(absolute "${2:-$sample}")
[ -x "$tape" ] || die "no program at $tape"
[ -e "$transcript" ] || die "no transcript at $transcript"

if [ -n "${TAPE_DEMO_DIR:-}" ]; then
	dir=$(absolute "$TAPE_DEMO_DIR")
else
	dir=$(mktemp -d "${TMPDIR:-/tmp}/tape-demo.XXXXXX")
fi
[ ! -e "$dir/home" ] || die "$dir holds an earlier demo; choose another folder"
mkdir -p "$dir/home" "$dir/teashop" "$dir/bin"
out=$dir/.out
trap 'rm -f "$out"' EXIT

# The commands below read as a user would type them: tape is on the PATH, and
# nothing outside of the folder is read or written.
cp "$tape" "$dir/bin/tape"
if [ $# -eq 1 ]; then
	cp "$transcript" "$dir/teashop/session.jsonl"
	transcript=session.jsonl
else
	transcript="'$transcript'"
fi
PATH=$dir/bin:$PATH
TAPE_HOME=$dir/home
GIT_PAGER=cat
export PATH TAPE_HOME GIT_PAGER
unset TAPE_WORKSPACE TAPE_NAME
git config user.email >/dev/null 2>&1 || {
	TAPE_AUTHOR='Demo <demo@example.com>'
	export TAPE_AUTHOR
}

# say explains what comes next.
say() {
	printf '\n%s\n' "$*"
}

# run LINES COMMAND prints the command and the first LINES lines of what it
# says, cut at a width that a terminal has, and stops the demo when it fails.
# A cut never falls inside a UTF-8 character: continuation bytes stay.
cont="$(printf '\200')-$(printf '\277')"
run() {
	lines=$1
	printf '$ %s\n' "$2"
	status=0
	eval "$2" >"$out" 2>&1 </dev/null || status=$?
	if [ $status -ne 0 ]; then
		cat "$out"
		die "exit status $status"
	fi
	LC_ALL=C sed -e "s/^\(.\{116\}[$cont]*\)[^$cont].*/\1…/" -e "${lines}q" "$out"
	total=$(wc -l <"$out")
	[ "$total" -le "$lines" ] || printf '… %d more lines\n' $((total - lines))
}

# Each act is a function; the list of them is at the end.

import_a_session() {
	say 'A workspace is a git repository of its own, one for each project. Nothing is written into the project.'
	cd "$dir/teashop"
	run 5 'tape init'
	workspace=$(tape init --json | sed -n 's/.*"workspace":"\([^"]*\)".*/\1/p')

	say "An agent's transcript becomes a tape: its compactions become anchors, and the entries between two anchors are a phase."
	run 8 "tape import auto $transcript"

	say 'Importing it again finds nothing new: a transcript that has grown costs only what has been added.'
	run 3 "tape import auto $transcript"
	imported=$(eval "tape import auto $transcript --json" | sed -n '1s/.*"tape":"\([^"]*\)".*/\1/p')

	say 'A tape for each session; subagents that it started are forks, merged at their results. Looking at the imported one:'
	run 8 'tape tapes'
	run 3 "tape switch '$imported'"
	run 8 'tape anchors'
	run 8 'tape info'
	run 6 'tape log --kind message --tail 5 --oneline'
}

record_and_hand_off() {
	say 'Recording is one command an entry, or a stream of them. Each is on disk when the command returns.'
	run 3 'tape switch main'
	run 3 "tape append --kind message --role user --text '下单页报 E_CONN_42，数据库连接超时，看看是什么原因。'"
	cat >turn.ndjson <<'NDJSON'
{"kind":"message","payload":{"role":"assistant","content":"It starts 30 minutes after a restart, when the first session expires. I will look at Touch."}}
{"kind":"tool_call","payload":{"calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test -run TestTouchExpired ./internal/session\"}"}}]}}
{"kind":"tool_result","payload":{"results":["--- FAIL: TestTouchExpired: write pool: 1 connections in use"]}}
NDJSON
	run 3 'tape append --stdin <turn.ndjson'

	say 'A handoff closes the phase: an anchor with a summary and a state to go on from, a commit, a tag.'
	run 4 "tape handoff diagnosis --summary 'Touch keeps the only connection when a session has expired' --state '{\"file\":\"internal/session/sqlite.go\",\"next\":\"fix Touch\"}'"
	run 3 "tape append --kind message --role assistant --text 'Touch is one UPDATE now; reading and writing have a pool each.'"
	run 3 "tape append --kind event --payload '{\"name\":\"tests\",\"data\":{\"passed\":41,\"failed\":0}}'"
	run 4 "tape handoff fixed --summary '8000 pages, no failure' --state '{\"next\":\"watch staging for a day\"}'"
	run 3 "tape append --kind message --role user --text '谢谢，明天看结果。'"
	run 8 'tape anchors'
	run 8 'tape log'
}

fork_and_merge() {
	say 'A fork is a branch to try something on. It goes on from everything before, and costs what it adds.'
	run 3 'tape fork try-wal'
	run 2 "tape --tape main/try-wal append --role assistant --text 'With a write-ahead log: 12000 pages, no failure.'"
	run 2 "tape --tape main/try-wal handoff measured --summary 'WAL is faster'"
	run 2 "tape append --role user --text 'Meanwhile: which database is it in production?'"
	run 3 'tape forks'
	run 11 'tape diff main main/try-wal'

	say 'Merged, its entries follow those of the tape; nobody resolves anything. What does not work is discarded.'
	run 2 'tape merge try-wal'
	run 2 'tape fork dead-end'
	run 2 'tape discard dead-end'
	run 12 'tape log --graph'
}

search_it() {
	say 'Everything is searchable, offline: words, identifiers and their parts, phrases, and any part of a Chinese text.'
	run 6 'tape search "connection pool" --all-tapes -n 2'
	run 4 'tape search 超时'
	run 4 'tape search "TestTouchExpired"'

	say 'A word that is nowhere: near ones are tried.'
	run 4 'tape search conection -n 1'
}

pass_it_on() {
	say 'What the next model call needs: the state at the last anchor, and what came after it.'
	run 4 'tape context'
	say 'What lies between two anchors; and the whole session as one page to read, with no script in it.'
	run 4 'tape between diagnosis fixed --oneline'
	run 2 "tape export --format html -o ../session.html && ls -s ../session.html"
}

read_it_as_git() {
	say 'All of it is files and git. A phase is a folder, a tape is a branch, a handoff is a tagged commit.'
	printf '$ cd %s\n' "$workspace"
	cd "$workspace"
	run 24 'ls -R anchors'
	run 4 'cat anchors/001_session-start/messages.jsonl'
	run 2 'cat anchors/002_diagnosis/anchor.json'
	run 8 'git log --oneline --decorate tape/main'

	say 'The difference between two tags is exactly what happened in that phase.'
	run 8 'git diff anchor/main/002_diagnosis anchor/main/003_fixed --stat'
}

verify_it() {
	say 'Every promise of the format can be checked, with git fsck among the checks.'
	run 8 'tape verify'
}

look_around() {
	cat <<END

Everything is still there. To look around:

  export TAPE_HOME='$TAPE_HOME' PATH='$dir/bin':"\$PATH"
  cd '$workspace'
  tape tapes
  tape --tape '$imported' log
  tape search pool --all-tapes
  tape log --graph
  git log -p tape/main

To import your own session: make demo FILE=path/to/session.jsonl
To throw it away: rm -rf '$dir'
END
}

import_a_session
record_and_hand_off
fork_and_merge
search_it
pass_it_on
read_it_as_git
verify_it
look_around
