#!/bin/sh
# Checks what tape context writes against the providers' own types, and against the
# rules that types cannot tell (rules.mjs).
#
#   test.sh TAPE [TRANSCRIPT…]     TAPE is the program; transcripts are imported
#
# Needs node, npm and a package registry. SDK_DIR keeps the packages between runs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tape=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
sdk=${SDK_DIR:-$tmp/sdk}

mkdir -p "$sdk"
cp "$here/package.json" "$sdk/"
(cd "$sdk" && npm install --silent --no-audit --no-fund)

export TAPE_WORKSPACE="$tmp/ws" TAPE_HOME="$tmp/home"
"$tape" --quiet init "$tmp/ws"
"$tape" --quiet append --stdin <"$here/sample.jsonl"
"$tape" --quiet handoff next --state '{"summary":"数据库 done","n":1.0}'
"$tape" --quiet append --stdin <"$here/later.jsonl"
for file; do
	"$tape" --quiet import auto "$file" || echo "not imported: $file" >&2
done

mkdir -p "$sdk/out"
rm -f "$sdk"/out/*
n=0
"$tape" tapes --json | node -e '
	require("readline").createInterface({input: process.stdin}).on("line", l => console.log(JSON.parse(l).tape))' >"$tmp/tapes"
while IFS= read -r name; do
	n=$((n + 1))
	for format in openai anthropic; do
		i=0
		for flags in "" "--from 001" "--from 001 --no-anchor" "--from 001 --tail 2" "--from 001 --max-tokens 100000"; do
			i=$((i + 1))
			out=$sdk/out/$format-$n-$i
			# shellcheck disable=SC2086 # the flags are several words
			if ! "$tape" context --quiet --tape "$name" --format $format $flags >"$out.json" 2>"$tmp/err"; then
				rm "$out.json"
				grep -q 'the last turn' "$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
			fi
		done
		[ $format = openai ] || "$tape" context --quiet --tape "$name" --format $format --from 001 --system >"$sdk/out/system-$n.json"
	done
done <"$tmp/tapes"

cp "$here/rules.mjs" "$here/tsconfig.json" "$sdk/"
cd "$sdk"
node rules.mjs out
npx --no-install tsc --project tsconfig.json
echo "$(ls out/*.json | wc -l) arrays of $n tapes have the types that the packages want"
