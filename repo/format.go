package repo

import (
	"strconv"
	"strings"
)

// FormatVersion is the version of the on-disk format, in tape.json and in the
// Tape-Format trailer. A newer one is refused.
const FormatVersion = 1

// The kinds of entries that the format knows. Any other non-empty string is legal.
const (
	KindSystem     = "system"
	KindMessage    = "message"
	KindToolCall   = "tool_call"
	KindToolResult = "tool_result"
	KindAnchor     = "anchor"
	KindEvent      = "event"
	KindError      = "error"
)

// FirstAnchor is the name of the anchor that opens every tape.
const FirstAnchor = "session/start"

// SealSize is the size in bytes at which a file of a phase is sealed: the next entry
// of its class opens the next file. So a commit never rewrites more than that.
const SealSize = 256 << 10

// DefaultMaxLine is the longest entry line accepted, in bytes, newline not counted.
const DefaultMaxLine = 16 << 20

// Names in a workspace.
const (
	tapeFile    = "tape.json"
	configFile  = "config.json"
	anchorsDir  = "anchors"
	anchorFile  = "anchor.json"
	tapesDir    = "tapes"
	forksDir    = "forks"
	indexFile   = "index.db"
	gitDirName  = ".git"
	privateDir  = "tape" // in .git: locks and what is set aside
	tornDirName = "torn"
)

// Names in git.
const (
	branchPrefix  = "refs/heads/tape/"
	forkPrefix    = "refs/heads/fork/"
	tagPrefix     = "refs/tags/anchor/"
	archivePrefix = "refs/tape/archive/"

	trailerName    = "Tape-Name"
	trailerAnchor  = "Tape-Anchor"
	trailerEntries = "Tape-Entries"
	trailerFormat  = "Tape-Format"
	trailerBase    = "Tape-Base"      // of the commit that begins a fork: its parent's last entry
	trailerBegan   = "Tape-Began"     // of that commit: when, so that a name used again is another fork
	trailerFork    = "Tape-Fork"      // of a merge commit: what was merged
	trailerMerge   = "Tape-Merge"     // of a merge commit: what was merged, if not the fork's entries
	trailerDone    = "Tape-Completes" // of the commit that completes a merge which git made

	trailerPurged   = "Tape-Purged"   // of the commit that records a purge: the entries that were changed, as 3,5-9
	trailerReplaces = "Tape-Replaces" // of that commit: the branch's commit before
)

// mergeSummary is the value of trailerMerge where a summary stands for a fork's entries.
const mergeSummary = "summary"

// class is one of the files that a phase's entries are divided into.
type class int

const (
	classMessages class = iota
	classTools
	classEvents
	classCount
)

var classNames = [classCount]string{"messages", "tool_calls", "events"}

func classOf(kind string) class {
	switch kind {
	case KindMessage, KindSystem:
		return classMessages
	case KindToolCall, KindToolResult:
		return classTools
	}
	return classEvents
}

// segmentName is the name of the n-th file (from 1) of a class.
func segmentName(c class, n int) string {
	if n == 1 {
		return classNames[c] + ".jsonl"
	}
	return classNames[c] + "." + strconv.Itoa(n) + ".jsonl"
}

// parseSegment is the inverse of segmentName.
func parseSegment(name string) (c class, n int, ok bool) {
	base, found := strings.CutSuffix(name, ".jsonl")
	if !found {
		return 0, 0, false
	}
	base, number, numbered := strings.Cut(base, ".")
	n = 1
	if numbered {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 2 || strconv.Itoa(n) != number {
			return 0, 0, false
		}
	}
	for i, known := range classNames {
		if base == known {
			return class(i), n, true
		}
	}
	return 0, 0, false
}
