package writer_test

import (
	"path/filepath"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// People work on a workspace with plain git between two calls.
func TestBesideGit(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, dir string){
		"gc":            func(t *testing.T, dir string) { storetest.Git(t, dir, "gc", "--quiet") },
		"gc aggressive": func(t *testing.T, dir string) { storetest.Git(t, dir, "gc", "--quiet", "--aggressive", "--prune=now") },
		"pack-refs":     func(t *testing.T, dir string) { storetest.Git(t, dir, "pack-refs", "--all", "--prune") },
		"repack":        func(t *testing.T, dir string) { storetest.Git(t, dir, "repack", "-a", "-d", "-q") },
		"multi-pack": func(t *testing.T, dir string) {
			storetest.Git(t, dir, "repack", "-d", "-q")
			storetest.Git(t, dir, "multi-pack-index", "write")
		},
		"commit-graph": func(t *testing.T, dir string) { storetest.Git(t, dir, "commit-graph", "write", "--reachable") },
		"other tape":   func(t *testing.T, dir string) { storetest.Git(t, dir, "checkout", "--quiet", "tape/other") },
		"detached":     func(t *testing.T, dir string) { storetest.Git(t, dir, "checkout", "--quiet", "--detach") },
		"own branch":   func(t *testing.T, dir string) { storetest.Git(t, dir, "checkout", "--quiet", "-b", "mine") },
		"worktree": func(t *testing.T, dir string) {
			storetest.Git(t, dir, "worktree", "add", "--quiet", dir+"-other", "tape/other")
		},
		"index gone":  func(t *testing.T, dir string) { storetest.Remove(t, filepath.Join(dir, ".git", "index")) },
		"index v4":    func(t *testing.T, dir string) { storetest.Git(t, dir, "update-index", "--index-version", "4") },
		"split index": func(t *testing.T, dir string) { storetest.Git(t, dir, "update-index", "--split-index") },
		"damaged index": func(t *testing.T, dir string) {
			storetest.WriteFile(t, filepath.Join(dir, ".git", "index"), []byte("what?"))
		},
		"no reflogs": func(t *testing.T, dir string) { storetest.Remove(t, filepath.Join(dir, ".git", "logs")) },
		"notes lost": func(t *testing.T, dir string) { storetest.Remove(t, filepath.Join(dir, ".git", "tape")) },
		"stash": func(t *testing.T, dir string) {
			storetest.Append(t, storetest.Tape(t, storetest.Reopen(t, dir), "main"), repo.Message("user", "not committed"))
			storetest.Git(t, dir, "stash", "--include-untracked", "--quiet")
			storetest.Git(t, dir, "stash", "pop", "--quiet")
		},
		"files touched": func(t *testing.T, dir string) { storetest.Git(t, dir, "checkout-index", "--all", "--force") },
		"stray worktree": func(t *testing.T, dir string) {
			storetest.WriteFile(t, storetest.Mkdir(t, dir, "tapes", "other")+"/note", []byte("mine"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t, nil)
			tp := storetest.Tape(t, s, "main")
			storetest.Append(t, tp, repo.Message("user", "one"), repo.Event("e", nil))
			storetest.Handoff(t, tp, "build")
			storetest.Append(t, tp, repo.Message("user", "two"))
			storetest.Handoff(t, tp, "test")
			other, err := s.CreateTape(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			act(t, s.Dir())
			for _, s := range []*repo.Store{s, storetest.Reopen(t, s.Dir())} {
				// With the Store that was open while git was used, and with a new one.
				tp, other = storetest.Tape(t, s, "main"), storetest.Tape(t, s, "other")
				before := len(storetest.Entries(t, tp, repo.Query{}))
				if before < 6 {
					t.Fatalf("%d entries are left, want at least 6", before)
				}
				storetest.Append(t, tp, repo.Message("user", "three"))
				storetest.Append(t, tp, repo.Message("user", "four"), repo.Event("e", nil))
				h := storetest.Handoff(t, tp, "next")
				if got := len(storetest.Entries(t, tp, repo.Query{})); got != before+4 {
					t.Errorf("%d entries, want %d", got, before+4)
				}
				if got := storetest.Git(t, s.Dir(), "rev-parse", "tape/main", h.Tag+"^{commit}"); got != h.Commit+"\n"+h.Commit {
					t.Errorf("git sees %s, the handoff said %s", got, h.Commit)
				}
				storetest.Append(t, other, repo.Message("user", "elsewhere"))
				storetest.Handoff(t, other, "there")
			}
			storetest.WantTags(t, tp)
			for _, tp := range []*repo.Tape{tp, other} {
				wt, err := storetest.Inner(s).Git().WorktreeOf(storetest.InnerTape(tp).Ref())
				if err != nil {
					t.Fatal(err)
				}
				storetest.WantClean(t, wt.Dir)
				if got := storetest.Git(t, wt.Dir, "symbolic-ref", "--short", "HEAD"); got != tp.Branch() {
					t.Errorf("%s has %s checked out, want %s", wt.Dir, got, tp.Branch())
				}
			}
			storetest.Healthy(t, s.Dir())
		})
	}
}

// Writing to a tape leaves other branches, tags, stashes and the user's settings alone.
func TestNothingElseChanges(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Git(t, s.Dir(), "branch", "mine")
	storetest.Git(t, s.Dir(), "tag", "v1")
	storetest.Git(t, s.Dir(), "config", "user.name", "Somebody")
	before := storetest.Git(t, s.Dir(), "rev-parse", "mine", "v1")
	config := string(storetest.ReadFile(t, filepath.Join(s.Dir(), ".git", "config")))
	storetest.Handoff(t, tp, "next")
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Git(t, s.Dir(), "rev-parse", "mine", "v1"); got != before {
		t.Errorf("refs of the user moved: %s, before: %s", got, before)
	}
	if got := string(storetest.ReadFile(t, filepath.Join(s.Dir(), ".git", "config"))); got != config {
		t.Errorf("the configuration changed: %s", got)
	}
}
