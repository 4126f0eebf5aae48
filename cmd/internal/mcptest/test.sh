#!/bin/sh
# Lets other people's clients call tape mcp: the TypeScript SDK's, and the inspector's command line.
#
#   test.sh TAPE     TAPE is the program
#
# Needs node, npm and a package registry. MCP_DIR keeps the packages between runs.
set -eu

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo 'skipped: there is no node with npm'
	exit 0
fi
here=$(cd "$(dirname "$0")" && pwd)
tape=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
packages=${MCP_DIR:-$tmp/packages}

mkdir -p "$packages"
cp "$here/package.json" "$here/client.mjs" "$packages/"
cd "$packages"
npm install --silent --no-audit --no-fund

export TAPE_WORKSPACE="$tmp/ws" TAPE_HOME="$tmp/home" TAPE_AUTHOR='Ada <ada@example.org>'
"$tape" --quiet init "$tmp/ws"
"$tape" --quiet append --role user --text 'add a health check'
"$tape" --quiet append --role assistant --text 'GET /healthz answers 200'
node client.mjs "$tape"

inspect() { # which hands on only the environment that it is told to
	npx --no-install mcp-inspector --cli -e "TAPE_WORKSPACE=$TAPE_WORKSPACE" "$tape" mcp "$@"
}
inspect --method tools/list | grep -q '"tape_search"'
inspect --method tools/call --tool-name tape_search --tool-arg query=health | grep -q '@2 user'
inspect --method tools/call --tool-name tape_list | grep -q 'main'
inspect --method tools/call --tool-name tape_read --tool-arg from=@2 --tool-arg limit=1 | grep -q 'next_cursor'
inspect --method tools/call --tool-name tape_context --tool-arg max_tokens=2000 | grep -q 'recorded data'
inspect --method tools/call --tool-name tape_info --tool-arg tape=main | grep -q 'entries: '
inspect --method resources/list | grep -q 'tape://main'
inspect --method resources/read --uri tape://main/entries/2 | grep -q 'health check'
inspect --method prompts/get --prompt-name recall --prompt-args topic=health | grep -q 'tape_search'
echo 'the inspector is answered: tools, resources, prompts'
"$tape" --quiet verify
