//go:build unix

package stdio

import "golang.org/x/sys/unix"

// terminalSession returns the number of the session that this process is in: that of the shell of a terminal.
func terminalSession() int {
	session, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return session
}
