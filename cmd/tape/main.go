// Command tape records agent sessions as append-only tapes in git.
//
// It starts for each entry that is recorded, and uses no more than a processor or two:
// it does not look up a container's share of them first.
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
