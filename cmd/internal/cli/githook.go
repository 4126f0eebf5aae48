package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"tape/cmd/internal/hints"
	"tape/hooks/githooks"
	"tape/index"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// hookWait is how long a hook keeps git waiting while another process writes to the tape. After
// that, the next command does the hook's work.
const hookWait = 2 * time.Second

// Hook does the work of one of git's hooks. remote is the name of the remote of a push, or ""; open has the options
// for opening a workspace.
func Hook(ctx context.Context, name, remote string, in io.Reader, open repo.Options) error {
	at, err := locate("")
	if err != nil {
		return err
	}
	if name == "pre-push" {
		store, err := storeAt(ctx, at, open)
		if err != nil { // what cannot be checked is not sent
			return layout.Conflict(hints.Of(err), "not pushed: %v", err)
		}
		return at.PrePush(ctx, store, cmp.Or(remote, "the remote"), in)
	}
	branch, err := at.Branch()
	if err != nil {
		return err
	}
	if name == "pre-commit" && !githooks.IsTapeBranch(branch) {
		return nil
	}
	open.LockWait = hookWait
	store, err := storeAt(ctx, at, open)
	if err != nil || store == nil {
		return err
	}
	if name == "pre-commit" {
		return at.PreCommit(ctx, store)
	}
	return afterChange(ctx, at, store, name, branch)
}

func locate(hint string) (githooks.Repository, error) {
	at, err := githooks.Locate()
	if errors.Is(err, fs.ErrNotExist) {
		err = layout.NotFound(hint, "this is not a git repository")
	}
	return at, err
}

// storeAt opens the workspace in whose repository git runs. It is nil in a repository without one: a user may have
// installed the hooks for all repositories.
func storeAt(ctx context.Context, at githooks.Repository, open repo.Options) (*repo.Store, error) {
	if at.Dir == "" {
		return nil, nil
	}
	store, err := repo.Open(ctx, at.Dir, &open)
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	return store, err
}

// afterChange does the work of the hooks that git runs after a change.
func afterChange(ctx context.Context, at githooks.Repository, store *repo.Store, name, branch string) error {
	var err error
	if githooks.IsTapeBranch(branch) && name != "post-checkout" {
		err = checkCommit(ctx, at, store, branch)
	}
	program, pathErr := os.Executable()
	if pathErr != nil {
		return errors.Join(err, pathErr)
	}
	return errors.Join(err, githooks.Start(store, program, "hook", "--quiet", "--workspace", store.Dir(), "sync"))
}

// checkCommit checks a commit that git has made on the branch of a tape: it completes a merge, and
// reports a commit that no hook could refuse.
func checkCommit(ctx context.Context, at githooks.Repository, store *repo.Store, branch string) error {
	merged, err := at.PostCommit(ctx, store)
	if err != nil || !merged {
		return err
	}
	t, err := store.ByBranch(ctx, branch)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = join.Complete(ctx, (*workspace.Tape)(t))
	}
	if errors.Is(err, repo.ErrBusy) {
		return nil // the next command completes the merge
	}
	return err
}

// Sync updates the index. Another Sync that starts meanwhile leaves the work to this one,
// so this one checks again before it ends.
func Sync(ctx context.Context, store *repo.Store) error {
	const rounds = 3
	for range rounds {
		unlock, ok, err := githooks.LockSync(store)
		if err != nil || !ok {
			return err
		}
		x := index.New(store, nil)
		_, err = x.Sync(ctx)
		if err := errors.Join(err, x.Close(), unlock()); err != nil {
			return err
		}
		st, err := index.New(store, nil).Status(ctx)
		if err != nil || st.Fresh() {
			return err
		}
	}
	return nil
}

// Receive checks a push on the receiving side, which need not be a workspace.
func Receive(ctx context.Context, in io.Reader) error {
	at, err := locate("git sets GIT_DIR for its hooks")
	if err != nil {
		return err
	}
	return githooks.PreReceive(ctx, at.CommonDir, in)
}
