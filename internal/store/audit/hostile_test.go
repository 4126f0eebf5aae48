package audit_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// remoteNamespace is where the tests fetch to.
const remoteNamespace = "refs/tape/remotes/evil/"

// Whatever a remote sends, its faults are found and reported. A workspace that pulls or clones it has only what
// is valid; what it had before stays. Each case is checked as it is; the long runs also fetch, pull and clone each.
func TestSoakHostileRemotes(t *testing.T) {
	t.Parallel()
	good := storetest.HealthyRemote(t)
	clone := clonedWorkspace(t, good)
	every := testkit.Size(4, 1)
	first := testkit.Random(t).IntN(every)
	for i, k := range evilCases() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "evil.git")
			k.Build(t, dir, good)
			t.Run("as it is", func(t *testing.T) { checkCase(t, k, openFetched(t, dir), refsIn(t, dir), refsIn(t, good)) })
			t.Run("verified", func(t *testing.T) { verifyCase(t, k, dir) })
			if k.Unsent {
				return
			}
			turn := (i + first) % every
			if turn == 0 {
				t.Run("fetched", func(t *testing.T) { fetchCase(t, k, good, dir) })
			}
			if every == 1 || turn%2 == 0 || k.Rewrites {
				t.Run("pull", func(t *testing.T) { pullCase(t, k, dir, clone) })
			}
			if !k.Rewrites && (every == 1 || turn%2 == 1) {
				t.Run("clone", func(t *testing.T) { cloneCase(t, k, dir) })
			}
		})
	}
}

// openFetched reads a repository as if everything in it had been fetched.
func openFetched(t *testing.T, dir string) *repo.Store {
	t.Helper()
	s, err := workspace.OpenBare(dir)
	storetest.Must(t, err)
	return (*repo.Store)(s)
}

// checkCase checks the refs for somebody who has not seen the remote before, and for somebody who had accepted
// its former state.
func checkCase(t *testing.T, k evilCase, s *repo.Store, refs, before map[string]string) {
	t.Helper()
	for _, knows := range []bool{false, true} {
		if k.Rewrites && !knows {
			continue
		}
		c := audit.NewIncomingCheck(storetest.Inner(s))
		names := sortedRefs(refs)
		failed := audit.CheckNames(names)
		for _, ref := range names {
			if failed[ref] != nil {
				continue
			}
			in := layout.Incoming{Ref: ref, New: storetest.Hash(t, refs[ref])}
			if old := before[ref]; old != "" && knows {
				in.Old = storetest.Hash(t, old)
			}
			if err := c.Check(t.Context(), in); err != nil {
				failed[ref] = err
			}
		}
		wantRefused(t, k, failed)
	}
}

func sortedRefs(refs map[string]string) (names []string) {
	for ref := range refs {
		if ref != "refs/stash" && !strings.HasPrefix(ref, "refs/replace/") {
			names = append(names, ref)
		}
	}
	slices.Sort(names)
	return names
}

// TestManyByGit: a remote may have 100 commits on top of a merge that git made, and not one more.
func TestManyByGit(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "x", "")
	r := bare{t, filepath.Join(s.Dir(), layout.GitDirName)}
	var heads []string
	for _, tp := range []*repo.Tape{m, f} {
		storetest.Append(t, tp, repo.Message("user", tp.Name()))
		_, err := tp.Handoff(t.Context(), repo.Anchor{Name: "plan"})
		storetest.Must(t, err)
		heads = append(heads, storetest.Head(t, tp).String())
	}
	tree := r.git("rev-parse", heads[0]+"^{tree}")
	commit := func(parents ...string) string { return r.commit(tree, "by hand", parents...) }
	check := func(head string) error {
		c := audit.NewIncomingCheck(storetest.Inner(s))
		return c.Check(t.Context(), layout.Incoming{Ref: mainRef, New: storetest.Hash(t, head)})
	}
	head := commit(heads...)
	for range 100 {
		head = commit(head)
	}
	if err := check(head); err != nil {
		t.Errorf("100 commits are refused: %v", err)
	}
	if err := check(commit(head)); !errors.Is(err, repo.ErrRefused) || !strings.Contains(err.Error(), "more than 100 commits are on top") {
		t.Errorf("with 101 commits, got %v, want ErrRefused", err)
	}
}

func wantRefused(t *testing.T, k evilCase, failed map[string]error) {
	t.Helper()
	if k.Want == "" {
		for ref, err := range failed {
			t.Errorf("%s is refused: %v", ref, err)
		}
		return
	}
	err := failed[k.Ref]
	if err == nil {
		t.Errorf("%s is not refused", k.Ref)
		return
	}
	if !strings.Contains(err.Error(), k.Want) {
		t.Errorf("the message does not say %q: %v", k.Want, err)
	}
	if !errors.Is(err, repo.ErrRefused) && !errors.Is(err, repo.ErrConflict) {
		t.Errorf("want ErrRefused or ErrConflict, got: %v", err)
	}
	if len(repo.Hints(err)) == 0 {
		t.Errorf("the error has no hint: %v", err)
	}
	if strings.IndexFunc(err.Error(), layout.IsControl) >= 0 || len(err.Error()) > 2000 {
		t.Errorf("not fit for a terminal: %q", err)
	}
}

// fetchCase lets git fetch without checking objects. Git may still refuse the case.
func fetchCase(t *testing.T, k evilCase, good, dir string) {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	fetch := exec.Command("git", "-C", s.Dir(), "-c", "fetch.fsckObjects=false", "fetch", "-q", "--no-tags", "--", dir,
		"+refs/heads/*:"+remoteNamespace+"heads/*", "+refs/tags/*:"+remoteNamespace+"tags/*", "+"+layout.ArchivePrefix+"*:"+remoteNamespace+"archive/*")
	if out, err := fetch.CombinedOutput(); err != nil {
		if k.Want == "" {
			t.Errorf("git does not fetch it: %v\n%s", err, out)
		}
		return
	}
	refs := map[string]string{}
	all, err := storetest.Inner(s).Git().Refs(remoteNamespace)
	storetest.Must(t, err)
	for _, ref := range all {
		name := "refs/" + strings.TrimPrefix(ref.Name, remoteNamespace)
		refs[strings.Replace(name, "refs/archive/", layout.ArchivePrefix, 1)] = ref.Hash.String()
	}
	if k.Rewrites {
		storetest.Git(t, s.Dir(), "fetch", "-q", "--no-tags", good, "refs/heads/*:refs/tape/was/heads/*", "refs/tags/*:refs/tape/was/tags/*")
	}
	was := storetest.History(t, s.Dir())
	checkCase(t, k, storetest.Reopen(t, s.Dir()), refs, refsIn(t, good))
	if now := storetest.History(t, s.Dir()); now != was {
		t.Errorf("the workspace has changed:\n%s\nwas:\n%s", now, was)
	}
	storetest.WantClean(t, s.Dir())
}

// Checking what a remote sends takes little memory, even if it would inflate to gigabytes.
func TestHostileMemory(t *testing.T) {
	good := storetest.HealthyRemote(t)
	for _, k := range evilCases() {
		if !strings.Contains(k.Name, "GiB") {
			continue
		}
		dir := filepath.Join(t.TempDir(), "evil.git")
		k.Build(t, dir, good)
		s := openFetched(t, dir)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := audit.NewIncomingCheck(storetest.Inner(s)).Check(t.Context(), layout.Incoming{Ref: k.Ref, New: storetest.Hash(t, refsIn(t, dir)[k.Ref])})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s is not refused", k.Name)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("checking %s allocated %d MiB, want at most 64", k.Name, took>>20)
		}
	}
}

// Names that this program makes are accepted, and names that a file system could take for each other are not.
func TestIncomingNamesTogether(t *testing.T) {
	t.Parallel()
	ok := []string{"refs/heads/tape/main", "refs/heads/tape/" + layout.TapeSlug("Main"), "refs/heads/tape/" + layout.TapeSlug("café"), "refs/heads/tape/计划",
		"refs/heads/fork/main/try", "refs/tags/anchor/main/001_session-start", "refs/tags/anchor/main/1000_Ü", "refs/tape/archive/main/20261120T093000Z",
		"refs/tape/archive/main/20261120T093000.123456Z", "refs/heads/tape/" + layout.TapeSlug("con"), "refs/heads/tape/" + layout.TapeSlug(strings.Repeat("long ", 40))}
	for ref, err := range audit.CheckNames(ok) {
		t.Errorf("%s is refused: %v", ref, err)
	}
	hash := "-0123abcd"
	for _, pair := range [][2]string{{"A", "a"}, {"\u00e9", "\u00c9"}, {"\uff41", "a"}, {"\u212a", "k"}, {"\u017f", "s"}, {"\ufb01", "fi"}} {
		refs := []string{layout.BranchPrefix + pair[0] + hash, layout.BranchPrefix + pair[1] + hash}
		if got := audit.CheckNames(refs); len(got) != 2 {
			t.Errorf("%q and %q are not both refused: %v", pair[0], pair[1], got)
		}
	}
}

// A remote may continue from any commit that was accepted before, but never go back to an older one.
func TestIncomingContinues(t *testing.T) {
	t.Parallel()
	good := storetest.HealthyRemote(t)
	s := openFetched(t, good)
	head := storetest.Hash(t, refsIn(t, good)["refs/heads/tape/main"])
	for at := head; ; {
		if err := audit.NewIncomingCheck(storetest.Inner(s)).Check(t.Context(), layout.Incoming{Ref: "refs/heads/tape/main", Old: at, New: head}); err != nil {
			t.Errorf("continuing from %s is refused: %v", at, err)
		}
		if at != head {
			err := audit.NewIncomingCheck(storetest.Inner(s)).Check(t.Context(), layout.Incoming{Ref: "refs/heads/tape/main", Old: head, New: at})
			storetest.WantIs(t, err, repo.ErrConflict)
		}
		c, err := storetest.Inner(s).Git().Commit(at)
		storetest.Must(t, err)
		if len(c.Parents) == 0 {
			break
		}
		at = c.Parents[0]
	}
}

// The refs of a healthy remote are accepted, whether its tapes are new or unchanged.
func TestIncomingBesideTheKnown(t *testing.T) {
	t.Parallel()
	good := storetest.HealthyRemote(t)
	refs := refsIn(t, good)
	for _, known := range []bool{false, true} {
		c := audit.NewIncomingCheck(storetest.Inner(openFetched(t, good)))
		for _, ref := range sortedRefs(refs) {
			in := layout.Incoming{Ref: ref, New: storetest.Hash(t, refs[ref])}
			if known && strings.HasPrefix(ref, layout.BranchPrefix) {
				in.Old = in.New
			}
			if err := c.Check(t.Context(), in); err != nil {
				t.Errorf("%s is refused: %v", ref, err)
			}
		}
	}
}
