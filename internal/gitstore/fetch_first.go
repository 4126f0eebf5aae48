package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/gitstore/gitlock"
)

// firstFetch fetches into a repository that has nothing yet, by git's own clone: that writes
// all refs as one file, where a fetch makes a file of each, and looks once less at what the
// pack holds. Only the objects come here; the rest is a folder that is thrown away.
//
// A clone takes all branches, and its address is seen by all who list processes. done is
// false, and nothing has come, where the remote has others than those that are asked for,
// or the address has a password.
func (r *Repo) firstFetch(ctx context.Context, m Remote, specs []RefSpec, o TransportOptions) (head string, done bool, err error) {
	if MaskURL(m.URL) != m.URL {
		return "", false, nil
	}
	told, head, err := r.gitLsRemote(ctx, m, o)
	if err != nil {
		return "", false, err
	}
	for _, ref := range told {
		if strings.HasPrefix(ref.Name, "refs/heads/") && len(mapRefs([]Ref{ref}, specs)) == 0 {
			return head, false, nil
		}
	}
	if len(mapRefs(told, specs)) == 0 {
		return head, true, nil
	}
	tmp := filepath.Join(r.gitDir, gitlock.OwnDir, "tmp")
	if err := r.fs.MkdirAll(tmp); err != nil {
		return "", false, err
	}
	dir, err := os.MkdirTemp(tmp, "clone-*")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	args := fetchSettings()
	for _, s := range specs {
		args = append(args, "-c", "remote.origin.fetch=+"+s.Src+":"+s.Dst)
	}
	args = append(args, "clone", "--bare", "--no-local", "--no-tags", "--template=", "--origin", "origin")
	if r.isHere(m) {
		args = append(args, "--upload-pack="+nearUploadPack)
	}
	args = append(args, "--progress", "--", m.URL, dir)
	run := r.listening(m, o)
	run.gitDir = dir
	if _, err := r.runGit(ctx, run, args...); err != nil {
		return "", false, classify(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "shallow")); err == nil && st.Size() > 0 {
		return "", false, fmt.Errorf("%w: it is a shallow clone: the beginning of its history is missing", ErrRemote)
	}
	return head, true, r.takeRefs(ctx, dir, specs)
}

// nearUploadPack packs what is not packed yet with less care: what it saves in bytes does
// not go through a line, and is saved by the next gc.
const nearUploadPack = "git -c pack.window=2 -c pack.compression=1 upload-pack"

// isHere reports whether a remote is a path, and is read by git's usual program.
func (r *Repo) isHere(m Remote) bool {
	_, other := r.config.Value("remote", m.Name, "uploadpack")
	_, ok := r.fetchDir(m)
	return ok && !other
}

// takeRefs sets the refs that a clone in dir has fetched.
func (r *Repo) takeRefs(ctx context.Context, dir string, specs []RefSpec) error {
	other, err := Open(dir, nil)
	if err != nil {
		return err
	}
	var updates []RefUpdate
	for _, s := range specs {
		refs, err := other.Refs(s.prefix())
		if err != nil {
			return err
		}
		for _, ref := range refs {
			updates = append(updates, RefUpdate{Name: ref.Name, New: ref.Hash})
		}
	}
	return r.UpdateRefs(ctx, updates)
}
