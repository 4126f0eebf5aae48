package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// How numbers, names and entries stand in sentences.

func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func entries[N int | int64](n N) string { return count(n, "entry", "entries") }

// quoted shows a name inside a sentence.
func quoted(name string) string { return truncate(strconv.Quote(name), 80) }

func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/1024, "KMGT"
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, units[0])
}

// shellWord makes a name safe to copy from a hint into a shell.
func shellWord(s string) string {
	s = safeLine(s)
	if s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// idRange names entries that follow each other.
func idRange(first, last int64) string {
	if first == last {
		return fmt.Sprintf("@%d", first)
	}
	return fmt.Sprintf("@%d to @%d", first, last)
}

// shortID is a commit as people are shown it.
func shortID(commit string) string { return fmt.Sprintf("%.12s", commit) }

// named are entries as commands name them.
func named(ids []int64) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprintf("@%d", id)
	}
	return strings.Join(out, " ")
}
