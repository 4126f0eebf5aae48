#!/bin/sh
# Lets other implementations of git read what tape and git have written, and compares
# what they list with what git and tape themselves say.
#
#   test.sh TAPE                   TAPE is the program
#
# The judges are dulwich (Python) and isomorphic-git (node, npm and a package registry).
# One that cannot be had is left out, but not both. JUDGE_DIR keeps the packages between
# runs, PYTHON is the interpreter that has dulwich.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

. "$here/workspace.sh"
. "$here/listing.sh"

# find_judges puts the judges that there are into $judges.
find_judges() {
	judges=
	python=
	for p in ${PYTHON:-python3 /usr/bin/python3}; do # the system's has the system's packages
		[ -n "$python" ] || ! "$p" -c 'import dulwich' 2>/dev/null || python=$p
	done
	if [ -n "$python" ]; then
		judges=dulwich
	else
		echo 'left out: dulwich is not there (Debian has it as python3-dulwich)'
	fi
	packages=${JUDGE_DIR:-$tmp/packages}
	mkdir -p "$packages"
	cp "$here/package.json" "$here/judge.mjs" "$packages/"
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		echo 'left out: isomorphic-git needs node and npm'
	elif ! (cd "$packages" && npm install --silent --no-audit --no-fund) >"$tmp/npm" 2>&1; then
		cat "$tmp/npm"
		echo 'left out: isomorphic-git could not be installed'
	else
		judges="$judges isomorphic-git"
	fi
	[ -n "$judges" ] || fail 'there is no judge'
}

# ask JUDGE WORKSPACE DIR has a judge write what it reads into DIR.
ask() {
	mkdir -p "$3"
	case $1 in
	dulwich) "$python" "$here/judge.py" "$2" "$3" ;;
	isomorphic-git) node "$packages/judge.mjs" "$2" "$3" ;;
	esac && LC_ALL=C sort -o "$3/listing" "$3/listing"
}

# look N WHAT has the judges read the workspace as it is now, and compares.
look() {
	want=$tmp/want-$1
	mkdir "$want"
	git_listing "$ws" | LC_ALL=C sort >"$want/listing"
	tape_entries "$want/entries"
	counts "$want" >"$tmp/counts"
	echo "$2 ($(stored)): $(cat "$tmp/counts")"
	for judge in $judges; do
		got=$tmp/$judge-$1
		if ! ask "$judge" "$ws" "$got"; then
			echo "  $judge cannot read it"
			status=1
		elif ! (cd "$tmp" && diff -r "want-$1" "$judge-$1") >"$tmp/diff"; then
			echo "  $judge reads something else (<: git and tape, >: $judge):"
			head -n 20 "$tmp/diff" | cut -c 1-300 | sed 's/^/    /'
			status=1
		else
			echo "  $judge $(cat "$tmp/version-$judge") reads the same"
		fi
	done
}

# stored says how the objects are stored.
stored() {
	git -C "$ws" count-objects -v | awk '{ n[$1] = $2 } END { printf "loose: %d, packed: %d", n["count:"], n["in-pack:"] }'
}

# notice changes a byte of a stored file in a copy, which each judge has to notice; else
# the comparison is worth nothing. Some list the other byte, some refuse the file.
notice() {
	copy=$tmp/copy
	cp -R "$ws" "$copy"
	id=$(git -C "$copy" rev-parse "refs/heads/tape/main:anchors/001_session-start/messages.jsonl")
	other=$(git -C "$copy" cat-file blob "$id" | tr z y | git -C "$copy" hash-object -w --stdin)
	[ "$id" != "$other" ] || fail 'there is no byte to change'
	chmod u+w "$copy/.git/objects/$(loose "$id")"
	cat "$copy/.git/objects/$(loose "$other")" >"$copy/.git/objects/$(loose "$id")"
	for judge in $judges; do
		got=$tmp/$judge-changed
		{ ask "$judge" "$copy" "$got" && diff -r "$tmp/want-1" "$got"; } >"$tmp/noticed" 2>&1 || true
		grep -q "$id" "$tmp/noticed" || fail "$judge does not notice a changed byte"
	done
	rm -rf "$copy"
	echo "a changed byte is noticed by:$(printf ' %s' $judges)"
}

# loose is where an object is that is in no pack.
loose() {
	echo "$1" | sed 's|^..|&/|'
}

status=0
find_judges
for judge in $judges; do
	case $judge in
	dulwich) "$python" -c 'import dulwich; print(".".join(map(str, dulwich.__version__[:3])))' ;;
	isomorphic-git) (cd "$packages" && node -p 'require("isomorphic-git").version()') ;;
	esac >"$tmp/version-$judge"
done

begin
look 1 'loose objects'
notice
tape --quiet gc
look 2 'after tape gc'
cmp "$tmp/want-1/listing" "$tmp/want-2/listing" || fail 'tape gc has changed what git lists'
go_on
look 3 'loose objects beside packs'
git -C "$ws" gc --quiet
look 4 'after git gc'
check
exit $status
