package gitstore

import "strings"

// remoteRefs and FetchedPrefix begin the names of the refs that mirror remotes.
const (
	remoteRefs    = "refs/tape/remotes/"
	FetchedPrefix = "refs/tape/fetched/"
)

// isMirror reports whether a ref only mirrors a remote, in a namespace of our own.
func isMirror(name string) bool {
	return strings.HasPrefix(name, remoteRefs) || strings.HasPrefix(name, FetchedPrefix)
}

// RemoteRefs begins the names of the refs that hold what a remote has, as far as it is
// known here and was found good. Nothing else writes there, and git's own fetch does not.
func RemoteRefs(name string) string { return remoteRefs + name + "/" }

// FetchedRefs is RemoteRefs for what was fetched and nobody has looked at yet.
func FetchedRefs(name string) string { return FetchedPrefix + name + "/" }
