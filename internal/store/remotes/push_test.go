package remotes_test

//tape:race: pushes go on beside writers and each other

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/remotes"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A secret is reported once, for its tape, however many forks have it. Secrets that the remote already has are skipped.
func TestPushTellsSecretsOnce(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Remote(t, s)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Secret("1")))
	clean, err := s.CreateTape(t.Context(), "clean")
	storetest.Must(t, err)
	storetest.Append(t, clean, repo.Message("user", "nothing"))
	var forks []*repo.Tape
	for i := range 3 {
		f, err := m.Fork(t.Context(), fmt.Sprint("f", i))
		storetest.Must(t, err)
		storetest.Append(t, f, repo.Message("user", fmt.Sprint("in fork ", i)))
		forks = append(forks, f)
	}
	storetest.Append(t, forks[1], repo.Message("user", storetest.Secret("2")))
	found := func() (out []string) {
		t.Helper()
		_, err := s.Push(t.Context(), "origin", &repo.PushOptions{Forks: true})
		var secrets *repo.SecretsError
		if !errors.As(err, &secrets) {
			t.Fatalf("the push says %v", err)
		}
		if n := strings.Count(err.Error(), "push to "); n != 1 {
			t.Errorf("%q contains \"push to\" %d times, want once", err, n)
		}
		if hints := repo.Hints(err); len(hints) != 1 || hints[0].Kind != layout.PurgeOrAllow || hints[0].Args[2] != "clean" {
			t.Errorf("the hint is %q, want purge-or-allow with the tape clean", hints)
		}
		for _, f := range secrets.Findings {
			out = append(out, fmt.Sprintf("%s @%d", f.Tape, f.Entry))
		}
		return out
	}
	if got, want := found(), []string{"main @2", "main/f1 @4"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	// The tape was published by git alone, and has new entries since.
	storetest.Git(t, s.Dir(), "push", "-q", "--no-verify", "origin", "tape/main")
	storetest.Append(t, m, repo.Message("user", "more"))
	if got, want := found(), []string{"main/f1 @4"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	storetest.Push(t, s, &repo.PushOptions{Tapes: []string{"clean"}})
	_, err = s.Push(t.Context(), "origin", &repo.PushOptions{Forks: true})
	var secrets *repo.SecretsError
	if !errors.As(err, &secrets) {
		t.Fatalf("push: %v, want a SecretsError", err)
	}
	storetest.Must(t, storetest.Inner(s).AllowSecret(secrets.Findings[0].Fingerprint))
	storetest.Push(t, s, &repo.PushOptions{Forks: true})
}

// A fork is pushed with its parent, and rejected if its own history or its tape's was rewritten.
func TestPushForkIsChecked(t *testing.T) {
	for where, want := range map[string][]string{
		"nowhere": {"work new", "work/try new"}, "fork": {"work new", "work/try rejected"}, "tape": {"work rejected", "work/try rejected"},
	} {
		s := storetest.New(t, nil)
		remote := storetest.Remote(t, s)
		m, err := s.CreateTape(t.Context(), "work")
		storetest.Must(t, err)
		storetest.Append(t, m, repo.Message("user", "one"))
		storetest.Handoff(t, m, "next")
		f, err := m.Fork(t.Context(), "try")
		storetest.Must(t, err)
		storetest.Append(t, f, repo.Message("user", "mine"))
		storetest.Checkpoint(t, f)
		for _, tp := range []*repo.Tape{m, f} {
			storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
		}
		if tp := map[string]*repo.Tape{"fork": f, "tape": m}[where]; tp != nil {
			rewriteTip(t, s, storetest.InnerTape(tp).Ref())
		}
		done, err := s.Push(t.Context(), "origin", &repo.PushOptions{Tapes: []string{"work/try"}})
		storetest.Must(t, err)
		var got []string
		for _, d := range done {
			got = append(got, d.Tape+" "+d.Status)
			refs := storetest.Git(t, remote, "for-each-ref", "--format=%(refname)", d.Ref)
			if (refs == "") != (d.Status == repo.RefRejected) {
				t.Errorf("rewritten %s: %s is %s, but the remote has the refs %q", where, d.Tape, d.Status, refs)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("rewritten %s: %q, want %q", where, got, want)
		}
	}
}

// rewriteTip adds a commit to a branch in which entries are missing, and removes it when the test ends.
func rewriteTip(t *testing.T, s *repo.Store, ref string) {
	t.Helper()
	head := storetest.Git(t, s.Dir(), "rev-parse", ref)
	first := strings.Fields(storetest.Git(t, s.Dir(), "rev-list", "--first-parent", head))
	made := storetest.Git(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org",
		"commit-tree", first[len(first)-1]+"^{tree}", "-p", head, "-m", "back to the beginning")
	storetest.Git(t, s.Dir(), "update-ref", ref, made)
	t.Cleanup(func() { storetest.Git(t, s.Dir(), "update-ref", ref, head) })
}

// Under finds the same refs as a search through the whole list.
func TestRefsUnder(t *testing.T) {
	var refs []gitstore.Ref
	for i, name := range []string{"refs/a", "refs/a/b", "refs/a/b/c", "refs/a/bc", "refs/ab", "refs/b/a", "refs/b/b"} {
		refs = append(refs, gitstore.Ref{Name: name, Hash: gitstore.Hash{byte(i + 1)}})
	}
	for _, prefix := range []string{"", "refs/", "refs/a", "refs/a/", "refs/a/b", "refs/a/b/", "refs/b/", "refs/b/b", "refs/c", "z"} {
		var want []gitstore.Ref
		for _, ref := range refs {
			if strings.HasPrefix(ref.Name, prefix) {
				want = append(want, ref)
			}
		}
		if got := remotes.Under(refs, prefix); !slices.Equal(got, want) {
			t.Errorf("under %q: %v, want %v", prefix, got, want)
		}
	}
}

// Pushes of one workspace at the same time all succeed.
func TestConcurrentPushes(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Remote(t, s)
	m := storetest.Tape(t, s, "main")
	for round := range 3 {
		storetest.Append(t, m, repo.Message("user", fmt.Sprint("round ", round)))
		storetest.Handoff(t, m, fmt.Sprint("phase-", round))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				other, err := repo.Open(t.Context(), s.Dir(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				done, err := other.Push(t.Context(), "origin", nil)
				if err != nil || len(done) != 1 || done[0].Status == repo.RefRejected {
					t.Errorf("push: %+v, %v; want one tape that is not rejected", done, err)
				}
			})
		}
		wg.Wait()
	}
}

// TestPushToShared: files and folders that a push adds to a shared repository are accessible to the group; in a private
// repository they are private.
func TestPushToShared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of group and others are not those of Unix here")
	}
	for _, c := range []struct {
		shared                   string
		inFolder, inFile, denied fs.FileMode // permissions that group and others get for folders and files, and that nobody gets
	}{
		{"all", 0o075, 0o044, 0o002},
		{"group", 0o070, 0o040, 0o002},
		{"0600", 0, 0, 0o077},
	} {
		t.Run(c.shared, func(t *testing.T) {
			remote := filepath.Join(t.TempDir(), "remote.git")
			storetest.Git(t, t.TempDir(), "init", "-q", "--bare", "--shared="+c.shared, remote)
			s := storetest.New(t, nil)
			storetest.Must(t, s.AddRemote(t.Context(), "origin", remote))
			storetest.Handoff(t, storetest.Tape(t, s, "main"), "second")
			storetest.Push(t, s, nil)
			storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "more"))
			storetest.Handoff(t, storetest.Tape(t, s, "main"), "third")
			storetest.Push(t, s, nil)
			storetest.Must(t, filepath.WalkDir(remote, func(path string, e fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				rel, _ := filepath.Rel(remote, path)
				if rel == "config" || rel == "description" || strings.HasPrefix(rel, "hooks") || strings.HasPrefix(rel, "info") {
					return nil // as git made it
				}
				st, err := e.Info()
				if err != nil {
					return err
				}
				got, want := st.Mode().Perm(), c.inFile
				switch {
				case e.IsDir():
					want = c.inFolder
				case want != 0 && got&0o200 != 0: // files that change
					want |= 0o020
				}
				if got&want != want || got&c.denied != 0 {
					t.Errorf("%s has the mode %v, want %v and none of %v", rel, got, want, c.denied)
				}
				return nil
			}))
		})
	}
}
