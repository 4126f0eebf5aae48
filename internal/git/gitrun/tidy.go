package gitrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/git/gitstore"
)

// manyPacks is how many packs slow down whoever looks for an object. git gc --auto has the same.
const manyPacks = 50

// Tidy makes one pack of the small ones where there are many of them, in a time that grows with
// those alone. Nothing is dropped. Where a collection runs already, that does it.
//
// Errors: ErrNoGit; the context's error, and then no temporary file is left.
func Tidy(ctx context.Context, r *gitstore.Repo) error {
	packs, err := filepath.Glob(filepath.Join(ObjectsDir(r), "pack", "*.pack"))
	if err != nil || len(packs) <= manyPacks {
		return err
	}
	err = r.Locks().GuardedOnce(ctx, guard(r), 0, func() error { return repack(ctx, r) })
	if errors.Is(err, gitstore.ErrBusy) {
		return nil
	}
	return gitstore.Wrap(err, "pack %s", r.GitDir())
}

func repack(ctx context.Context, r *gitstore.Repo) error {
	started := time.Now()
	cmd, err := Command(ctx, r, "-c", "repack.updateServerInfo=false", "repack", "-q", "-d", "-l", "--geometric=2")
	var refused *gitstore.UnsupportedError
	if errors.As(err, &refused) {
		return nil // tape gc tells
	}
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	EndWithChildren(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoGit
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), Sweep(r, started))
	case errors.As(err, &exit) && exit.ExitCode() == usage: // a git before 2.32: all, then
		return gitGC(ctx, r, "")
	case err != nil:
		return fmt.Errorf("git repack: %w: %.500s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// usage is the exit code of a git that does not know a flag.
const usage = 129
