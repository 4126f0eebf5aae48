package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// To catch signals costs a short command a good part of its time. In the first moments of
// tape an interrupt ends it as a kill would, which leaves nothing half-written.
const uncaught = 10 * time.Millisecond

// Main runs a program of this process's arguments and signals, and returns its exit code.
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

// cancelAtSignal cancels at the first signal that ends programs. A second one ends the
// program at once.
func cancelAtSignal(cancel context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it ignored
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
