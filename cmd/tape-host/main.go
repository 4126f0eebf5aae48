// Command tape-host is the part of tape that keeps running or needs much to start. The program
// tape starts it, for the commands that it is for; so tape itself links what starts at once.
package main

import (
	"os"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/hostcli"
)

// Set by the linker.
var version, commit string

func main() {
	app := cli.OS(version, commit)
	app.Host = hostcli.Host{}
	os.Exit(cli.Main(app))
}
