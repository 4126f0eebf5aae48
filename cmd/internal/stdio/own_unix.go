//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// OwnDescriptor returns f with another descriptor. When a reader goes away, SIGPIPE kills a Go
// program that writes to 1 or 2; with other descriptors the write returns an error. Catching the
// signal would take longer than a short command.
func OwnDescriptor(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil { // f is closed
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
