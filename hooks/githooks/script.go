package githooks

import (
	"bytes"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
)

// mark is in every script that this package writes, so that isOurs recognises the script.
const mark = gitstore.HookMark

type hook struct {
	name      string
	purpose   string
	refuses   bool   // exit code 4 of the program stops git
	unchecked string // for the warning if the program fails: says what was not checked
	stdin     bool   // git passes something on standard input
	push      bool   // does nothing in a push by tape push, which has its own checks
}

func workspaceHooks() []hook {
	return []hook{
		{name: "pre-commit", purpose: "refuses what is not append-only", refuses: true, unchecked: "the commit was not checked"},
		{name: "pre-push", purpose: "refuses rewritten history and secrets", refuses: true, unchecked: "the push was not checked", stdin: true, push: true},
		{name: "post-merge", purpose: "completes a merge of tapes, and brings the index up to date"},
		{name: "post-checkout", purpose: "brings the index up to date"},
		{name: "post-commit", purpose: "brings the index up to date"},
		{name: "post-rewrite", purpose: "brings the index up to date"},
	}
}

// serverHooks are the hooks of a repository that others push to.
func serverHooks() []hook {
	return []hook{
		{name: "pre-receive", purpose: "refuses pushes that are not append-only", refuses: true, unchecked: "the push was not checked", stdin: true},
	}
}

// ownPrefix begins the line of a script that names the user's own hook.
const ownPrefix = "own="

// script returns the content of a hook's file. own is the name of the user's own hook in the same
// folder, or "".
//
// The program's output is held back until it ends: a failure that is not a refusal prints one
// line, whatever the program, or another program called tape, has printed. A process that [Start] leaves
// running has no streams, so it does not keep the pipe open.
func (h hook) script(own string) []byte {
	call := `said=$(tape hook NAME "$@" 2>&1 </dev/null)`
	if h.stdin {
		call = `said=$(printf '%s' "${input%x}" | tape hook NAME "$@" 2>&1)`
	}
	if h.push {
		call = "# tape push has looked at it already.\n" + `[ -z "$` + transport.PushEnv + `" ] || exit 0` + "\n" + call
	}
	unchecked, exit, answers := "", "exit 0", `0|4) [ -z "$said" ] || printf '%s\n' "$said" >&2 ;;
127) ;;`
	if h.refuses {
		unchecked, answers = ": "+h.unchecked, `0) [ -z "$said" ] || printf '%s\n' "$said" >&2 ;;
4) printf '%s\n' "$said" >&2; exit 1 ;;
127) echo "tape: warning: there is no program tape on the PATHUNCHECKED" >&2 ;;`
	} else if own != "" {
		exit = "exit $status"
	}
	judge := strings.NewReplacer("NAME", h.name, "UNCHECKED", unchecked).Replace(call + `
code=$?
case $code in
` + answers + `
*) said=${said%%"
"*}
   said=${said#tape: error: }
   printf '%s\n' "tape: warning: tape hook NAME failed with exit code $codeUNCHECKED${said:+ ($said)}" >&2 ;;
esac
`)
	return []byte("#!/bin/sh\n" + mark + "\n# It " + h.purpose + ".\n" + h.ownPart(own) + judge + exit + "\n")
}

// ownPart returns the shell code that calls the user's own hook. A hook that can refuse ends with the exit code
// of an own hook that refuses; in other hooks, script passes that code on at the end.
func (h hook) ownPart(own string) string {
	input, call := "", `"${0%/*}/$own" "$@"`
	if h.stdin {
		// The x keeps trailing newlines, which $(…) would drop.
		input, call = "input=$(cat; echo x)\n", `printf '%s' "${input%x}" 2>/dev/null | `+call
	}
	if own == "" {
		return input
	}
	out := input + ownPrefix + own + `
status=0
if [ -x "${0%/*}/$own" ]; then
	` + call + ` || status=$?
fi
`
	if h.refuses {
		out += "[ $status -eq 0 ] || exit $status\n"
	}
	return out
}

// isOurs reports whether a hook was written by this package.
func isOurs(content []byte) bool { return bytes.Contains(content, []byte("\n"+mark+"\n")) }

// ownOf returns the name of the user's own hook that our script calls first, or "".
func ownOf(content []byte) string {
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), ownPrefix); ok {
			return name
		}
	}
	return ""
}

// line returns a shell line with the same effect as our script, for hooks that this package does
// not write. A missing program is ignored.
func (h hook) line() string {
	return "tape hook " + h.name + ` "$@" || [ $? -ne 4 ] || exit 1`
}
