package stdio

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// RunForwarding runs a command, forwards the signals that this program gets, and returns
// the exit code that a shell would report.
func RunForwarding(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded()...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s)
			}
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return exitStatus(cmd.ProcessState), nil
		}
	}
}

// exitStatus is the exit code that a shell would report.
func exitStatus(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.ExitCode()
}
