package githooks

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// apart gives a process no console, and keeps Ctrl-C in git's from it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}
