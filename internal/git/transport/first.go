package transport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// firstFetch fetches into an empty repository with git clone, which is faster than git fetch: it
// writes all refs as one file, and checks the pack once less. The clone is a scratch folder that
// uses the objects folder of r and is removed.
//
// A clone takes all branches, and its address shows in lists of processes. So if the remote has
// branches that specs do not match, or the address has a password, nothing is fetched and done
// is false.
func firstFetch(ctx context.Context, r *gitstore.Repo, m Remote, specs []RefSpec, o Options) (head string, done bool, err error) {
	if MaskURL(m.URL) != m.URL {
		return "", false, nil
	}
	all, head, err := gitLsRemote(ctx, r, m, o, "--symref")
	if err != nil {
		return "", false, err
	}
	asked := func(ref gitstore.Ref) bool {
		return slices.ContainsFunc(specs, func(s RefSpec) bool { return s.matches(ref.Name) })
	}
	if slices.ContainsFunc(all, func(ref gitstore.Ref) bool { return strings.HasPrefix(ref.Name, "refs/heads/") && !asked(ref) }) {
		return head, false, nil
	}
	if !slices.ContainsFunc(all, asked) {
		return head, true, nil
	}
	dir, err := scratchDir(r, "clone-*")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	args := fetchSettings(false)
	for _, s := range specs {
		args = append(args, "-c", "remote.origin.fetch=+"+s.Src+":"+s.Dst)
	}
	args = append(args, "clone", "--bare", "--no-local", "--no-tags", "--template=", "--origin", "origin")
	run := fetchRun(r, m, o)
	run.gitDir = dir
	if _, other := r.Config().Value("remote", m.Name, "uploadpack"); run.local && !other {
		args = append(args, "--upload-pack="+localUploadPack)
	}
	args = append(args, "--progress", "--", m.URL, dir)
	if _, err := runGit(ctx, r, run, args...); err != nil {
		return "", false, classify(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "shallow")); err == nil && st.Size() > 0 {
		return "", false, fmt.Errorf("%w: it is a shallow clone: the beginning of its history is missing", ErrRemote)
	}
	return head, true, takeRefs(ctx, r, dir, specs)
}

// localUploadPack packs with less effort for a remote on this machine: no network to save, and the
// next gc packs better.
const localUploadPack = "git -c pack.window=2 -c pack.compression=1 upload-pack"

// takeRefs sets the refs here that a clone in dir has fetched.
func takeRefs(ctx context.Context, r *gitstore.Repo, dir string, specs []RefSpec) error {
	other, err := gitstore.Open(dir, r.SharedOptions())
	if err != nil {
		return err
	}
	var updates []gitstore.RefUpdate
	for _, s := range specs {
		refs, err := other.Refs(s.prefix())
		if err != nil {
			return err
		}
		for _, ref := range refs {
			updates = append(updates, gitstore.RefUpdate{Name: ref.Name, New: ref.Hash})
		}
	}
	return r.UpdateRefs(ctx, updates)
}
