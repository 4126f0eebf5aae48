package layout

import (
	"slices"
	"strconv"
	"strings"
	"tape/internal/git/gitconfig"
)

// The versions of the on-disk format. Newer versions are refused.
const (
	FormatVersion  = 1 // in tape.json, and in the Tape-Format trailer of a tape without artifacts
	ArtifactFormat = 2 // in the trailer of a commit whose tree has artifacts
)

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

// SealSize is the size in bytes at which a segment is sealed: the next entry of its class begins a new
// segment. So a commit never rewrites more than that.
const SealSize = 256 << 10

// Names in a workspace.
const (
	TapeFile   = "tape.json"
	ReadmeFile = "README.md"
	// AttributesFile keeps a reader's git from changing line ends; its text is Attributes.
	AttributesFile = ".gitattributes"
	ConfigFile     = "config.json" // in PrivateDir: the workspace's settings; below Home: the user's
	AnchorsDir     = "anchors"
	AnchorFile     = "anchor.json"
	// ArtifactsDir is the folder in a phase whose files are named after the SHA-256 of their content.
	ArtifactsDir = "artifacts"
	TapesDir     = "tapes"
	ForksDir     = "forks"
	GitDirName   = ".git"
	PrivateDir   = "tape" // in .git: what no clone gets, such as settings and locks
	TornDirName  = "torn" // damaged files that were set aside
	TempDirName  = "tmp"  // files being written
)

// RootFiles returns the files of a tape beside its phases. The first commit has them, in older tapes
// without ReadmeFile and AttributesFile, and they never change.
func RootFiles() []string { return []string{TapeFile, ReadmeFile, AttributesFile} }

// Attributes is the text of AttributesFile: git changes no line ends, and runs no filters, whatever the reader's
// core.autocrlf or own attributes say. No other text is accepted.
const Attributes = "# A tape's files are bytes: no setting of a reader changes them.\n" + gitconfig.Bytes

// Names in git.
const (
	BranchPrefix  = "refs/heads/tape/"
	ForkPrefix    = "refs/heads/fork/"
	TagPrefix     = "refs/tags/anchor/"
	ArchivePrefix = "refs/tape/archive/"

	TrailerName      = "Tape-Name"
	TrailerAnchor    = "Tape-Anchor"
	TrailerEntries   = "Tape-Entries"
	TrailerFormat    = "Tape-Format"
	TrailerBase      = "Tape-Base"      // of a fork's first commit: its parent's last entry
	TrailerBegan     = "Tape-Began"     // of that commit: the time, which tells forks of the same name apart
	TrailerFork      = "Tape-Fork"      // of a merge commit: the merged fork
	TrailerMerge     = "Tape-Merge"     // of a merge commit: MergeSummary if a summary stands for the fork's entries
	TrailerCompletes = "Tape-Completes" // of the commit that completes a merge by git

	TrailerPurged   = "Tape-Purged"   // of the commit that records a purge: the purged entries, as 3,5-9
	TrailerReplaces = "Tape-Replaces" // of that commit: the branch's former commit
)

// CutRef splits the name of a ref at its shared prefix; prefix is "" if it has none.
func CutRef(ref string) (prefix, rest string) {
	for _, prefix := range SharedPrefixes() {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			return prefix, rest
		}
	}
	return "", ref
}

// SharedPrefixes returns the prefixes of refs that are shared with remotes.
func SharedPrefixes() []string {
	return []string{BranchPrefix, ForkPrefix, TagPrefix, ArchivePrefix}
}

// MergeSummary is the value of TrailerMerge where a summary stands for a fork's entries.
const MergeSummary = "summary"

// Class is a class of entries; each has files of its own in a phase.
type Class int

// The classes, and how many there are.
const (
	classMessages Class = iota
	classTools
	ClassEvents
	ClassCount
)

var classNames = [ClassCount]string{"messages", "tool_calls", "events"}

// ClassOf returns the class of a kind.
func ClassOf(kind string) Class {
	switch kind {
	case KindMessage, KindSystem:
		return classMessages
	case KindToolCall, KindToolResult:
		return classTools
	}
	return ClassEvents
}

// SegmentName returns the name of the n-th file (from 1) of a class.
func SegmentName(c Class, n int) string {
	if n == 1 {
		return classNames[c] + ".jsonl"
	}
	return classNames[c] + "." + strconv.Itoa(n) + ".jsonl"
}

// ParseSegment is the inverse of SegmentName.
func ParseSegment(name string) (c Class, n int, ok bool) {
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
	i := slices.Index(classNames[:], base)
	return Class(max(0, i)), n, i >= 0
}

// CutFork splits the name of a fork at its last slash: names of tapes may have slashes, those of forks may not.
func CutFork(name string) (parent, fork string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 1 || i == len(name)-1 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// ShortTag returns a tag's name as git shows it.
func ShortTag(ref string) string { return strings.TrimPrefix(ref, "refs/tags/") }
