#!/bin/sh
# Records sessions of the real agents against a scripted model, and compares the tapes
# with what was said and with an import.
#
#   test.sh TAPE [FLAG]…           TAPE is the program, FLAGs are those of go test
#
# The agents come from npm, at the versions of package.json, into AGENTS_DIR, which keeps
# them between runs. If the machine allows it, they run in a network that has nothing but
# the model.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
for need in node npm; do
	command -v "$need" >/dev/null || {
		echo "test-agents: skipped: the agents need $need, which is not installed"
		exit 0
	}
done

AGENTS_DIR=${AGENTS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/tape-agents}
mkdir -p "$AGENTS_DIR"
if ! cmp -s "$here/package.json" "$AGENTS_DIR/installed.json"; then
	cp "$here/package.json" "$AGENTS_DIR/"
	(cd "$AGENTS_DIR" && npm install --silent --no-audit --no-fund)
	cp "$here/package.json" "$AGENTS_DIR/installed.json"
fi
# Qwen Code, pi and Kimi Code need a newer Node than many machines have. For Linux, package.json has one.
PATH="$AGENTS_DIR/node_modules/.bin:$PATH"
export TAPE_AGENTS="$AGENTS_DIR" TAPE_PROGRAM="$program"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
(cd "$here" && ${GO:-go} test -vet=off -tags extra -c -o "$tmp/agents.test" .)

# Their own network, and file systems that end with the run.
alone='ip link set lo up && exec "$0" "$@"'
user=--map-root-user
[ "$(id -u)" != 0 ] || user=
# shellcheck disable=SC2086 # empty, or one word
if unshare $user --net --mount sh -c 'ip link set lo up' 2>/dev/null; then
	set -- unshare $user --net --mount sh -c "$alone" "$tmp/agents.test" "$@"
else
	echo 'test-agents: cannot make a separate network: the agents use that of this machine, with a proxy that does not exist'
	set -- "$tmp/agents.test" "$@"
fi
cd "$here"
"$@" -test.timeout 3h
