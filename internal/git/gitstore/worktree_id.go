package gitstore

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"unicode"
)

// maxWorktreeID limits an id, which is a folder name, in bytes.
const maxWorktreeID = 100

// WorktreeID returns the preferred name of the admin folder for a branch. It is a valid part of a ref
// name, because git has refs like worktrees/<id>/HEAD.
func WorktreeID(branch string) string {
	name := strings.TrimPrefix(branch, "refs/heads/")
	id := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '-' || c == '.' {
			return c
		}
		return '-'
	}, name)
	for strings.Contains(id, "..") {
		id = strings.ReplaceAll(id, "..", "-")
	}
	id = strings.Trim(strings.TrimSuffix(id, ".lock"), ".")
	if id == "" || len(id) > maxWorktreeID {
		id = strings.ToValidUTF8(id[:min(len(id), maxWorktreeID-9)], "") + "-" + shortHash(branch)
	}
	return id
}

func shortHash(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:4])
}
