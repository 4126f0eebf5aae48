package tools

import (
	"encoding/json"
	"path"
	"strings"
)

// InOrder reports whether the second of two calls of one answer has to wait for the first, because both may touch the
// same files, and one of them may change something: a command may touch any file, and a tool those that its arguments
// name. (NousResearch/hermes-agent PR 1914, google-gemini/gemini-cli PR 10287)
func InOrder(first string, firstArguments json.RawMessage, second string, secondArguments json.RawMessage) bool {
	command := func(name string) bool { return name == "bash" }
	files := func(name string) bool { return strings.HasPrefix(name, "fs.") }
	switch {
	case first == "fs.read" && second == "fs.read":
		return false
	case command(first) && (command(second) || files(second)), command(second) && files(first):
		return true
	}
	one, other := fileOf(firstArguments), fileOf(secondArguments)
	return one != "" && other != "" && (path.Base(one) == path.Base(other) || within(one, other) || within(other, one))
}

// fileOf returns the file that a call's arguments name; "" if they name none.
func fileOf(arguments json.RawMessage) string {
	var a map[string]any
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	for _, name := range []string{"path", "file_path", "file", "filename", "filepath", "uri"} {
		if text, _ := a[name].(string); text != "" {
			return path.Clean(strings.ReplaceAll(text, `\`, "/"))
		}
	}
	return ""
}

// within reports whether a path is in a folder.
func within(name, folder string) bool {
	return folder == "." && !path.IsAbs(name) || strings.HasPrefix(name, folder+"/")
}
