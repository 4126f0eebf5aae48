package audit

import "strings"

// isDotGit reports names that a file system may take for ".git". HFS+ ignores invisible characters;
// NTFS ignores dots and spaces at the end and everything after a colon, and has short names. Where
// a file system folds more than case, fold the name first.
func isDotGit(name string) bool {
	name, _, _ = strings.Cut(strings.Map(visible, name), ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	short, ok := strings.CutPrefix(name, "git~")
	return name == ".git" || ok && short != "" && strings.Trim(short, "0123456789") == ""
}

// visible drops the characters that HFS+ ignores.
func visible(c rune) rune {
	switch {
	case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
		return -1
	}
	return c
}
