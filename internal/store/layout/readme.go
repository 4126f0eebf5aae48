package layout

import _ "embed"

// Readme is the README.md of a tape: it comes with the first commit, for who opens the
// repository on a git host, and never changes.
//
//go:embed readme.md
var Readme string
