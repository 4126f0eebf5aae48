//go:build extra

package power

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tape/internal/testkit"
)

// shutdown is the ioctl that makes ext4 stop as in a power cut (EXT4_IOC_SHUTDOWN).
const shutdown = 0x8004587d

// What ext4 still writes before it stops: everything, the journal, or nothing.
const (
	flushAll = iota
	flushJournal
	flushNothing
)

// mountOptions are options that change the order in which ext4 writes. Without delayed allocation, a file may
// have its new length but old content of the disk.
func mountOptions() []string {
	return []string{"data=ordered", "data=writeback", "data=writeback,nodelalloc"}
}

// disk is a file system in a file.
type disk struct {
	image string
	dir   string // where it is mounted
	root  *os.File
}

// newDisk makes an empty file system, or skips the test if that is not possible here.
func newDisk(t *testing.T, folder string) *disk {
	t.Helper()
	d := &disk{image: filepath.Join(folder, "image"), dir: filepath.Join(folder, "disk")}
	if err := errors.Join(os.Mkdir(d.dir, 0o700), os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, 96<<20)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "16384", "-J", "size=8", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image).CombinedOutput(); err != nil {
		t.Skipf("no file system can be made here: mkfs.ext4: %v\n%s", err, out)
	}
	if err := d.mount(mountOptions()[0]); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if d.root != nil {
			_ = d.unmount()
		}
	})
	return d
}

func (d *disk) mount(options string) error {
	if out, err := exec.Command("mount", "-t", "ext4", "-o", "loop,noatime,"+options, d.image, d.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w\n%s", err, out)
	}
	var err error
	d.root, err = os.Open(d.dir)
	return err
}

// unmount unmounts the file system. It waits for processes that are just ending.
func (d *disk) unmount() error {
	_ = d.root.Close()
	d.root = nil
	for began := time.Now(); ; testkit.Pause(5 * time.Millisecond) {
		err := unix.Unmount(d.dir, 0)
		if !errors.Is(err, syscall.EBUSY) || time.Since(began) > 20*time.Second {
			return err
		}
	}
}

// cut simulates the power cut.
func (d *disk) cut(flush int) error {
	return unix.IoctlSetPointerInt(int(d.root.Fd()), shutdown, flush)
}

// sync makes the kernel write everything that it has cached, as it does by itself every few seconds.
func (d *disk) sync() error { return unix.Syncfs(int(d.root.Fd())) }

// copyImage copies a sparse file.
func copyImage(from, to string) error {
	if out, err := exec.Command("cp", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", from, err, out)
	}
	return nil
}
