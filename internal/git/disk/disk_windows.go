package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is 0: Windows has no flag that makes an open fail where the name is a link.
const noFollow = 0

// canSyncLater: only a handle that can write syncs a file, and a read-only file that was closed
// cannot be opened for writing again.
const canSyncLater = false

// NTFS journals names itself; a folder handle cannot be flushed by a normal user.
func syncDir(string) error { return nil }

// lockRange is one byte far behind any content. Windows locks are mandatory, and readers, who
// take no lock, must be able to read the file.
var lockRange = windows.Overlapped{OffsetHigh: 0x7fffffff}

func tryLock(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	where := lockRange
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &where)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	where := lockRange
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &where)
}
