package activity

import (
	"path"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Written returns the lines that the calls of an entry, or the changes in an event, wrote into files whose path ends in
// the name base. Of a shell command without a patch it returns the whole text, which may contain such lines.
func Written(e layout.Entry, base string) (out []string) {
	if e.Kind == layout.KindEvent {
		for name, change := range jsonl.Fields(jsonl.Get(e.Payload, "data", "changes")) {
			if path.Base(name) == base {
				out = append(out, lines(jsonl.GetString(change, "content"))...)
				out = append(out, addedLines(jsonl.GetString(change, "unified_diff"))...)
			}
		}
		return out
	}
	for _, member := range []string{"calls", "tool_calls"} {
		for raw := range jsonl.Elements(jsonl.Get(e.Payload, member)) {
			tool, args := functionOf(raw)
			out = append(out, writtenBy(effectOf(tool), args, base)...)
		}
	}
	return out
}

func writtenBy(what effect, args []byte, base string) []string {
	switch what {
	case shell:
		command, _ := commandOf(args)
		if strings.Contains(command, "*** Begin Patch") {
			return patchedLines(command, base)
		}
		return lines(command)
	case writes, edits, patches:
		if patch := patchOf(args); patch != "" {
			return patchedLines(patch, base)
		}
		for _, name := range pathsOf(args) {
			if path.Base(strings.ReplaceAll(name, `\`, "/")) == base {
				return newLines(args)
			}
		}
	}
	return nil
}

// newLines returns the lines that an edit puts into a file, without those that it leaves as they were.
func newLines(args []byte) (out []string) {
	for edit := range jsonl.Elements(jsonl.Get(args, "edits")) {
		out = append(out, newLines(edit)...)
	}
	before, after := replaced(args)
	kept := map[string]int{}
	for _, line := range lines(before) {
		kept[line]++
	}
	for _, line := range lines(after) {
		if kept[line]--; kept[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

// patchedLines returns the lines that a patch adds to files named base.
func patchedLines(patch, base string) (out []string) {
	inside := false // the line is about a file named base
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if op, name, ok := cutHeader(line); ok {
			inside = path.Base(name) == base || inside && op == "Move to"
		} else if added, ok := strings.CutPrefix(line, "+"); ok && inside {
			out = append(out, added)
		}
	}
	return out
}

func addedLines(diff string) (out []string) {
	for line := range strings.Lines(diff) {
		if added, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "+"); ok {
			out = append(out, added)
		}
	}
	return out
}

// functionOf returns the tool of a call, and its arguments.
func functionOf(raw []byte) (tool string, args []byte) {
	function := jsonl.Get(raw, "function")
	if function == nil {
		function = raw
	}
	if args = jsonl.Get(function, "arguments"); args == nil {
		args = jsonl.Get(function, "input")
	}
	if text, ok := jsonl.String(args); ok {
		args = []byte(text)
	}
	return short(jsonl.GetString(function, "name")), args
}
