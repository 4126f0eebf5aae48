#!/bin/sh
# bench.sh TAPE: times the program as its users run it, as whole processes, in turn with what
# they would use instead. It prints figures and ratios, and never fails for being slow.
#
# ENTRIES (1000000) is the length of the long tape, TAPES (5000) how many tapes there are in the
# workspace with many, RUNS (25) the pairs of each row. ONLY='append search' runs some parts. DIR
# keeps the workspaces for the next run. FORMER is an earlier build of tape, for searches beside it.
# rg, jq and sqlite3 are used where they are installed.
set -eu
[ $# = 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" >&2; exit 2; }
tape=$(realpath "$1")
FORMER=${FORMER:+$(realpath "$FORMER")}
entries=${ENTRIES:-1000000} tapes=${TAPES:-5000} runs=${RUNS:-25}
few=$((runs / 5 + 1))
if [ -n "${DIR:-}" ]; then
	mkdir -p "$DIR"
else
	DIR=$(mktemp -d)
	trap 'rm -rf "$DIR"' EXIT
fi
cd "$DIR"
export HOME="$PWD" TAPE_HOME="$PWD/.tape" GIT_CONFIG_NOSYSTEM=1 TAPE_AUTHOR='Bench <bench@example.org>' GIT_AUTHOR_NAME=Bench \
	GIT_AUTHOR_EMAIL=bench@example.org GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@example.org
unset TAPE_WORKSPACE TAPE_NAME
mkdir -p bin && ln -sf "$tape" bin/tape && [ ! -e "$tape-host" ] || ln -sf "$tape-host" bin/tape-host
PATH=$PWD/bin:$PATH
eval "$(bench words)"

pair() { bench pair "$@"; }

# kept NAME COMMAND...: makes a workspace by a function, unless an earlier run has left it.
kept() {
	ws=$1
	[ -d "$ws" ] && return
	shift
	rm -rf "$ws.new"
	tape init -q "$ws.new"
	"$@" "$ws.new"
	mv "$ws.new" "$ws"
}
flat() { bench entries "$1" | tape append --stdin -q --workspace "$2" && tape handoff filled -q --workspace "$2"; }
phases() {
	bench entries "$1" | split -l 1000 - "$2.part."
	n=0
	for part in "$2".part.*; do
		[ $n = 0 ] || tape handoff "phase-$n" -q --workspace "$2"
		tape append --stdin -q --workspace "$2" <"$part"
		n=$((n + 1))
	done
	rm -f "$2".part.*
	tape handoff filled -q --workspace "$2"
}
many() { bench tapes "$1" | git -C "$2" fast-import --quiet && git -C "$2" pack-refs --all; }
short_tape() { kept flat-1000 flat 1000; }
long_tape() { kept "flat-$entries" flat "$entries"; long=flat-$entries; }
indexed() { long_tape; tape index sync --workspace "$long" >/dev/null; }
many_tapes() { kept "many-$tapes" many "$tapes"; }

part_append() {
	short_tape; long_tape
	for n in 1000 "$entries"; do
		pair -n $((4 * runs)) "append, $n entries" tape append --role user --text 'what did the last test say?' -q --workspace "flat-$n" ::: git --version
	done
	pair -n $((4 * runs)) 'tape --version' tape --version ::: git --version
	bench entries $((entries / 10)) >lines
	pair -n 3 -in lines -a 'rm -rf stream; tape init -q stream' "append --stdin, $(du -m lines | cut -f1) MB" tape append --stdin -q --workspace stream
}

part_handoff() {
	short_tape; long_tape
	bench entries 10 >ten
	for n in 1000 "$entries"; do
		rm -rf plain && git clone -q "flat-$n" plain
		pair -n "$runs" -a "tape append --stdin -q --workspace flat-$n <ten" \
			-b 'd=plain/anchors/9${I}_plain; mkdir -p $d; for f in messages tool_calls events; do cp ten $d/$f.jsonl; done; echo $I >$d/anchor.json' \
			"handoff, $n entries" tape handoff 'phase-{}' --summary 'ten entries on' -q --workspace "flat-$n" \
			::: git -C plain -c core.fsync=all -c gc.auto=0 add -A ';;' git -C plain -c core.fsync=all -c gc.auto=0 commit -q -m 'handoff {}' ';;' git -C plain -c core.fsync=all tag -a -m '{}' 'phase-{}'
	done
}

part_fork() {
	short_tape; long_tape
	kept "phased-$entries" phases "$entries"
	bench entries 10 >ten
	for ws in "flat-$entries" "phased-$entries"; do
		pair -n "$runs" -in ten "fork, ten entries, merge; $ws" \
			tape fork try -q --workspace "$ws" ';;' tape append --stdin -q --tape main/try --workspace "$ws" ';;' tape merge try -q --workspace "$ws" \
			::: tape fork try -q --workspace flat-1000 ';;' tape append --stdin -q --tape main/try --workspace flat-1000 ';;' tape merge try -q --workspace flat-1000
	done
}

part_import() {
	for how in "1 $((entries * 200))" '1000 1' "$tapes 1"; do
		rm -rf in && mkdir in
		bench transcripts $how in
		pair -n 3 -a 'rm -rf imported; tape init -q imported' "import, $(ls in | wc -l) sessions, $(du -m in | cut -f1) MB" tape import claude-code in -q --workspace imported
		pair -n "$few" '  again' tape import claude-code in -q --workspace imported
	done
}

# find_row NAME 'RIPGREP ARGUMENTS' SEARCH ARGUMENTS: a search beside ripgrep, which counts lines.
find_row() {
	row=$1 rg=$2
	shift 2
	set -f # the patterns are split at spaces, and are no names of files
	pair -n "$find_runs" -ok 0,1,3 "$row" tape search "$@" --workspace "$long" ::: rg --no-config -c $rg "$long/anchors"
	set +f
}

part_search() {
	indexed
	find_runs=$runs
	find_row "rare word: $rare" "-Fw $rare" "$rare"
	find_row "frequent word: $often" "-Fw $often" "$often"
	find_row "two words: $two" "-Fw ${two%% *}" "$two"
	find_row "three words: $three" "-Fw ${three%% *}" "$three"
	find_row 'frequent and rare word' "-Fw $rare" "$often $rare"
	find_row "phrase: $two" "-w ${two%% *}.${two##* }" "\"$two\""
	find_row "prefix: $prefix" "\\b$prefix" "$prefix*"
	find_row "Chinese: $cjk2" "-F $cjk2" "$cjk2"
	find_row "identifier: $name" "-Fw $name" "$name"
	find_row "error code: $code" "-Fw $code" "$code"
	find_row "misspelt: $typo" "-Fw $right" "$typo"
	find_row 'frequent word --count' "-Fw $often" "$often" --count
	find_row 'frequent word --sort newest' "-Fw $often" "$often" --sort newest
	find_row 'frequent word --kind message' "-Fw $often" "$often" --kind message
	find_row 'frequent word of one day' "-Fw $often" "$often" --since 2026-02-10 --until 2026-02-10
	pair -n "$few" -a "tape append --text more -q --workspace $long" 'search after one append' tape search "$rare" --workspace "$long"
	pair -n 1 "word: $right; jq over all lines" tape search "$right" --workspace "$long" ::: sh -c "jq -c 'select([.payload | .. | strings | contains(\"$right\")] | any) | .id' $long/anchors/*/*.jsonl"
}

part_exact() {
	indexed
	find_runs=$few
	middle=${rare#?}
	find_row "search --substring, rare: $middle" "-F $middle" --substring "$middle"
	find_row 'search --substring, absent' "-F $absent" --substring "$absent"
	find_row "search --substring, frequent: $often" "-F $often" --substring "$often"
	find_row 'search --substring -i' "-Fi $middle" --substring -i "$middle"
	find_row 'search --regex with a literal' "$right.[a-z]+ba" --regex "$right.[a-z]+ba"
	find_row 'search --regex, alternation' "$rare|${two%% *}x|$absent" --regex "$rare|${two%% *}x|$absent"
	find_row 'search --regex, class' 'E_[A-Z]+_[0-9]+' --regex 'E_[A-Z]+_[0-9]+'
	find_row 'search --regex, no literal' '[a-f]{6}[0-9]' --regex '[a-f]{6}[0-9]'
}

part_between() {
	kept "phased-$entries" phases "$entries"
	at=$((entries / 2000))
	pair -n "$runs" 'between, one phase' tape between "phase-$at" "phase-$((at + 1))" --json --workspace "phased-$entries" ::: tape --version
	short_tape; long_tape
	for n in 1000 "$entries"; do
		tape handoff context -q --workspace "flat-$n"
		bench entries 10 | tape append --stdin -q --workspace "flat-$n"
	done
	pair -n "$runs" "context, $entries entries" tape context --workspace "$long" ::: tape context --workspace flat-1000
}

part_index() {
	indexed
	# A table with the columns of the view entries, its indexes and the words of the same texts, filled by SQLite itself
	# without care for power cuts.
	rm -f texts.db other.db
	bench seed "$entries" >texts
	sqlite3 -cmd '.mode tabs' texts.db 'CREATE TABLE e (id INTEGER PRIMARY KEY, kind, date, t)' '.import texts e'
	echo "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; ATTACH 'texts.db' AS e;
		CREATE TABLE entries (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, anchor_name TEXT, anchor_seq INTEGER, file_path TEXT NOT NULL,
			line_offset INTEGER NOT NULL, created_at TEXT NOT NULL, summary TEXT);
		CREATE INDEX by_kind ON entries (kind); CREATE INDEX by_anchor ON entries (anchor_name);
		CREATE INDEX by_seq ON entries (anchor_seq); CREATE INDEX by_date ON entries (created_at);
		CREATE VIRTUAL TABLE entries_fts USING fts5(text, content='');
		BEGIN; INSERT INTO entries SELECT id, kind, 'session/start', 1, 'anchors/001_session-start/messages.' || id / 1000 || '.jsonl', id % 1000, date, substr(t, 1, 80) FROM e.e;
		INSERT INTO entries_fts (rowid, text) SELECT id, t FROM e.e; COMMIT;" >fill.sql
	pair -n 3 -b 'rm -f other.db' 'index rebuild' tape index rebuild --workspace "$long" ::: sqlite3 -bail other.db '.read fill.sql'
	cat "$long"/anchors/*/* | wc -c | awk -v size="$(wc -c <"$long/index.db")" '{printf "  index.db: %d MB, %.2f of the text\n", size / 1048576, size / $1}'
	if [ -n "${FORMER:-}" ]; then
		rm -rf former && cp -r "$long" former && "$FORMER" index rebuild --workspace former >/dev/null
		for words in "$rare" "$often" "$two"; do
			pair -n "$runs" "search: $words; the former program" tape search "$words" --workspace "$long" ::: "$FORMER" search "$words" --workspace former
		done
	fi
}

part_all() {
	many_tapes
	tape index sync --workspace "many-$tapes" >/dev/null
	for word in next zebra; do
		pair -n "$runs" -ok 0,1,3 "search --all-tapes: $word" tape search "$word" --all-tapes --workspace "many-$tapes" ::: git --version
	done
	pair -n "$few" 'tapes' tape tapes --json --workspace "many-$tapes" ::: git -C "many-$tapes" for-each-ref
	pair -n "$few" 'index rebuild' tape index rebuild --workspace "many-$tapes" ::: git -C "many-$tapes" rev-list --objects --all
	pair -n "$few" 'verify' tape verify --workspace "many-$tapes" ::: git -C "many-$tapes" fsck --strict --full
	pair -n "$few" 'gc' tape gc --workspace "many-$tapes" ::: git -C "many-$tapes" gc --quiet
}

# shared NAME RUNS: pushes, clones and pulls of a workspace, and by git alone of a copy.
shared() {
	ws=$1 refs='refs/heads/tape/*:refs/heads/tape/* refs/tags/anchor/*:refs/tags/anchor/*'
	rm -rf a.git b.git plain clone copy
	git init -q --bare a.git
	cp -r "$ws" plain
	tape remote remove origin --workspace "$ws" >/dev/null 2>&1 || true
	tape remote add origin "file://$PWD/a.git" --workspace "$ws" >/dev/null
	pair -n "$2" -a "rm -rf a.git; git init -q --bare a.git; tape fetch -q --workspace $ws || true" -b 'rm -rf b.git; git init -q --bare b.git' \
		"push, $ws" tape push --all -q --workspace "$ws" ::: git -C plain push -q --no-verify "$PWD/b.git" $refs
	pair -n "$2" -a 'rm -rf clone' -b 'rm -rf copy' "clone, $ws" tape clone "file://$PWD/a.git" clone -q ::: git clone -q -c core.fsync=all "file://$PWD/a.git" copy
	pair -n "$few" "pull, nothing new, $ws" tape pull -q --workspace clone ::: git -C copy fetch -q
	pair -n "$few" "push, nothing new, $ws" tape push -q --workspace "$ws" ::: git -C plain push -q --no-verify "$PWD/b.git" $refs
}
part_share() {
	kept flat-10000 flat 10000
	shared flat-10000 "$few"
	many_tapes
	shared "many-$tapes" 1
}

for part in ${ONLY:-append handoff fork import search exact between index all share}; do
	echo
	echo "$part, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null)"
	"part_$part"
done
