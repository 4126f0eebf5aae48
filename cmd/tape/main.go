// Command tape records agent sessions as append-only tapes in git.
//
// It starts once for each recorded entry and needs one or two processors, so at its start it does not
// look up how many processors a container may use.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"tape/cmd/internal/cli"
)

// Set by the linker.
var version, commit string

func main() { os.Exit(cli.Main(cli.OS(version, commit))) }
