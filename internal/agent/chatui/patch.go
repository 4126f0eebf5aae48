package chatui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// hunk is a change of a file as callview reads it from a call's details.
type hunk struct {
	From  int      `json:"newStart"`
	Lines []string `json:"lines"`
}

var atLine = regexp.MustCompile(`\(at line (\d+)\)$`)

// contextLines is how many lines are shown before and after a change. In a file of more than maxPatched bytes, no
// change is shown.
const (
	contextLines = 2
	maxPatched   = 4 << 20
)

// patchOf returns an edit that was just made, with the lines around it, in the form of a call's details. It
// returns nil for another call, for an edit of several places, or if the file does not have the new text.
func patchOf(dir, name, arguments, content string) []byte {
	var a struct{ Path, Old, New string }
	at := atLine.FindStringSubmatch(content)
	if name != "fs.edit" || at == nil || json.Unmarshal([]byte(arguments), &a) != nil {
		return nil
	}
	if !filepath.IsAbs(a.Path) {
		a.Path = filepath.Join(dir, a.Path)
	}
	if info, err := os.Stat(a.Path); err != nil || info.Size() > maxPatched {
		return nil
	}
	raw, err := os.ReadFile(a.Path)
	if err != nil {
		return nil
	}
	line, _ := strconv.Atoi(at[1]) // the pattern has digits
	h := change(strings.Split(string(raw), "\n"), line, a.Old, a.New)
	if h == nil {
		return nil
	}
	detail, err := json.Marshal(map[string][]hunk{"structuredPatch": {*h}})
	if err != nil {
		return nil
	}
	return detail
}

// change returns the hunk of an edit from one text to another, which begins in the given line (the first
// is 1); nil if lines do not have the new text there.
func change(lines []string, line int, from, to string) *hunk {
	if line < 1 || line > len(lines) {
		return nil
	}
	rest := strings.Join(lines[line-1:], "\n")
	at := strings.Index(rest, to)
	first, _, _ := strings.Cut(rest, "\n")
	if at < 0 || at > len(first) {
		return nil
	}
	n := strings.Count(to, "\n") + 1 // how many lines have a part of the new text
	begin, end := line-1, min(line-1+n, len(lines))
	added := lines[begin:end]
	whole := strings.Join(added, "\n")
	removed := strings.Split(whole[:at]+from+whole[at+len(to):], "\n")
	for len(removed) > 0 && len(added) > 0 && removed[0] == added[0] {
		removed, added, begin = removed[1:], added[1:], begin+1
	}
	for len(removed) > 0 && len(added) > 0 && removed[len(removed)-1] == added[len(added)-1] {
		removed, added, end = removed[:len(removed)-1], added[:len(added)-1], end-1
	}
	h := &hunk{From: max(0, begin-contextLines) + 1}
	add := func(sign string, list []string) {
		for _, l := range list {
			h.Lines = append(h.Lines, sign+l)
		}
	}
	add(" ", lines[max(0, begin-contextLines):begin])
	add("-", removed)
	add("+", added)
	add(" ", lines[end:min(len(lines), end+contextLines)])
	return h
}
