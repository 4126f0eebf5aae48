#!/bin/sh
# The web view as a person uses it, in a real Chromium. TAPE_TEST_PICTURES=DIR keeps pictures of
# the pages in light, dark and at a phone's width. With TAPE_TEST_WORKSPACE=DIR, TestLayout also
# looks at the sessions of that workspace.
set -eu
if [ -z "${TAPE_TEST_CHROMIUM:-}" ]; then
	for name in chromium chromium-browser google-chrome; do
		TAPE_TEST_CHROMIUM=$(command -v "$name") && break
	done
fi
if [ -z "${TAPE_TEST_CHROMIUM:-}" ]; then
	echo 'test-web: there is no Chromium. On Debian: apt-get install chromium; elsewhere set TAPE_TEST_CHROMIUM to the program.' >&2
	exit 1
fi
export TAPE_TEST_CHROMIUM
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${TAPE_TEST_AXE:-}" ]; then
	if (cd "$dir" && npm pack axe-core@4.11.0 --silent && tar xzf axe-core-*.tgz) >/dev/null 2>&1; then
		TAPE_TEST_AXE=$dir/package/axe.min.js
		export TAPE_TEST_AXE
	else
		echo 'test-web: axe-core is left out: npm could not get it' >&2
	fi
fi
${GO:-go} test -vet=off -tags extra -count=1 "$@" ./internal/serve/web
