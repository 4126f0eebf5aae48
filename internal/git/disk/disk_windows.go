package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow makes an open fail where the name is a link.
const noFollow = 0

// canSyncLater: a handle that syncs has to be one that writes, which a read-only file has
// not after it was closed.
const canSyncLater = false

// NTFS journals names itself; a folder handle cannot be flushed by a normal user.
func syncDir(string) error { return nil }

// The lock covers one byte far behind any content, so that readers, who take no
// lock, can read the file: Windows locks are mandatory.
var lockRange = windows.Overlapped{OffsetHigh: 0x7fffffff}

func tryLock(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := lockRange
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	at := lockRange
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
