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

// contextLines is how many lines are shown around a change, and maxPatched up to how large a file.
const (
	contextLines = 2
	maxPatched   = 4 << 20
)

// patchOf returns an edit that was just made, with the lines around it, as a call's details; nil if the
// file does not show it.
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

// change finds what has become of a text in lines, from line on (the first is 1).
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
	n := strings.Count(to, "\n") + 1 // lines that have some of it
	begin, end := line-1, min(line-1+n, len(lines))
	now := lines[begin:end]
	whole := strings.Join(now, "\n")
	was := strings.Split(whole[:at]+from+whole[at+len(to):], "\n")
	for len(was) > 0 && len(now) > 0 && was[0] == now[0] {
		was, now, begin = was[1:], now[1:], begin+1
	}
	for len(was) > 0 && len(now) > 0 && was[len(was)-1] == now[len(now)-1] {
		was, now, end = was[:len(was)-1], now[:len(now)-1], end-1
	}
	h := &hunk{From: max(0, begin-contextLines) + 1}
	add := func(sign string, list []string) {
		for _, l := range list {
			h.Lines = append(h.Lines, sign+l)
		}
	}
	add(" ", lines[max(0, begin-contextLines):begin])
	add("-", was)
	add("+", now)
	add(" ", lines[end:min(len(lines), end+contextLines)])
	return h
}
