package audit_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/remotes"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// clonedWorkspace clones a remote, then adds an entry to main and a git hook of the user's.
func clonedWorkspace(t testing.TB, remote string) string {
	t.Helper()
	s, _, err := repo.Clone(t.Context(), remote, filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "ours"))
	hooks := filepath.Join(s.Dir(), ".git", "hooks")
	storetest.Must(t, os.MkdirAll(hooks, 0o700))
	storetest.WriteFile(t, filepath.Join(hooks, "post-update"), []byte("#!/bin/sh\nexit 1\n"))
	return s.Dir()
}

// workspaceFiles returns the contents of all files of a workspace by path, except git's objects and what a fetch
// may write.
func workspaceFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch rel = filepath.ToSlash(rel); rel {
		case ".git/objects", ".git/refs", ".git/tape", ".git/logs/refs/tape":
			return fs.SkipDir
		case ".git/packed-refs":
			return nil
		}
		kind := d.Type().String() + " "
		if d.Type().IsRegular() {
			out[rel] = kind + string(storetest.ReadFile(t, path))
		} else {
			out[rel] = kind
		}
		return nil
	})
	storetest.Must(t, err)
	return out
}

// ownRefs returns the refs of a workspace, except those that a fetch writes.
func ownRefs(t *testing.T, dir string) map[string]string {
	t.Helper()
	refs := refsIn(t, filepath.Join(dir, layout.GitDirName))
	maps.DeleteFunc(refs, func(ref, _ string) bool {
		return strings.HasPrefix(ref, "refs/tape/") && !strings.HasPrefix(ref, layout.ArchivePrefix)
	})
	return refs
}

func pullCase(t *testing.T, k evilCase, remote, clone string) {
	dir := filepath.Join(t.TempDir(), "ws")
	storetest.CopyTree(t, clone, dir)
	storetest.Git(t, dir, "config", "remote.origin.url", remote)
	s := storetest.Reopen(t, dir)
	refsBefore, filesBefore := ownRefs(t, dir), workspaceFiles(t, dir)
	accepted, err := remotes.KnownRefs(storetest.Inner(s), layout.AcceptedRefs("origin"))
	storetest.Must(t, err)
	done, err := s.Fetch(t.Context(), "origin", nil)
	if now := ownRefs(t, dir); !maps.Equal(now, refsBefore) {
		t.Errorf("the fetch changed the refs to\n%v\nthey were\n%v", now, refsBefore)
	}
	wantSameFiles(t, workspaceFiles(t, dir), filesBefore)
	if !wantTold(t, k, "origin", done, err) {
		return
	}
	// Everything else arrives, and the tape is unchanged and can be written to.
	now, err := remotes.KnownRefs(storetest.Inner(s), layout.AcceptedRefs("origin"))
	storetest.Must(t, err)
	if k.Want != "" && now[k.Ref] != accepted[k.Ref] {
		t.Errorf("%s is accepted at %s, was at %s", k.Ref, now[k.Ref], accepted[k.Ref])
	}
	mainBefore := storetest.Lines(storetest.Entries(t, storetest.Tape(t, s, "main"), repo.Query{}))
	_, todo, err := remotes.Published(t.Context(), storetest.Inner(s), "origin", nil)
	storetest.Must(t, err)
	for _, status := range todo {
		if _, err := join.Join(t.Context(), storetest.Inner(s), "origin", status.Tape); err != nil {
			t.Errorf("join %s: %v", status.Tape, err)
		}
	}
	main := storetest.Tape(t, s, "main")
	if got := storetest.Lines(storetest.Entries(t, main, repo.Query{})); len(got) < len(mainBefore) || k.Want != "" && k.Ref == storetest.InnerTape(main).Ref() && !slices.Equal(got, mainBefore) {
		t.Errorf("main has %d entries, had %d", len(got), len(mainBefore))
	}
	storetest.Append(t, main, repo.Message("user", "and on"))
	storetest.Healthy(t, dir)
}

func wantSameFiles(t *testing.T, now, before map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if was, ok := before[path]; !ok {
			t.Errorf("%s was not there before", path)
		} else if was != now[path] {
			t.Errorf("%s has changed:\n%.500s\nwas:\n%.500s", path, now[path], was)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// wantTold checks the errors of a fetch: none for a harmless remote, each in plain text, with a hint if it is about
// one ref, and with the name of the remote if the whole fetch failed. It reports whether the fetch went through.
func wantTold(t *testing.T, k evilCase, remote string, done []repo.RefStatus, err error) (through bool) {
	t.Helper()
	if err != nil {
		if k.Want == "" {
			t.Errorf("a harmless remote is refused: %v", err)
		}
		if !errors.Is(err, repo.ErrHostile) && !errors.Is(err, repo.ErrRefused) && !errors.Is(err, repo.ErrConflict) {
			t.Errorf("want ErrHostile, ErrRefused or ErrConflict, got: %v", err)
		}
		if !strings.Contains(err.Error(), remote) {
			t.Errorf("the error does not name the remote %s: %v", remote, err)
		}
		wantPlain(t, err)
		return false
	}
	for _, d := range done {
		if d.Status != repo.RefRejected {
			continue
		}
		if k.Want == "" {
			t.Errorf("%s of a harmless remote is refused: %v", d.Ref, d.Err)
		}
		wantPlain(t, d.Err)
		if len(repo.Hints(d.Err)) == 0 {
			t.Errorf("the error about %s has no hint: %v", d.Ref, d.Err)
		}
	}
	return true
}

func wantPlain(t *testing.T, err error) {
	t.Helper()
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	if strings.IndexFunc(text, layout.IsControl) >= 0 || len(text) > 4000 {
		t.Errorf("not fit for a terminal: %q", err)
	}
}

func cloneCase(t *testing.T, k evilCase, remote string) {
	dir := filepath.Join(t.TempDir(), "clones", "ws")
	s, done, err := repo.Clone(t.Context(), remote, dir, nil)
	through := wantTold(t, k, remote, done.Rejected, err)
	if !through {
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a clone that failed left something: %v", err)
		}
		return
	}
	refs, evil := ownRefs(t, dir), refsIn(t, remote)
	if k.Want != "" && refs[k.Ref] != "" && refs[k.Ref] == evil[k.Ref] {
		t.Errorf("%s was let in:\n%v", k.Ref, refs)
	}
	for path := range workspaceFiles(t, dir) {
		top, _, _ := strings.Cut(path, "/")
		if !slices.Contains([]string{".", "..", ".git", layout.TapeFile, layout.ReadmeFile, layout.AttributesFile, layout.AnchorsDir}, top) {
			t.Errorf("%s was written", path)
		}
	}
	tapes, err := s.Tapes(t.Context())
	storetest.Must(t, err)
	for _, tp := range tapes {
		storetest.Append(t, tp, repo.Message("user", "and on"))
	}
	storetest.Healthy(t, dir)
}
