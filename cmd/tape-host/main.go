// Command tape-host runs those commands of tape that keep running or are slow to start. The
// program tape starts it for them, so that tape itself starts at once.
package main

import (
	"os"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/hostcli"
	"tape/internal/agent/sandbox"
	"tape/internal/sessions/importer/record"
)

// Set by the linker.
var version, commit string

func main() {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Arg {
		os.Exit(sandbox.Child(os.Args[2:]))
	}
	record.Unzstd = hostcli.Unzstd
	app := cli.OS(version, commit)
	app.Host = hostcli.Host{}
	os.Exit(cli.Main(app))
}
