package githooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/git/gitrun"
	"tape/internal/store/workspace"
	"tape/repo"
)

// syncLock is held by the one process that brings the index up to date.
const syncLock = "sync.lock"

// Start leaves bringing the index up to date to a process of its own, and does not wait
// for it: program is run with args, in a session of its own, with no hold of our streams
// and without what git has put into the environment for this hook. Nothing is started
// while another one is at work, or where there is no index.
func Start(store *repo.Store, program string, args ...string) error {
	if _, err := os.Stat(store.IndexFile()); err != nil {
		return nil //nolint:nilerr // who never searches needs no index
	}
	unlock, ok, err := Background(store)
	if err != nil || !ok {
		return err
	}
	if err := unlock(); err != nil {
		return err
	}
	if err := Detached(store.Dir(), program, args...); err != nil {
		return fmt.Errorf("bring the index up to date: %w", err)
	}
	return nil
}

// Detached starts a program in a folder and in a session of its own, with no hold of our streams and
// without what git has put into the environment.
func Detached(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = gitrun.Environment()
	cmd.SysProcAttr = apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// Background takes the lock of what Start starts; ok is false when another one has it.
func Background(store *repo.Store) (unlock func() error, ok bool, err error) {
	scratch, err := (*workspace.Store)(store).ScratchDir()
	if err != nil {
		return nil, false, err
	}
	l, err := (*disk.FS)(nil).Lock(context.Background(), filepath.Join(filepath.Dir(scratch), syncLock), 0)
	switch {
	case errors.Is(err, disk.ErrLocked):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return l.Unlock, true, nil
}
