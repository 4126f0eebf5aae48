package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"time"
)

// ShellWord makes a name safe to copy from a hint into a shell.
func ShellWord(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == ""
	if plain && s != "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Entries returns "entry 3" or "entries 3 to 5", last included.
func Entries(first, last int64) string {
	if first == last {
		return fmt.Sprintf("entry %d", first)
	}
	return fmt.Sprintf("entries %d to %d", first, last)
}

// TapeInfo is the content of tape.json.
type TapeInfo struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Created string `json:"created"`
}

// EncodeTapeInfo returns the content of tape.json.
func EncodeTapeInfo(name string, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(TapeInfo{Format: FormatVersion, Name: name, Created: FormatDate(created)})
	return b.Bytes(), err
}

// DecodeTapeInfo parses tape.json; file is its name in errors. Errors: ErrCorrupt if it is damaged or of a
// newer format.
func DecodeTapeInfo(raw []byte, file string) (TapeInfo, error) {
	var info TapeInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, &CorruptError{File: file, Msg: "not a JSON object: " + err.Error()}
	}
	switch {
	case info.Format > FormatVersion:
		return info, newerFormat(info.Format, FormatVersion, file)
	case info.Format < 1 || info.Name == "":
		return info, &CorruptError{File: file, Msg: "format or name is missing"}
	}
	return info, nil
}

// InstallNewer is the hint for a format that this program does not know.
const InstallNewer = "install a newer tape"

func newerFormat(n, known int, file string) error {
	return &CorruptError{File: file, Msg: fmt.Sprintf("the tape has format %d; this program reads up to %d", n, known), Fix: InstallNewer}
}

// CheckFormat refuses a commit whose trailer names a newer format.
func CheckFormat(c gitstore.Commit, where string) error {
	if n, err := strconv.Atoi(c.Trailer(TrailerFormat)); err == nil && n > ArtifactFormat {
		return newerFormat(n, ArtifactFormat, "commit "+where)
	}
	return nil
}

// BranchOf returns the branch of the tape with a name. If like is a fork's branch, it returns the branch of
// the fork with that name, or "" if no fork can have it.
func BranchOf(name, like string) string {
	if !strings.HasPrefix(like, ForkPrefix) {
		return BranchPrefix + TapeSlug(name)
	}
	parent, fork, ok := CutFork(name)
	if !ok {
		return ""
	}
	return ForkPrefix + TapeSlug(parent) + "/" + TapeSlug(fork)
}

// CheckPagesBranch checks the name of a branch for published pages. Errors: ErrInvalid.
func CheckPagesBranch(name string) error {
	ref := "refs/heads/" + name
	if err := gitstore.CheckRefName(ref); err != nil || name == "HEAD" || strings.HasPrefix(name, "-") { // as git branch has it
		return Invalid("for example: pages", "%q cannot be the name of a branch", name)
	}
	if strings.HasPrefix(ref, BranchPrefix) || strings.HasPrefix(ref, ForkPrefix) {
		return Invalid("for example: pages", "branches below tape/ and fork/ are sessions: %q cannot be the branch of the pages", name)
	}
	return nil
}

// FindEntry returns the entry of a tree with the given name, and whether there is one.
func FindEntry(entries []gitstore.TreeEntry, name string) (gitstore.TreeEntry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return gitstore.TreeEntry{}, false
}
