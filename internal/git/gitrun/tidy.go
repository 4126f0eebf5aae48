package gitrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
)

// manyPacks is the number of packs above which reads get slow; git gc --auto uses the same.
const manyPacks = 50

// Tidy packs the small packs into one if there are many. The time depends only on their size, and
// no object is deleted; but git before 2.32 runs a whole gc instead. If a gc is running, or the
// repository's settings are such that git is not run on it, Tidy does nothing.
//
// Errors: ErrNoGit; the context's error, after temporary files are removed.
func Tidy(ctx context.Context, r *gitstore.Repo) error {
	if len(disk.Glob(ObjectsDir(r), "pack/*.pack")) <= manyPacks {
		return nil
	}
	err := r.Locks().GuardedOnce(ctx, guard(r), 0, func() error { return repack(ctx, r) })
	if errors.Is(err, gitstore.ErrBusy) {
		return nil
	}
	return gitstore.Wrap(err, "pack %s", r.GitDir())
}

func repack(ctx context.Context, r *gitstore.Repo) error {
	started := time.Now()
	cmd, err := Command(ctx, r, "-c", "repack.updateServerInfo=false", "repack", "-q", "-d", "-l", "--geometric=2")
	if _, ok := errors.AsType[*gitstore.UnsupportedError](err); ok {
		return nil // tape gc reports it
	}
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	KillWithChildren(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoGit
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), Sweep(r, started))
	case errors.As(err, &exit) && exit.ExitCode() == unknownOption: // git before 2.32
		return gitGC(ctx, r, "")
	case err != nil:
		return fmt.Errorf("git repack: %w: %.500s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// unknownOption is git's exit code for an option that it does not know.
const unknownOption = 129
