package activity

import (
	"cmp"
	"path"
	"strings"

	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Text is what a call, or a change in an event, wrote into a file.
type Text struct {
	Call  string // its id; "" if it has none
	Lines []string
}

// Written returns what the calls of an entry, or the changes in an event, wrote into files whose path ends in the name
// base. Of a shell command without a patch it returns the whole text, which may contain such lines. Arguments may have
// only a part of a line; Result knows the whole one.
func Written(e layout.Entry, base string) (out []Text) {
	if e.Kind == layout.KindEvent {
		return []Text{{Lines: changesIn(jsonl.Get(e.Payload, "data", "changes"), base)}}
	}
	for _, member := range []string{"calls", "tool_calls"} {
		for raw := range jsonl.Elements(jsonl.Get(e.Payload, member)) {
			tool, args := functionOf(raw)
			t := Text{Lines: writtenBy(effectOf(tool), args, base)}
			if effectOf(tool) != shell { // what a command printed is no result of an edit
				t.Call = jsonl.GetString(raw, "id")
			}
			if t.Lines != nil { // empty, if the call only removed something
				out = append(out, t)
			}
		}
	}
	return out
}

// Result returns what an event says that an edit changed in files whose path ends in the name base: whole lines, where
// the call's arguments may have parts of them. It is false if the event does not say that.
func Result(e layout.Entry, base string) (t Text, ok bool) {
	if e.Kind != layout.KindEvent || about.EventName(e.Payload) != "tool.detail" {
		return t, false
	}
	data := jsonl.Get(e.Payload, "data")
	t.Call = jsonl.GetString(data, "call_id")
	var patch strings.Builder
	for hunk := range jsonl.Elements(jsonl.Get(data, "structuredPatch")) { // Claude Code
		patch.WriteString("@@ \n" + strings.Join(jsonl.Strings(jsonl.Get(hunk, "lines")), "\n") + "\n")
	}
	text := patch.String()
	for _, at := range diffsAt {
		text = cmp.Or(text, jsonl.GetString(data, at...))
	}
	switch {
	case t.Call == "":
	case strings.HasPrefix(text, "@@ "), strings.Contains(text, "\n@@ "):
		t.Lines = diffLines(text, base)
		return t, true
	case jsonl.Get(data, "details", "firstChangedLine") != nil: // Pi, before it wrote patches
		t.Lines = numberedLines(jsonl.GetString(data, "details", "diff"))
		return t, true
	case jsonl.Get(data, "changes") != nil: // Codex
		t.Lines = changesIn(jsonl.Get(data, "changes"), base)
		return t, true
	case jsonl.Get(data, "new_content") != nil: // Crush
		t.Lines = changedIn(jsonl.GetString(data, "old_content"), jsonl.GetString(data, "new_content"))
		return t, true
	}
	return t, false
}

// diffsAt are the places where agents keep the diff of an edit.
var diffsAt = [...][]string{
	{"resultDisplay", "fileDiff"},     // Gemini, Qwen Code
	{"metadata", "filediff", "patch"}, // opencode
	{"metadata", "diff"},              // opencode
	{"details", "patch"},              // Pi
	{"result", "detailedContent"},     // Copilot
}

// changesIn returns what Codex's changes add to files named base.
func changesIn(changes []byte, base string) (out []string) {
	for name, change := range jsonl.Fields(changes) {
		if path.Base(name) == base || path.Base(jsonl.GetString(change, "move_path")) == base {
			out = append(out, lines(jsonl.GetString(change, "content"))...)
			out = append(out, diffLines(jsonl.GetString(change, "unified_diff"), base)...)
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
				return append([]string{}, newLines(args)...)
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
	return append(out, changedIn(before, after)...)
}

// changedIn returns the lines that a text has and its former state had not.
func changedIn(before, after string) (out []string) {
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

// diffLines returns the lines that a unified diff adds to files named base, or to any file if it has no headers.
func diffLines(diff, base string) (out []string) {
	inside, before := true, ""
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "+++ "); ok && strings.HasPrefix(before, "--- ") {
			name, _, _ = strings.Cut(name, "\t")
			inside = path.Base(strings.ReplaceAll(name, `\`, "/")) == base
		} else if added, ok := strings.CutPrefix(line, "+"); ok && inside {
			out = append(out, added)
		}
		before = line
	}
	return out
}

// numberedLines returns the lines that a diff adds whose lines begin with a sign, a number and a space.
func numberedLines(diff string) (out []string) {
	for line := range strings.Lines(diff) {
		added, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "+")
		if _, text, numbered := strings.Cut(strings.TrimLeft(added, " "), " "); ok && numbered {
			out = append(out, text)
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
