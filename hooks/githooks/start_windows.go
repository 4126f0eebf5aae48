package githooks

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detach gives a process no console, so that Ctrl-C in git's console does not reach it.
func detach() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}
