package hints

import "strings"

// remoteWords are parts of what git and servers say, and what to do then.
var remoteWords = []struct{ said, hint string }{
	{"transport 'file' not allowed", "git's setting protocol.file.allow, or a variable GIT_ALLOW_PROTOCOL or GIT_PROTOCOL_FROM_USER, forbids addresses that are paths; without such a variable, git config --global protocol.file.allow always permits them"},
	{"dubious ownership", "the repository there belongs to another user; if you trust it, run the git config command that git names"},
	{"hash algorithm", "the remote has SHA-256 ids, and tapes have SHA-1: make it anew with git init --bare --object-format=sha1"},
	{"mismatched algorithms", "the remote has SHA-256 ids, and tapes have SHA-1: make it anew with git init --bare --object-format=sha1"},
	{"too many open files", "this user or shell may open too few files at once: close programs, or raise the limit with ulimit -n 1024"},
	{"addresses to push to", "tape remote add NAME URL adds one more remote; git remote set-url --delete --push NAME URL takes an address away"},
	{"unable to parse command-line config", "a variable GIT_CONFIG_COUNT or GIT_CONFIG_PARAMETERS is wrong: unset it, and try again"},
	{"invalid date format", "a variable GIT_AUTHOR_DATE or GIT_COMMITTER_DATE is wrong: unset it, and try again"},
	{"updates aborted by hook", "a hook of the remote forbids it: ask its administrator"},
	{"git-http-push failed", "the server at that address only lends files: it can be cloned from, but pushes need ssh or git's own server for HTTP"},
	{"error: 407", "the proxy wants a name and a password: git's setting http.proxy can have them, as http://NAME:PASSWORD@HOST:PORT"},
	{"bad line length character", "the shell there prints something of its own, which git takes for an answer: what ssh HOST true prints must go from its start-up files"},
	{"does not support --signed push", "git's setting push.gpgSign wants a signature, which the server does not take: git config --global push.gpgSign if-asked, or the same in the workspace"},
	{"does not support push options", "git's setting push.pushOption wants to send what the server does not take: git config --show-origin --get-all push.pushOption shows where it stands"},
	{"error: 429", "the server wants fewer requests: try again in some minutes"},
	{"too many requests", "the server wants fewer requests: try again in some minutes"},
	{"rate limit", "the server wants fewer requests: try again in some minutes"},
	{"error: 413", "the server takes less at once than is sent: push fewer tapes with --tape, use ssh, or ask its administrator"},
	{"error: 507", noRoom},
	{"error: 500", unavailable}, {"error: 502", unavailable}, {"error: 503", unavailable}, {"error: 504", unavailable},
}

// noRoom is the hint for a remote that is full.
const noRoom = "the remote has no room left: ask its administrator, or push to another one; here nothing is lost"

const unavailable = "the server is not available now: try again later"

// OfRemote returns what to do about a remote's or git's message; "" if it says nothing that is known.
func OfRemote(message string) string {
	message = strings.ToLower(message)
	for _, w := range remoteWords {
		if strings.Contains(message, w.said) {
			return w.hint
		}
	}
	return ""
}
