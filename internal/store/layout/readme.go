package layout

import _ "embed"

// Readme is the README.md of a tape, for people who open the repository on a git host. The first commit
// has it, and it never changes.
//
//go:embed readme.md
var Readme string
