# What git and tape say of the workspace, in the words of the judges. Sourced by test.sh.
#
# A listing has these lines, sorted:
#
#   HEAD REF                          what is checked out
#   ref REF ID TYPE                   branches, tags, archives
#   tag ID OBJECT TYPE NAME SHA       SHA is that of the message
#   tagger ID WHO
#   reach REF ID                      the commits of a ref
#   commit ID TREE [PARENT…]
#   author ID WHO, committer ID WHO
#   message ID SHA
#   file COMMIT MODE BLOB PATH        the files of every commit
#   blob ID SIZE SHA                  and their bytes
#
# Beside it, entries/REF has a line for each entry of a tape, fork or archive, in order:
# the number of the phase, and the line as it is stored.

sha() {
	if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64
}

# field NAME prints a field of each JSON object, which is a string without escapes.
field() {
	sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'
}

# body prints what is behind the header of a commit or tag.
body() {
	sed '1,/^$/d' "$1"
}

git_listing() {
	echo "HEAD $(git -C "$1" symbolic-ref HEAD)"
	git -C "$1" for-each-ref --format='ref %(refname) %(objectname) %(objecttype)' >"$tmp/refs"
	cat "$tmp/refs"
	raw=$tmp/raw
	while read -r _ ref id type; do
		git -C "$1" rev-list "$ref" | sed "s|^|reach $ref |"
		[ "$type" = tag ] || continue
		git -C "$1" cat-file tag "$id" >"$raw"
		echo "tag $id $(sed -n '1,/^$/s/^object //p' "$raw") $(sed -n '1,/^$/s/^type //p' "$raw")" \
			"$(sed -n '1,/^$/s/^tag //p' "$raw") $(body "$raw" | sha)"
		sed -n "1,/^\$/s/^tagger /tagger $id /p" "$raw"
	done <"$tmp/refs"
	git -C "$1" rev-list --all >"$tmp/commits"
	while read -r id; do
		git -C "$1" cat-file commit "$id" >"$raw"
		git -C "$1" show -s --format='commit %H %T %P' "$id" | sed 's/ $//'
		sed -n "1,/^\$/{ s/^author /author $id /p; s/^committer /committer $id /p; }" "$raw"
		echo "message $id $(body "$raw" | sha)"
		git -C "$1" -c core.quotePath=false ls-tree -r --full-tree "$id" |
			awk -v id="$id" '{ tab = index($0, "\t"); print "file", id, $1, $3, substr($0, tab + 1) }'
	done <"$tmp/commits"
	git -C "$1" rev-list --objects --no-object-names --all |
		git -C "$1" cat-file --batch-check='%(objecttype) %(objectname) %(objectsize)' | grep '^blob ' >"$tmp/blobs"
	while read -r _ id size; do
		echo "blob $id $size $(git -C "$1" cat-file blob "$id" | sha)"
	done <"$tmp/blobs"
}

# tape_lines prints the entries of a tape, each behind the number of its phase: tape log
# has the number, and has to show what tape export has.
tape_lines() {
	tape log --tape "$1" --all --json |
		sed 's/^\(.*\),"tape":.*,"anchor_seq":\([0-9]*\)}$/\2 \1}/' >"$tmp/lines"
	tape export --tape "$1" >"$tmp/exported"
	sed 's/^[0-9]* //' "$tmp/lines" | cmp - "$tmp/exported" >&2 || fail "tape log and tape export differ on $1"
	cat "$tmp/lines"
}

tape_entries() {
	mkdir -p "$1"
	cp -R "$archives/." "$1/"
	{ tape tapes --json | field tape; tape forks --all --json | field name; } >"$tmp/tapes"
	while IFS= read -r name; do
		ref=refs/heads/$(tape info --tape "$name" --json | field branch)
		mkdir -p "$(dirname "$1/$ref")"
		tape_lines "$name" >"$1/$ref"
	done <"$tmp/tapes"
}

# counts says what there is to compare.
counts() {
	awk '
		$1 == "ref" { if ($2 ~ /^refs\/heads\//) b++; else if ($2 ~ /^refs\/tags\//) t++; else a++ }
		$1 == "commit" { c++; if (NF > 4) m++ }
		$1 == "file" { f++; if (/\.2\.jsonl$/) sealed++ }
		$1 == "blob" { n++; bytes += $3 }
		END {
			printf "branches: %d, tags: %d, archives: %d, commits: %d (merges: %d), ", b, t, a, c, m
			printf "files: %d (different ones: %d, %.1f MB)", f, n, bytes / 1e6
			exit !(b && t && a && c && m && f && n && sealed)
		}' "$1/listing" || fail 'something is not there to be compared'
	echo ", histories: $(find "$1/entries" -type f | grep -c .) (entries: $(find "$1/entries" -type f -exec cat {} + | grep -c .))"
}
