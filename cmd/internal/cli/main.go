package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program of this process's arguments and signals, and returns its exit code.
func Main(a *App) int {
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
	return Run(ctx, a, os.Args[1:])
}
