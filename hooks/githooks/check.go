package githooks

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/store/outgoing"
	"tape/internal/store/workspace"
	"tape/repo"
)

// PreCommit refuses, with repo.ErrConflict, a commit to the branch of a tape or fork that is
// not append-only. It does not check other branches, nor the commit that concludes a merge: the merge
// is completed afterwards.
func (r Repository) PreCommit(ctx context.Context, store *repo.Store) error {
	branch, head, g, err := r.head()
	if err != nil || !IsTapeBranch(branch) || r.has("MERGE_HEAD") || head.IsZero() {
		return err // before the first commit there is nothing to compare with
	}
	// Write the index that git is about to commit; git names its file in the environment.
	cmd, err := gitrun.Command(ctx, g, "write-tree")
	if err != nil {
		return err
	}
	cmd.Dir, cmd.Env = "", append(cmd.Env, "GIT_INDEX_FILE="+cmp.Or(os.Getenv("GIT_INDEX_FILE"), filepath.Join(r.GitDir, "index")))
	tree, err := cmd.Output()
	if err != nil {
		exit := &exec.ExitError{}
		_ = errors.As(err, &exit) // otherwise git did not start, and there is no standard error
		return cmp.Or(ctx.Err(), fmt.Errorf("git write-tree: %w: %s", err, bytes.TrimSpace(exit.Stderr)))
	}
	next, err := gitstore.ParseHash(string(bytes.TrimSpace(tree)))
	if err == nil {
		err = audit.CheckTree(ctx, (*workspace.Store)(store), branch, head, next)
	}
	if errors.Is(err, repo.ErrConflict) {
		return layout.Conflict("", "not committed: %v", err).Try(layout.UndoChange)
	}
	return err
}

// PostCommit fails with repo.ErrConflict if the new commit is not append-only: git revert and
// git cherry-pick do not run the pre-commit hook. A merge is only reported, and is checked when
// it is completed.
func (r Repository) PostCommit(ctx context.Context, store *repo.Store) (isMerge bool, err error) {
	branch, head, g, err := r.head()
	if err != nil {
		return false, err
	}
	c, err := g.Commit(head)
	if err != nil || len(c.Parents) != 1 || !IsTapeBranch(branch) {
		return len(c.Parents) > 1, err
	}
	err = audit.CheckTree(ctx, (*workspace.Store)(store), branch, c.Parents[0], c.Tree)
	if errors.Is(err, repo.ErrConflict) {
		dir, _ := os.Getwd() // git runs hooks in the working tree
		before := c.Parents[0]
		if log, err := g.Reflog(branch); err == nil && len(log) > 0 && log[len(log)-1].New == head {
			// What git commit --amend has replaced, if that was a good one.
			old := log[len(log)-1].Old
			if was, err := g.Commit(old); err == nil && audit.CheckTree(ctx, (*workspace.Store)(store), branch, before, was.Tree) == nil {
				before = old
			}
		}
		return false, layout.Conflict("undo the commit: git -C "+layout.ShellWord(dir)+" reset --keep "+before.String()[:12], "git has committed a change that is not append-only: %v", err)
	}
	return false, err
}

// head returns the branch that is checked out, and its newest commit; zero if it has no commit.
func (r Repository) head() (branch string, head gitstore.Hash, g *gitstore.Repo, err error) {
	if g, err = workspace.OpenGit(r.CommonDir); err != nil {
		return "", head, g, err
	}
	branch, head, err = g.Head(r.GitDir)
	return branch, head, g, err
}

// PrePush refuses, with repo.ErrConflict, a push that would rewrite a remote's tape or fork,
// move an anchor's tag, delete a tape, or publish a secret through any ref. in is the input of
// git's pre-push hook: a line for each ref, with the local ref and object, and the remote ref and object.
// remote is the remote's name or address. store is the repository's workspace; if it is nil, there is
// no search for secrets.
func (r Repository) PrePush(ctx context.Context, store *repo.Store, remote string, in io.Reader) error {
	var g *gitstore.Repo
	var refused []error
	var sent []layout.Incoming
	lines, err := hookInput(in, 4)
	if err != nil {
		return err
	}
	for _, f := range lines {
		ref, err := layout.ParseIncoming(f[2], f[3], f[1])
		if err != nil {
			return fmt.Errorf("read what git pushes: %w", err)
		}
		sent = append(sent, ref)
		if !isGuarded(ref.Ref) {
			continue
		}
		if g == nil {
			if g, err = workspace.OpenGit(r.CommonDir); err != nil {
				return err
			}
		}
		err = r.checkPush(ctx, g, remote, ref)
		if err != nil && !errors.Is(err, repo.ErrConflict) {
			return err
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if store != nil && len(sent) > 0 && len(refused) == 0 {
		return outgoing.CheckSecrets(ctx, (*workspace.Store)(store), remote, sent)
	}
	return errors.Join(refused...)
}

// hookInput returns the last n words of each line of a hook's standard input, and skips shorter
// lines. Earlier words may contain spaces: the local ref of a push is spelt as the user typed it.
func hookInput(in io.Reader, n int) (out [][]string, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= n {
			out = append(out, f[len(f)-n:])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what is pushed: %w", err)
	}
	return out, nil
}

func (r Repository) checkPush(ctx context.Context, g *gitstore.Repo, remote string, ref layout.Incoming) error {
	if !ref.Old.IsZero() {
		_, _, err := g.Read(ref.Old)
		if errors.Is(err, gitstore.ErrNotFound) {
			return layout.Conflict("fetch it first: git fetch "+remote, "not pushed: %s has commits of %s that are not here", remote, short(ref.Ref))
		}
		if err != nil {
			return err
		}
	}
	return pushError(ref.Ref, audit.CheckUpdates(ctx, r.CommonDir, []layout.Incoming{ref})[0])
}

// pushError adds "not pushed" to a refusal. A ref that cannot be read as a tape is refused, too: it
// would replace the tape.
func pushError(ref string, err error) error {
	switch {
	case errors.Is(err, repo.ErrConflict):
	case errors.Is(err, repo.ErrCorrupt):
		err = fmt.Errorf("%s: %w", short(ref), err)
	default:
		return err
	}
	return &layout.Error{Class: layout.ErrConflict, Msg: "not pushed: " + err.Error(), Way: layout.Hints(err)}
}

// PreReceive refuses, with repo.ErrConflict, a push to the repository gitDir that is not
// append-only, or that brings tags and archives which a pull would refuse. in is the input of
// git's pre-receive hook: a line for each ref, with the old and the new object and the name.
// All refs are checked together, and one refusal stops the whole push. (Git's update hook runs once
// for each ref, so it cannot see that the tags of a purged tape come with its branch.) Refs that do not
// belong to tapes are not checked. The repository need not be a workspace.
func PreReceive(ctx context.Context, gitDir string, in io.Reader) error {
	lines, err := hookInput(in, 3)
	if err != nil {
		return err
	}
	var updates []layout.Incoming
	for _, f := range lines {
		if isGuarded(f[2]) || strings.HasPrefix(f[2], layout.ForgottenPrefix) {
			ref, err := layout.ParseIncoming(f[2], f[0], f[1])
			if err != nil {
				return fmt.Errorf("read what is pushed: %w", err)
			}
			updates = append(updates, ref)
		}
	}
	if len(updates) == 0 {
		return nil
	}
	var refused []error
	for i, err := range audit.CheckUpdates(ctx, gitDir, updates) {
		if err = pushError(updates[i].Ref, err); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

// short returns a ref's name without refs/heads/ or refs/tags/, as git prints it.
func short(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
}
