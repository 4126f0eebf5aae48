# Makes the workspace that the judges read. Sourced by test.sh, which sets $program and
# $tmp.

ws=$tmp/ws
archives=$tmp/archives

# Nobody's settings, a name beyond ASCII, and a zone that is not whole hours. git finds
# tape in the PATH, as its hooks and drivers do.
mkdir -p "$tmp/bin" "$archives"
ln -s "$program" "$tmp/bin/tape"
export PATH="$tmp/bin:$PATH" TAPE_HOME="$tmp/home" TAPE_WORKSPACE="$ws" TZ=Asia/Kolkata
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME='Zoë Größe' GIT_AUTHOR_EMAIL=zoe@example.org
export GIT_COMMITTER_NAME='Zoë Größe' GIT_COMMITTER_EMAIL=zoe@example.org
unset TAPE_NAME TAPE_AUTHOR GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

fail() {
	echo "error: $*" >&2
	exit 1
}

# on TAPE COMMAND… runs a command on a tape, and says nothing.
on() {
	name=$1
	shift
	tape --quiet --tape "$name" "$@" >/dev/null
}

say() {
	on "$1" append --role "${3:-user}" --text "$2"
}

# big TAPE N SEED appends N messages and N results of 60 kB each, so that files are sealed.
big() {
	awk -v n="$2" -v seed="$3" 'BEGIN {
		srand(seed)
		split("zeile 設計 größe été tape merge commit phase \\\"quoted\\\" naïve \\ud83d\\ude00 数据库", w, " ")
		for (i = 0; i < n; i++) {
			s = ""
			while (length(s) < 60000) s = s w[int(rand() * 12) + 1] int(rand() * 1e9) " "
			printf "{\"kind\":\"message\",\"payload\":{\"role\":\"user\",\"content\":\"%s\"}}\n", s
			printf "{\"kind\":\"tool_result\",\"payload\":{\"results\":[\"%s\"]}}\n", s
		}
	}' >"$tmp/big"
	on "$1" append --stdin <"$tmp/big"
}

# both FORK has both sides of a fork go on, each with a phase of its own and a file that
# the other does not have.
both() {
	say "main/$1" "theirs, of $1" assistant
	on "main/$1" append --kind event --payload '{"name":"theirs","data":{"n":1.0}}'
	on "main/$1" handoff "theirs of $1"
	say main "ours, beside $1"
	on main append --kind error --payload '{"kind":"tool","message":"ours"}'
	on main handoff "ours beside $1"
	say main 'ours again'
	say "main/$1" 'theirs again'
	on main commit
	on "main/$1" commit
}

completions() {
	git -C "$ws" log --format='%(trailers:key=Tape-Completes,valueonly)' refs/heads/tape/main | grep -c .
}

# archive TAPE starts a tape over, and keeps what the archive has to hold.
archive() {
	on "$1" commit
	tape_lines "$1" >"$tmp/archived"
	on "$1" reset --archive --yes
	ref=$(tape archives --tape "$1" --json | field ref | LC_ALL=C sort | tail -n 1)
	mkdir -p "$(dirname "$archives/$ref")"
	[ ! -e "$archives/$ref" ] || fail "archive $ref is there twice"
	mv "$tmp/archived" "$archives/$ref"
}

# begin makes tapes, forks and merges; nothing is packed.
begin() {
	tape --quiet init "$ws"
	say main 'der erste Zug: 数据库, Größe, z'
	on main append --kind tool_call --payload '{"calls":[{"id":"c1","type":"function","function":{"name":"grep","arguments":"{}"}}]}'
	on main append --kind tool_result --payload '{"results":["\ud800 alone",{"n":1.0}]}'
	on main handoff 'Prüfung der 設計' --summary 'geprüft: 数据库' --state '{"n":1.0}'
	big main 6 1
	on main handoff 'sealed files'
	say main 'behind the big ones'

	on main fork 'größe'
	say 'main/größe' 'on the fork' assistant
	on 'main/größe' handoff 'été'
	big 'main/größe' 5 2
	on 'main/größe' fork 'внутри'
	say 'main/größe/внутри' 'on the fork of the fork' assistant
	on 'main/größe/внутри' handoff deeper
	on 'main/größe/внутри' append --kind event --payload '{"name":"done"}'
	on main fork early --at 002
	say main/early 'from the middle'
	on main/early handoff 'early phase'
	on main fork by-entry --at @3
	say main/by-entry 'from an entry in the middle of a commit'
	on main/by-entry commit
	say main 'the parent goes on'
	on 'main/größe' merge 'внутри'
	on main merge 'größe'
	on main merge early --keep
	on main fork brief
	big main/brief 1 3
	on main merge brief --summary 'kurz: nothing came of it'
	on main fork dropped
	say main/dropped 'to be dropped'
	on main/dropped handoff 'dropped phase'
	on main discard dropped --yes

	# A fork that begins with git alone, and an entry that is written by hand.
	on main commit
	git -C "$ws" worktree add -q -b fork/main/by-hand "$tmp/by-hand" tape/main
	id=$(($(tape_lines main | grep -c .) + 1))
	last=$(ls -d "$tmp"/by-hand/anchors/* | tail -n 1)
	printf '%s\n' "{ \"x\" : 1.0, \"id\": $id , \"kind\":\"message\",\"payload\":{\"role\":\"user\",\"content\":\"von Hand\"},\"date\":\"2026-11-20T09:30:00Z\" }" \
		>>"$last/messages.jsonl"
	git -C "$tmp/by-hand" add -A
	git -C "$tmp/by-hand" commit -q -m 'an entry by hand'

	# Git merges, and a hook completes that.
	on main fork by-git
	both by-git
	git -C "$ws" merge -q -m 'merged by git: größe' fork/main/by-git >/dev/null
	[ "$(completions)" = 1 ] || fail 'the hook has not completed the merge'

	# The accent is a character of its own.
	nfd=$(printf 'cafe\314\201')
	on main new 'Übung/数据库'
	say 'Übung/数据库' 'a tape with a name beyond ASCII'
	on main fork "$nfd"
	say "main/$nfd" 'another'
	on "main/$nfd" commit
	on 'Übung/数据库' handoff next
	archive 'Übung/数据库'
	say 'Übung/数据库' 'over again'
	on 'Übung/数据库' commit
	on main commit
}

# go_on does the same and more in a workspace that is packed.
go_on() {
	on main fork later
	both later
	# The hook does not run; the next command completes.
	git -C "$ws" -c core.hooksPath=/dev/null merge -q -m 'merged by git, without hooks' fork/main/later >/dev/null
	[ "$(completions)" = 1 ] || fail 'there was nothing left to complete'
	say main 'behind the merge'
	[ "$(completions)" = 2 ] || fail 'the merge was not completed'
	say main/early 'more, after it was merged'
	on main/early commit
	on main merge early
	git -C "$ws" merge -q -m 'what was written by hand' fork/main/by-hand >/dev/null
	tape_lines main | grep -q '"von Hand"' || fail 'the entry by hand was not merged'
	big main 5 4
	on main handoff 'in a packed workspace'
	archive 'Übung/数据库'
	say 'Übung/数据库' 'the third time'
	on 'Übung/数据库' handoff 'spät'
	on main commit
}

# check asks tape and git themselves, at the end.
check() {
	tape --quiet verify
	git -C "$ws" fsck --strict --no-dangling --no-progress
}
