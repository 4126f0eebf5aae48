package testkit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// memoryDir returns a folder on a file system in memory with enough space for the tests, or "".
func memoryDir() string {
	const dir, room = "/dev/shm", 1 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Bavail*uint64(st.Bsize) < room {
		return ""
	}
	f, err := os.CreateTemp(dir, "tape-test-*")
	if err != nil {
		return ""
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return ""
	}
	return dir
}

// SmallDisk mounts a file system of a given size in bytes and returns its folder. Only root can do that;
// for others, the test is skipped.
func SmallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("a small disk cannot be mounted here (it needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}
