package layout

import (
	_ "embed"
	"strings"
)

// Readme is the usual text of a tape's README.md, for people who open the repository on a git host. The first
// commit has the file, and it never changes.
//
//go:embed readme.md
var Readme string

// ReadmeOf returns a README.md that begins with a text about the session. With "", it is the usual text alone.
func ReadmeOf(session string) string {
	if session == "" {
		return Readme
	}
	return strings.TrimRight(session, "\n") + "\n\n" + Readme
}

// WroteRootFile reports whether tape has written a file with this name, README.md or .gitattributes, and content.
func WroteRootFile(name string, data []byte) bool {
	if name == AttributesFile {
		return string(data) == Attributes
	}
	return name == ReadmeFile && IsReadme(data)
}

// IsReadme reports whether a file is a README.md that tape wrote.
func IsReadme(data []byte) bool { return strings.HasSuffix(string(data), Readme) }

// ReadmeSession returns what a README.md says about the session; "" if nothing, or if tape did not write the
// file.
func ReadmeSession(data []byte) string {
	session, ours := strings.CutSuffix(string(data), Readme)
	if !ours {
		return ""
	}
	return strings.TrimRight(session, "\n")
}
