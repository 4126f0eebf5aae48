package gitrun

import (
	"context"
	"io/fs"
	"os"
	"os/exec"

	"tape/internal/git/gitstore"
)

// Fsck returns the command by which git checks all objects of a repository. For a commit graph and an index over
// several packs, git starts two more programs, also if there are none; so it is told where none are.
func Fsck(ctx context.Context, r *gitstore.Repo) (*exec.Cmd, error) {
	objects := os.DirFS(ObjectsDir(r))
	has := func(pattern string) bool {
		found, err := fs.Glob(objects, pattern)
		return err != nil || len(found) > 0
	}
	var args []string
	if !has("info/alternates") { // another repository's objects may have them
		if !has("info/commit-graph*") {
			args = append(args, "-c", "core.commitGraph=false")
		}
		if !has("pack/multi-pack-index*") {
			args = append(args, "-c", "core.multiPackIndex=false")
		}
	}
	return Command(ctx, r, append(args, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")...)
}
