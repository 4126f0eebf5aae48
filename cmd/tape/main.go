// Command tape records agent sessions as append-only tapes in git.
//
// It starts for each entry that is recorded, and uses no more than a processor or two:
// it does not look up a container's share of them first.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tape/cmd/internal/cli"
)

// Set by the linker.
var version, commit string

func main() { os.Exit(run()) }

func run() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it ignored
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// A second interrupt ends the program at once.
	context.AfterFunc(ctx, stop)
	// A reader that goes away is an error of the write, not a signal that kills.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return cli.Run(ctx, cli.OS(version, commit), os.Args[1:])
}
