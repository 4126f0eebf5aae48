package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// checkTree refuses a tree that git fsck would complain of for as long as it is here, used
// or not: one that is not written as git writes it, and names that some file system takes
// for ".git".
func checkTree(raw []byte) error {
	entries, err := DecodeTree(raw)
	if err != nil {
		return err
	}
	if !bytes.Equal(EncodeTree(entries), raw) {
		return errors.New("a tree out of order, or with modes that git does not write")
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		if names[e.Name] {
			return fmt.Errorf("%.100q is twice in a tree", e.Name)
		}
		names[e.Name] = true
		if IsDotGit(e.Name) {
			return fmt.Errorf("unsafe name %.100q in a tree: some file systems take it for .git", e.Name)
		}
		if e.Hash.IsZero() {
			return fmt.Errorf("%.100q in a tree is nothing", e.Name)
		}
	}
	return nil
}

// IsDotGit reports names that a file system may take for ".git". HFS+ drops characters that
// are not seen; NTFS dots and spaces at the end, and what comes behind a colon, and it gives
// short names. Where a file system folds more than case, fold the name first.
func IsDotGit(name string) bool {
	name, _, _ = strings.Cut(strings.Map(seen, name), ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	short, ok := strings.CutPrefix(name, "git~")
	return name == ".git" || ok && short != "" && strings.Trim(short, "0123456789") == ""
}

// seen drops what HFS+ drops.
func seen(c rune) rune {
	switch {
	case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
		return -1
	}
	return c
}
