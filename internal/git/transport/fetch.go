package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
)

// Fetch fetches the refs of a remote (a name, or an address) that match specs, with their objects.
// Each ref here that a spec maps to gets the remote's value, even if that is no fast-forward, and is
// deleted if the remote no longer has its counterpart. Only fetches may write to these refs. A ref is
// set only when its history is complete. Fetch returns the changes of these refs, sorted by name.
//
// Errors: ErrNoGit, ErrAuth, ErrRemote, ErrHostile; ErrNotFound if no remote has that name, or the
// remote lacks a ref that a spec names in full; ErrConflict and ErrBusy if another fetch updates the
// same refs; an UnsupportedError for a partial clone; the context's error. After an error no
// temporary file and no lock is left, and each ref has its old or its new value.
func Fetch(ctx context.Context, r *gitstore.Repo, remote string, specs []RefSpec, o Options) ([]RefChange, error) {
	m, err := resolveRemote(ctx, r, remote, false)
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, errors.New("fetch: no refs given")
	}
	if partial := r.Partial(m.Name); partial != nil {
		return nil, partial
	}
	for _, s := range specs {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	before, err := mirrored(r, specs)
	if err != nil {
		return nil, err
	}
	err = fetchByGit(ctx, r, m, specs, o, before)
	r.Refresh() // find the new packs
	after, aerr := mirrored(r, specs)
	if err = errors.Join(err, aerr); err != nil {
		return nil, err
	}
	moved := changes(before, after)
	return moved, makeDurable(ctx, r, moved)
}

// mirrored returns the refs here that specs map to.
func mirrored(r *gitstore.Repo, specs []RefSpec) (map[string]gitstore.Hash, error) {
	out := map[string]gitstore.Hash{}
	for _, s := range specs {
		refs, err := r.Refs(s.prefix())
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			if strings.HasSuffix(s.Dst, "*") || ref.Name == s.Dst {
				out[ref.Name] = ref.Hash
			}
		}
	}
	return out, nil
}

func changes(before, after map[string]gitstore.Hash) (out []RefChange) {
	for name, h := range after {
		if before[name] != h {
			out = append(out, RefChange{Name: name, Old: before[name], New: h})
		}
	}
	for name, h := range before {
		if _, ok := after[name]; !ok {
			out = append(out, RefChange{Name: name, Old: h})
		}
	}
	slices.SortStableFunc(out, func(a, b RefChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// fetchByGit fetches with the git program.
func fetchByGit(ctx context.Context, r *gitstore.Repo, m Remote, specs []RefSpec, o Options, before map[string]gitstore.Hash) error {
	if err := sweepFetchLocks(r); err != nil {
		return err
	}
	if _, err := r.RecoverMirrors(ctx); err != nil {
		return err
	}
	// Git deletes a packed ref by rewriting packed-refs, which holds all refs. Then it must sync them.
	sync := "core.fsync=objects,derived-metadata,index"
	for name := range before {
		if gitstore.NoFileAt(r.RefPath(name)) {
			sync += ",reference"
			break
		}
	}
	// It checks objects, because they are a stranger's, and keeps them packed, because they may be many.
	return gitFetch(ctx, r, m, specs, o, []string{"-c", "fetch.fsckObjects=true", "-c", "fetch.unpackLimit=1", "-c", sync, "-c", "fetch.writeCommitGraph=false",
		"-c", "advice.fetchShowForcedUpdates=false"})
}

// gitFetch runs git fetch. Refs in files of their own are not synced one by one; see makeDurable.
func gitFetch(ctx context.Context, r *gitstore.Repo, m Remote, specs []RefSpec, o Options, settings []string) error {
	args := func(extra ...string) []string {
		args := append(slices.Clone(settings),
			"fetch", "--no-tags", "--no-prune-tags", "--no-auto-gc", "--prune", "--force", "--refmap=", "--no-recurse-submodules", "--no-show-forced-updates")
		args = append(args, extra...)
		args = append(args, "--progress", "--", m.gitName())
		for _, s := range specs {
			args = append(args, "+"+s.Src+":"+s.Dst)
		}
		for _, pattern := range o.Without {
			args = append(args, "^"+pattern)
		}
		return args
	}
	_, err := runGit(ctx, r, fetchRun(r, m, o), args("--no-write-fetch-head")...) // since git 2.29
	var failed *gitError
	if errors.As(err, &failed) && failed.code == unknownOption {
		_, err = runGit(ctx, r, fetchRun(r, m, o), args()...)
	}
	if errors.As(err, &failed) && strings.Contains(failed.stderr, "invalid refspec '^") {
		return &gitstore.UnsupportedError{Dir: r.GitDir(), What: "sessions were forgotten here, and this git cannot leave them out of a fetch", Hint: "use git 2.29 or later"}
	}
	if errors.As(err, &failed) && movedRef().MatchString(failed.stderr) {
		return fmt.Errorf("%w: %w", gitstore.ErrConflict, err)
	}
	return classify(err)
}

// makeDurable syncs what git has written without syncing: the names of the packs, and the refs. Many
// refs are moved into packed-refs for that.
func makeDurable(ctx context.Context, r *gitstore.Repo, moved []RefChange) error {
	var updates []gitstore.RefUpdate
	for _, c := range moved {
		if !c.New.IsZero() {
			updates = append(updates, gitstore.RefUpdate{Name: c.Name, Old: c.New, New: c.New})
		}
	}
	if len(moved) > 0 {
		if err := r.FS().SyncDir(filepath.Join(gitrun.ObjectsDir(r), "pack")); err != nil {
			return err
		}
	}
	return r.UpdateRefs(ctx, updates)
}

// sweepFetchLocks removes the locks of killed gits on refs that only fetches write. Git itself
// would stop at them forever.
func sweepFetchLocks(r *gitstore.Repo) error {
	found := map[string]fs.FileInfo{}
	err := gitlock.EachLockIn(filepath.Join(r.GitDir(), filepath.FromSlash(gitstore.FetchedPrefix)), func(path string) error {
		gitrun.AddStaleLock(found, path)
		return nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	return gitrun.RemoveStale(r, found, gitlock.OpenFiles())
}
