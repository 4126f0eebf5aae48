package activity

import (
	"bytes"
	"strings"

	"tape/internal/text/jsonl"
)

// effect is what a tool does with the files that its arguments name.
type effect int

const (
	nothing effect = iota
	reads
	writes
	edits   // reads or writes, depending on the command in the arguments
	patches // writes; the arguments have a patch of one or more files
	shell
)

// effectOf returns what a tool does. Agents spell names in different ways: fs.read, read_file, ReadFile.
func effectOf(tool string) effect {
	if what := effectOfPlain(tool); what != nothing {
		return what
	}
	plain := strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(tool))
	return effectOfPlain(strings.TrimPrefix(plain, "functions"))
}

func effectOfPlain(tool string) effect {
	switch tool {
	case "Read", "read", "readfile", "readfiles", "readmanyfiles", "notebookread", "view", "viewimage", "fsread", "openfile":
		return reads
	case "Edit", "Write", "edit", "multiedit", "write", "notebookedit", "writefile", "writetofile", "replace", "replaceinfile",
		"createfile", "editfile", "fswrite", "fsedit", "deletefile", "searchreplace", "filechange":
		return writes
	case "strreplaceeditor", "strreplacebasededittool", "texteditor", "editor":
		return edits
	case "applypatch", "patch":
		return patches
	case "Bash", "bash", "shell", "execcommand", "runshellcommand", "localshell", "localshellcall", "runterminalcmd",
		"executecommand", "execute", "command", "runcommands":
		return shell
	}
	return nothing
}

// touchesOf returns what a call does with files, as its arguments say.
func touchesOf(what effect, args []byte) (out []Touch) {
	if what == shell {
		command, dir := commandOf(args)
		out = shellTouches(command)
		for i := range out {
			out[i].Path = inDir(dir, out[i].Path)
		}
		return out
	}
	if patch := patchOf(args); what == patches || patch != "" {
		return patchTouches(patch)
	}
	if what == edits {
		what = writes
		if jsonl.GetString(args, "command") == "view" {
			what = reads
		}
	}
	for _, path := range pathsOf(args) {
		t := Touch{Path: path}
		if what == reads {
			t.Reads = 1
		} else {
			t.Writes = 1
			t.Added, t.Removed = changedLines(args)
		}
		if out = append(out, t); len(out) == maxTouches {
			break
		}
	}
	return out
}

// patchOf returns the patch in arguments, in the format of Codex; "" if there is none.
func patchOf(args []byte) string {
	if bytes.Contains(args, []byte("*** Begin Patch")) {
		for _, name := range [...]string{"input", "patch", "patchText", "command"} {
			if text := jsonl.GetString(args, name); strings.Contains(text, "*** Begin Patch") {
				return text
			}
		}
	}
	return ""
}

// pathsOf returns the files that arguments name.
func pathsOf(args []byte) (out []string) {
	for key, v := range jsonl.Fields(args) {
		switch key {
		case "file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path", "target_file", "filename":
			if s, _ := jsonl.String(v); s != "" && short(s) != "" {
				return []string{s}
			}
		case "paths", "file_paths":
			for _, s := range jsonl.Strings(v) {
				if s != "" && short(s) != "" && !strings.ContainsAny(s, "*?") {
					out = append(out, s)
				}
			}
		case "files":
			for file := range jsonl.Elements(v) {
				out = append(out, pathsOf(file)...)
			}
		}
	}
	return out
}

// changedLines counts the lines that an edit replaces, as its arguments say.
func changedLines(args []byte) (added, removed int64) {
	if list := jsonl.Get(args, "edits"); list != nil {
		for edit := range jsonl.Elements(list) {
			a, r := changedLines(edit)
			added, removed = added+a, removed+r
		}
		return added, removed
	}
	before, after := replaced(args)
	return differ(lines(before), lines(after))
}

// replaced returns the text that an edit replaces, and the new one.
func replaced(args []byte) (before, after string) {
	for key, v := range jsonl.Fields(args) {
		switch key {
		case "old_string", "oldString", "old_str", "oldText", "old_text", "old":
			before, _ = jsonl.String(v)
		case "new_string", "newString", "new_str", "newText", "new_text", "new", "content", "file_text", "new_source", "insert_text":
			after, _ = jsonl.String(v)
		}
	}
	return before, after
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// differ counts the lines of each text between the common beginning and the common end.
func differ(before, after []string) (added, removed int64) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return int64(len(after)), int64(len(before))
}

// patchTouches returns what a patch does with files. A moved file is touched under both names, and its changed lines
// count for the new one.
func patchTouches(patch string) (out []Touch) {
	for _, p := range PatchedFiles(patch) {
		if short(p.Path) == "" || len(out) >= maxTouches {
			break
		}
		t := Touch{Path: p.Path, Writes: 1}
		for _, line := range p.Lines {
			switch {
			case strings.HasPrefix(line, "+"):
				t.Added++
			case strings.HasPrefix(line, "-"):
				t.Removed++
			}
		}
		out = append(out, t)
	}
	return out
}

func cutHeader(line string) (op, path string, ok bool) {
	rest, ok := strings.CutPrefix(line, "*** ")
	if !ok {
		return "", "", false
	}
	op, path, ok = strings.Cut(rest, ": ")
	switch op {
	case "Add File", "Update File", "Delete File", "Move to":
		return op, strings.TrimSpace(path), ok
	}
	return "", "", false
}

// countDiff counts the changed lines of a unified diff.
func countDiff(text string) (added, removed int64) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}
