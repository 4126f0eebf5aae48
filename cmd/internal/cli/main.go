package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Catching signals takes a good part of a short command's time. So at first an interrupt ends
// tape like a kill, which leaves nothing half-written.
const uncaught = 10 * time.Millisecond

// Main runs a program with this process's arguments and signals, and returns its exit code.
func Main(a *App) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if a.Host != nil {
		cancelAtSignal(cancel)
	} else {
		timer := time.AfterFunc(uncaught, func() { cancelAtSignal(cancel) })
		defer timer.Stop()
	}
	return Run(ctx, a, os.Args[1:])
}

// cancelAtSignal cancels at the first signal; a second one ends the program at once.
func cancelAtSignal(cancel context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
}
