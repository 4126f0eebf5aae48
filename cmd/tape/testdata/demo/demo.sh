#!/bin/sh
# demo.sh TAPE [TRANSCRIPT]: shows what tape does, in a folder of its own.
#
# TAPE is the program, TRANSCRIPT an agent's session file (default: the sample
# beside this script). The folder is kept for looking around, until `make demo-clean`;
# TAPE_DEMO_DIR chooses it. Run by `make demo` and by a script of the test suite.
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
[ ! -e "$tape-host" ] || cp "$tape-host" "$dir/bin/tape-host"
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
	LC_ALL=C sed -e "s/^\(.\{76\}[$cont]*\)[^$cont].*/\1…/" -e "${lines}q" "$out"
}

cd "$dir/teashop"
tape init -q
workspace=$(tape init --json | sed -n 's/.*"workspace":"\([^"]*\)".*/\1/p')

say "An agent's transcript becomes a tape. What was it about the connections?"
run 1 "tape import auto $transcript --tape teashop"
tape switch -q teashop
run 2 'tape search "connection pool" -n 1'
run 2 'tape search 超时 -n 1'

say 'Go on recording, and hand off: a summary and a state to start from, committed and tagged.'
run 1 "tape append --role user --text 'E_CONN_42 is back in staging. Look at Touch.'"
run 1 "tape handoff diagnosis --summary 'Touch keeps the only connection' --state '{\"next\":\"fix Touch\"}'"

say 'Try something in a fork. Merged, its entries follow those of the tape: no conflicts.'
run 1 'tape fork try-wal'
run 1 "tape --tape teashop/try-wal append --role assistant --text 'With WAL: 12000 pages, no failure.'"
run 1 "tape append --role user --text 'Meanwhile: which database has production?'"
run 1 'tape merge try-wal'

say 'What the next model call starts from, and the page to send to a colleague:'
run 4 'tape context'
run 1 'tape export --format markdown -o ../session.md && ls ../session.md'

say "It is all git: tape/teashop is a branch of $workspace."
run 2 'git -C "$workspace" log --oneline tape/teashop'

cat <<END

The demo made $dir: read session.md there. To look around:
  export TAPE_HOME='$TAPE_HOME' PATH='$dir/bin':"\$PATH"; cd '$dir/teashop'
  tape tapes; tape log; tape anchors; tape verify
make demo FILE=session.jsonl takes a session of yours; make demo-clean removes it all.
END
