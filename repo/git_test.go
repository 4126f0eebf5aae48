package repo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"testing"
)

// TestBesideGit has people work on a workspace with plain git between two calls.
func TestBesideGit(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, dir string){
		"gc":            func(t *testing.T, dir string) { runGit(t, dir, "gc", "--quiet") },
		"gc aggressive": func(t *testing.T, dir string) { runGit(t, dir, "gc", "--quiet", "--aggressive", "--prune=now") },
		"pack-refs":     func(t *testing.T, dir string) { runGit(t, dir, "pack-refs", "--all", "--prune") },
		"repack":        func(t *testing.T, dir string) { runGit(t, dir, "repack", "-a", "-d", "-q") },
		"multi-pack": func(t *testing.T, dir string) {
			runGit(t, dir, "repack", "-d", "-q")
			runGit(t, dir, "multi-pack-index", "write")
		},
		"commit-graph": func(t *testing.T, dir string) { runGit(t, dir, "commit-graph", "write", "--reachable") },
		"other tape":   func(t *testing.T, dir string) { runGit(t, dir, "checkout", "--quiet", "tape/other") },
		"detached":     func(t *testing.T, dir string) { runGit(t, dir, "checkout", "--quiet", "--detach") },
		"own branch":   func(t *testing.T, dir string) { runGit(t, dir, "checkout", "--quiet", "-b", "mine") },
		"worktree": func(t *testing.T, dir string) {
			runGit(t, dir, "worktree", "add", "--quiet", dir+"-other", "tape/other")
		},
		"index gone":    func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".git", "index")) },
		"index v4":      func(t *testing.T, dir string) { runGit(t, dir, "update-index", "--index-version", "4") },
		"split index":   func(t *testing.T, dir string) { runGit(t, dir, "update-index", "--split-index") },
		"damaged index": func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, ".git", "index"), []byte("what?")) },
		"no reflogs":    func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".git", "logs")) },
		"notes lost":    func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".git", "tape")) },
		"stash": func(t *testing.T, dir string) {
			mustAppend(t, openTape(t, reopen(t, dir), "main"), Message("user", "not committed"))
			runGit(t, dir, "stash", "--include-untracked", "--quiet")
			runGit(t, dir, "stash", "pop", "--quiet")
		},
		"files touched":  func(t *testing.T, dir string) { runGit(t, dir, "checkout-index", "--all", "--force") },
		"stray worktree": func(t *testing.T, dir string) { writeFile(t, mkdir(t, dir, "tapes", "other")+"/note", []byte("mine")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testStore(t, nil)
			tp := openTape(t, s, "main")
			mustAppend(t, tp, Message("user", "one"), Event("e", nil))
			mustHandoff(t, tp, "build")
			mustAppend(t, tp, Message("user", "two"))
			mustHandoff(t, tp, "test")
			other, err := s.CreateTape(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			act(t, s.Dir())
			for _, s := range []*Store{s, reopen(t, s.Dir())} {
				// Of the Store that was open meanwhile, and of a new one.
				tp, other = openTape(t, s, "main"), openTape(t, s, "other")
				before := len(entriesOf(t, tp, Query{}))
				if before < 6 {
					t.Fatalf("%d entries are left", before)
				}
				mustAppend(t, tp, Message("user", "three"))
				mustAppend(t, tp, Message("user", "four"), Event("e", nil))
				h := mustHandoff(t, tp, "next")
				if got := len(entriesOf(t, tp, Query{})); got != before+4 {
					t.Errorf("%d entries, want %d", got, before+4)
				}
				if got := runGit(t, s.Dir(), "rev-parse", "tape/main", h.Tag+"^{commit}"); got != h.Commit+"\n"+h.Commit {
					t.Errorf("git sees %s, the handoff said %s", got, h.Commit)
				}
				mustAppend(t, other, Message("user", "elsewhere"))
				mustHandoff(t, other, "there")
			}
			wantTags(t, tp)
			for _, tp := range []*Tape{tp, other} {
				wt, err := s.in().Git().WorktreeOf(tp.in().Ref())
				if err != nil {
					t.Fatal(err)
				}
				wantClean(t, wt.Dir)
				if got := runGit(t, wt.Dir, "symbolic-ref", "--short", "HEAD"); got != tp.Branch() {
					t.Errorf("%s has %s checked out", wt.Dir, got)
				}
			}
			verified(t, s.Dir())
		})
	}
}

func mkdir(t testing.TB, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestClone opens what plain git clone makes of a workspace.
func TestClone(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "one"))
	mustHandoff(t, tp, "build")
	mustAppend(t, tp, Message("user", "two"))
	mustCheckpoint(t, tp)
	dir := filepath.Join(t.TempDir(), "clone")
	runGit(t, s.Dir(), "clone", "--quiet", s.Dir(), dir)
	healthyAtEnd(t, dir)

	c := reopen(t, dir)
	if got := c.CurrentTape(); got != "main" {
		t.Errorf("the current tape is %q", got)
	}
	there := openTape(t, c, "")
	if got, want := lines(entriesOf(t, there, Query{})), lines(entriesOf(t, tp, Query{})); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the clone reads\n%q\nwant\n%q", got, want)
	}
	if e := mustAppend(t, there, Message("user", "three")); e[0].ID != 5 {
		t.Errorf("the next id is %d, want 5", e[0].ID)
	}
	mustHandoff(t, there, "next")
	wantClean(t, dir)
	if _, err := os.Stat(filepath.Join(s.Dir(), "anchors", "003_next")); err == nil {
		t.Error("the clone wrote into the original")
	}

	again, created, err := Init(t.Context(), dir, nil)
	if err != nil || created {
		t.Errorf("Init in a clone: created=%v, %v", created, err)
	} else if got := again.CurrentTape(); got != "main" {
		t.Errorf("after Init the current tape is %q", got)
	}
}

// TestUnsupported refuses repositories that would be misread.
func TestUnsupported(t *testing.T) {
	source := testStore(t, nil)
	mustHandoff(t, openTape(t, source, ""), "second")
	for name, create := range map[string]func(dir string) *exec.Cmd{
		"shallow": func(dir string) *exec.Cmd {
			return exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+source.Dir(), dir)
		},
		"sha256": func(dir string) *exec.Cmd {
			return exec.Command("git", "init", "--quiet", "--object-format=sha256", dir)
		},
		"reftable": func(dir string) *exec.Cmd {
			return exec.Command("git", "init", "--quiet", "--ref-format=reftable", dir)
		},
		"reftable, by its settings": func(dir string) *exec.Cmd { return exec.Command("git", "init", "--quiet", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			if out, err := create(dir).CombinedOutput(); err != nil {
				t.Skipf("this git cannot make one: %v\n%s", err, out)
			}
			mkdir(t, dir, ".git", "tape") // it passes for a workspace
			if name == "reftable, by its settings" {
				path := filepath.Join(dir, ".git", "config")
				writeFile(t, path, append(readFile(t, path), "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\trefStorage = reftable\n"...))
			}
			before := listAll(t, dir)
			_, openErr := Open(t.Context(), dir, nil)
			_, _, initErr := Init(t.Context(), dir, nil)
			for what, err := range map[string]error{"Open": openErr, "Init": initErr} {
				var unsupported *gitstore.UnsupportedError
				if !errors.As(err, &unsupported) {
					t.Errorf("%s says %v", what, err)
				} else if len(Hints(err)) == 0 {
					t.Errorf("%s gives no hint: %v", what, err)
				}
			}
			if after := listAll(t, dir); after != before {
				t.Errorf("it was written to:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func listAll(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNotAWorkspace: other folders are refused, and left as they are.
func TestNotAWorkspace(t *testing.T) {
	empty := t.TempDir()
	_, err := Open(t.Context(), empty, nil)
	wantIs(t, err, ErrNotFound)
	_, err = Open(t.Context(), filepath.Join(empty, "missing"), nil)
	wantIs(t, err, ErrNotFound)
	file := filepath.Join(empty, "file")
	writeFile(t, file, []byte("mine"))
	for _, open := range []func(string) error{
		func(dir string) error { _, err := Open(t.Context(), dir, nil); return err },
		func(dir string) error { _, _, err := Init(t.Context(), dir, nil); return err },
	} {
		wantIs(t, open(file), ErrInvalid)
	}
	project := filepath.Join(empty, "project")
	runGit(t, empty, "init", "--quiet", project)
	before := listAll(t, project)
	_, _, err = Init(t.Context(), project, nil)
	wantIs(t, err, ErrInvalid)
	if after := listAll(t, project); after != before {
		t.Errorf("somebody's repository was written to:\n%s", after)
	}
	if string(readFile(t, file)) != "mine" {
		t.Error("somebody's file was written to")
	}
}

// TestNothingElseChanges: a tape's writes leave other branches, tags, stashes and the
// user's settings alone.
func TestNothingElseChanges(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "")
	runGit(t, s.Dir(), "branch", "mine")
	runGit(t, s.Dir(), "tag", "v1")
	runGit(t, s.Dir(), "config", "user.name", "Somebody")
	before := runGit(t, s.Dir(), "rev-parse", "mine", "v1")
	config := string(readFile(t, filepath.Join(s.Dir(), ".git", "config")))
	mustHandoff(t, tp, "next")
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, s.Dir(), "rev-parse", "mine", "v1"); got != before {
		t.Errorf("refs of the user moved: %s, before: %s", got, before)
	}
	if got := string(readFile(t, filepath.Join(s.Dir(), ".git", "config"))); got != config {
		t.Errorf("the configuration changed: %s", got)
	}
}
