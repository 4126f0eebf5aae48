package activity

import (
	"strings"

	"tape/internal/text/jsonl"
)

// Effect is what a call of a tool does.
type Effect int

// The effects.
const (
	Nothing Effect = iota // or unknown
	Reads                 // a file
	Writes                // a file, or a part of it
	Runs                  // a command
)

// Doing is what a call of a tool does, as its name and arguments say.
type Doing struct {
	Effect  Effect
	Paths   []string // files that the arguments name; those of a patch are only in Patch
	Command string
	Patch   string        // in the format of Codex
	Edits   []Replacement // if there is no Patch
}

// Replacement is a change of a text. Before is "" for a new file or text that is inserted.
type Replacement struct{ Before, After string }

// DoingOf returns what a call does; args are its arguments as JSON.
func DoingOf(tool string, args []byte) Doing {
	switch what := effectOf(tool); what {
	case reads:
		return Doing{Effect: Reads, Paths: pathsOf(args)}
	case shell:
		command, _ := commandOf(args)
		if strings.HasPrefix(strings.TrimSpace(command), "apply_patch") || strings.HasPrefix(strings.TrimSpace(command), "*** Begin Patch") {
			return Doing{Effect: Writes, Patch: patchOf(args)}
		}
		return Doing{Effect: Runs, Command: command}
	case writes, edits, patches:
		if what == edits && jsonl.GetString(args, "command") == "view" {
			return Doing{Effect: Reads, Paths: pathsOf(args)}
		}
		if patch := patchOf(args); patch != "" {
			return Doing{Effect: Writes, Patch: patch}
		}
		return Doing{Effect: Writes, Paths: pathsOf(args), Edits: replacements(args)}
	}
	return Doing{}
}

func replacements(args []byte) (out []Replacement) {
	if list := jsonl.Get(args, "edits"); list != nil {
		for edit := range jsonl.Elements(list) {
			out = append(out, replacements(edit)...)
		}
		return out
	}
	if before, after := replaced(args); before != "" || after != "" {
		out = append(out, Replacement{before, after})
	}
	return out
}

// PatchedFile is what a patch in the format of Codex does to a file.
type PatchedFile struct {
	Op, Path string // "Add File", "Update File", "Delete File", "Move to"
	Lines    []string
}

// PatchedFiles reads a patch in the format of Codex.
func PatchedFiles(patch string) (out []PatchedFile) {
	_, patch, _ = strings.Cut(patch, "*** Begin Patch")
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if line == "*** End Patch" {
			break
		}
		if op, path, ok := cutHeader(line); ok {
			out = append(out, PatchedFile{Op: op, Path: path})
		} else if n := len(out); n > 0 {
			out[n-1].Lines = append(out[n-1].Lines, line)
		}
	}
	return out
}
