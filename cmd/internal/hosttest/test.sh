#!/bin/sh
# Plays a chat host and two runners against tape serve. Usage: test.sh PROGRAM; needs python3.
set -eu
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "test-host needs python3" >&2; exit 1; }
dir=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null || :; rm -rf "$dir"' EXIT
export HOME="$dir" TAPE_HOME="$dir/home" TAPE_AUTHOR='Test <test@example.org>' TAPE_SERVE_TOKEN=token-of-the-test-token-of-the-test
mkdir "$dir/project"
cd "$dir/project"
"$program" init >/dev/null
"$program" serve --json >"$dir/ready" &
server=$!
while ! test -s "$dir/ready"; do
	kill -0 "$server"
	sleep 0.1
done
url=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["url"])' <"$dir/ready")
python3 "$here/story.py" "$url" "$TAPE_SERVE_TOKEN"
kill "$server"
wait "$server"
server=
