package gitstore

import (
	"runtime"
	"strconv"
	"strings"
)

// initialConfig is the configuration of a new repository. What a user set globally
// and would break the format is overruled: line endings, index versions that only
// git can read, collections that start by themselves beside our writers.
func initialConfig() string {
	lines := []string{
		"[core]",
		"\trepositoryformatversion = 0",
		"\tfilemode = " + strconv.FormatBool(runtime.GOOS != "windows"),
		"\tbare = false",
		"\tlogallrefupdates = true",
		"\tfsync = all",
		"\tautocrlf = false",
		"\tquotepath = false",
		"\tsplitindex = false",
	}
	switch runtime.GOOS {
	case "darwin":
		lines = append(lines, "\tignorecase = true", "\tprecomposeunicode = true")
	case "windows":
		lines = append(lines, "\tignorecase = true", "\tsymlinks = false", "\tlongpaths = true")
	}
	lines = append(lines, "[index]", "\tversion = 2", "[gc]", "\tauto = 0", "[tag]", "\tsort = version:refname", "")
	return strings.Join(lines, "\n")
}
