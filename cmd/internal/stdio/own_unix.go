//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// OwnDescriptor gives f under another number: Go lets a reader that goes away kill a program
// that writes to 1 or 2, and elsewhere makes it an error of the write. To catch the signal
// would cost a short command more.
func OwnDescriptor(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil { // it is closed
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
