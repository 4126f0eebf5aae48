package index

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// memoryDir is a folder on a file system in memory with room for the tests, or "".
func memoryDir() string {
	const dir, room = "/dev/shm", 1 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Bavail*uint64(st.Bsize) < room {
		return ""
	}
	probe, err := os.MkdirTemp(dir, "tape-test-*")
	if err != nil {
		return ""
	}
	if err := os.Remove(probe); err != nil {
		return ""
	}
	return dir
}

// smallDisk mounts a file system of a few megabytes, which only root may do.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options+",mode=0700"); err != nil {
		t.Skipf("a small disk cannot be mounted here (it takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}
