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

// syncLock is held by the one process that updates the index.
const syncLock = "sync.lock"

// Start starts program with args to update the index, and does not wait for it; see [StartDetached].
// It starts nothing while another such process runs, or if there is no index.
func Start(store *repo.Store, program string, args ...string) error {
	if _, err := os.Stat(store.IndexFile()); err != nil {
		return nil //nolint:nilerr // without a search there is no index yet
	}
	unlock, ok, err := LockSync(store)
	if err != nil || !ok {
		return err
	}
	if err := unlock(); err != nil {
		return err
	}
	if err := StartDetached(store.Dir(), program, args...); err != nil {
		return fmt.Errorf("bring the index up to date: %w", err)
	}
	return nil
}

// StartDetached starts a program in a folder and does not wait for it. The process has a session of its own, none of
// our streams, and no variables that git has set for a hook.
func StartDetached(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = gitrun.Environment()
	cmd.SysProcAttr = detach()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// LockSync takes the lock of the process that updates the index; ok is false if another process has it.
func LockSync(store *repo.Store) (unlock func() error, ok bool, err error) {
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
