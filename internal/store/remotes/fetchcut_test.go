package remotes_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/gitlock"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// commands are run on remote-tracking refs that a power cut has damaged, and check their results.
var commands = map[string]func(t *testing.T, s *repo.Store){
	"repair, verify, and fetch": func(t *testing.T, s *repo.Store) {
		_, err := s.RepairGit(t.Context())
		storetest.Must(t, err)
		storetest.Healthy(t, s.Dir())
		_, err = s.Fetch(t.Context(), "origin", nil)
		storetest.Must(t, err)
	},
	"gc": func(t *testing.T, s *repo.Store) {
		storetest.GC(t, s, nil)
	},
	"push": func(t *testing.T, s *repo.Store) {
		storetest.Append(t, storetest.Tape(t, s, "mine"), repo.Message("user", "more"))
		// What the remote had is no longer known, so main may be refused until it is pulled.
		if _, err := s.Push(t.Context(), "origin", nil); err != nil && !errors.Is(err, repo.ErrConflict) {
			t.Fatal(err)
		}
	},
	"fetch": func(t *testing.T, s *repo.Store) {
		_, err := s.Fetch(t.Context(), "origin", nil)
		storetest.Must(t, err)
	},
}

// TestFetchedRefsDamaged leaves remote-tracking refs as a power cut may, because git does not sync them. Whichever command
// comes next, it works.
func TestFetchedRefsDamaged(t *testing.T) {
	t.Parallel()
	missing := strings.Repeat("1", 40) + "\n"
	left := map[string]string{"empty": "", "zeros": strings.Repeat("\x00", 41), "torn": "0123456789abc", "of a missing object": missing}
	n := 0
	for name, content := range left {
		for first, command := range commands {
			for _, prefix := range []string{layout.FetchedRefs("origin"), layout.AcceptedRefs("origin")} {
				if prefix == layout.AcceptedRefs("origin") && content == missing {
					continue // the refs are valid
				}
				if n++; n%testkit.Size(4, 1) != 0 {
					continue // another run tests it: the order is random
				}
				t.Run(filepath.Join(name, first, prefix), func(t *testing.T) {
					t.Parallel()
					s, want := fetchedBefore(t)
					damageRefs(t, s, prefix, content)
					command(t, s)
					pulledNow(t, s, want)
					storetest.Healthy(t, s.Dir())
				})
			}
		}
	}
}

// TestFetchPastOwnLocks leaves locks of a killed tape command on refs that git sets in a fetch, and on which git fails.
func TestFetchPastOwnLocks(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		s, want := fetchedBefore(t)
		branch := storetest.Inner(s).Git().RefPath(layout.FetchedRefs("origin") + layout.InnerRef(layout.BranchPrefix+"main"))
		locks := []string{branch + ".lock"}
		if packed {
			storetest.Git(t, s.Dir(), "pack-refs", "--all")
			storetest.Git(t, strings.TrimSpace(storetest.Git(t, s.Dir(), "remote", "get-url", "origin")), "update-ref", "-d", "refs/heads/tape/gone")
			locks = append(locks, filepath.Join(storetest.Inner(s).Git().GitDir(), "packed-refs.lock"))
		}
		for _, path := range locks {
			storetest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			storetest.Must(t, os.WriteFile(path, nil, gitlock.Perm))
		}
		pulledNow(t, s, want)
	}
}

// fetchedBefore returns a clone that has fetched before, and the commit of main at its remote, which has newer entries.
func fetchedBefore(t *testing.T) (s *repo.Store, want string) {
	ada := storetest.New(t, nil)
	remote := storetest.Published(t, ada, false)
	for _, name := range []string{"mine", "gone"} {
		_, err := ada.CreateTape(t.Context(), name)
		storetest.Must(t, err)
	}
	storetest.Push(t, ada, nil)
	s, _, err := repo.Clone(t.Context(), remote, filepath.Join(t.TempDir(), "clone"), &repo.CloneOptions{Options: repo.Options{Now: testkit.Clock, LockWait: time.Second}})
	storetest.Must(t, err)
	storetest.Must(t, storetest.Join(t.Context(), ada))
	storetest.Append(t, storetest.Tape(t, ada, "main"), repo.Message("user", "more"))
	storetest.Handoff(t, storetest.Tape(t, ada, "main"), "fourth")
	storetest.Push(t, ada, nil)
	_, err = s.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	storetest.Append(t, storetest.Tape(t, ada, "main"), repo.Message("user", "again"))
	storetest.Push(t, ada, nil)
	return s, storetest.Git(t, remote, "rev-parse", "refs/heads/tape/main")
}

// damageRefs overwrites the files of the refs below a prefix with content.
func damageRefs(t *testing.T, s *repo.Store, prefix, content string) {
	n := 0
	storetest.Must(t, filepath.WalkDir(storetest.Inner(s).Git().RefPath(prefix), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		return os.WriteFile(path, []byte(content), 0o600)
	}))
	if n == 0 {
		t.Fatal("no ref has a file of its own")
	}
}

// pulledNow pulls, and fails unless everything that the remote has is here afterwards.
func pulledNow(t *testing.T, s *repo.Store, want string) {
	t.Helper()
	rejected, err := s.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)
	for _, r := range rejected {
		storetest.Must(t, r.Err)
	}
	storetest.Must(t, storetest.Join(t.Context(), s))
	for _, prefix := range []string{layout.FetchedRefs("origin"), layout.AcceptedRefs("origin")} {
		if h, err := storetest.Inner(s).Git().Ref(prefix + layout.InnerRef(layout.BranchPrefix+"main")); err != nil || h.String() != want {
			t.Errorf("main below %s is at %s, %v; want %s", prefix, h, err, want)
		}
	}
	if h, err := storetest.InnerTape(storetest.Tape(t, s, "main")).Head(); err != nil || h.String() != want {
		t.Errorf("main is at %s, %v; want %s", h, err, want)
	}
}
