package repo

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	"tape/internal/testkit/hostile"
	"testing"
)

// healthyRemote is a bare repository of a tape with handoffs, a fork that was merged and
// one that is open.
func healthyRemote(t testing.TB) string {
	t.Helper()
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "one"), Event("started", nil))
	mustHandoff(t, tp, "second")
	mustAppend(t, tp, Message("user", "two"))
	mustHandoff(t, tp, "third")
	mustAppend(t, tp, Message("user", "three"), Message("assistant", "four"))
	merged := mustFork(t, tp, "merged", "")
	mustAppend(t, merged, Message("user", "of the fork"))
	mustAppend(t, tp, Message("user", "five"))
	mustMerge(t, merged, join.Options{})
	open := mustFork(t, tp, "try", "")
	mustAppend(t, open, Message("user", "tried"))
	mustHandoff(t, open, "tried")
	dir := filepath.Join(t.TempDir(), "good.git")
	runGit(t, s.Dir(), "clone", "-q", "--mirror", "--no-hardlinks", ".", dir)
	return dir
}

// remoteNamespace is where the tests fetch to.
const remoteNamespace = "refs/tape/remotes/evil/"

func TestHostileRemotes(t *testing.T) {
	t.Parallel()
	good := healthyRemote(t)
	every := testkit.Size(4, 1) // TestHostilePull fetches each
	first := testkit.Random(t).IntN(every)
	for i, k := range hostile.Cases() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "evil.git")
			k.Build(t, dir, good)
			t.Run("as it is", func(t *testing.T) { checkCase(t, k, seen(t, dir), hostile.Refs(t, dir), hostile.Refs(t, good)) })
			if k.Unsent || i%every != first {
				return
			}
			t.Run("fetched", func(t *testing.T) { fetchCase(t, k, good, dir) })
		})
	}
}

// seen reads a repository as if everything in it had been fetched.
func seen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := workspace.OpenBare(dir)
	mustDo(t, err)
	return (*Store)(s)
}

// checkCase shows the refs to somebody who has seen nothing of the remote before, and to
// somebody who had accepted what it was.
func checkCase(t *testing.T, k hostile.Case, s *Store, refs, before map[string]string) {
	t.Helper()
	for _, knows := range []bool{false, true} {
		if k.OnlyThen && !knows {
			continue
		}
		c := audit.NewIncomingCheck(s.in())
		names := sortedRefs(refs)
		failed := audit.CheckNames(names)
		for _, ref := range names {
			if failed[ref] != nil {
				continue
			}
			in := layout.Incoming{Ref: ref, New: mustHash(t, refs[ref])}
			if old := before[ref]; old != "" && knows {
				in.Old = mustHash(t, old)
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

func mustHash(t testing.TB, hex string) gitstore.Hash {
	t.Helper()
	h, err := gitstore.ParseHash(hex)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func wantRefused(t *testing.T, k hostile.Case, failed map[string]error) {
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
	if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrConflict) {
		t.Errorf("not of the class of refusals: %v", err)
	}
	if len(Hints(err)) == 0 {
		t.Errorf("no way out: %v", err)
	}
	if strings.IndexFunc(err.Error(), layout.IsControl) >= 0 || len(err.Error()) > 2000 {
		t.Errorf("not fit for a terminal: %q", err)
	}
}

// fetchCase lets git fetch, without the look that it can take at objects. It may refuse the
// case all the same.
func fetchCase(t *testing.T, k hostile.Case, good, dir string) {
	t.Helper()
	s, _, err := Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	fetch := exec.Command("git", "-C", s.Dir(), "-c", "fetch.fsckObjects=false", "fetch", "-q", "--no-tags", "--", dir,
		"+refs/heads/*:"+remoteNamespace+"heads/*", "+refs/tags/*:"+remoteNamespace+"tags/*", "+"+layout.ArchivePrefix+"*:"+remoteNamespace+"archive/*")
	if out, err := fetch.CombinedOutput(); err != nil {
		if k.Want == "" {
			t.Errorf("git does not fetch it: %v\n%s", err, out)
		}
		return
	}
	refs := map[string]string{}
	all, err := s.in().Git().Refs(remoteNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range all {
		name := "refs/" + strings.TrimPrefix(ref.Name, remoteNamespace)
		refs[strings.Replace(name, "refs/archive/", layout.ArchivePrefix, 1)] = ref.Hash.String()
	}
	if k.OnlyThen {
		runGit(t, s.Dir(), "fetch", "-q", "--no-tags", good, "refs/heads/*:refs/tape/was/heads/*", "refs/tags/*:refs/tape/was/tags/*")
	}
	was := history(t, s.Dir())
	checkCase(t, k, reopen(t, s.Dir()), refs, hostile.Refs(t, good))
	if now := history(t, s.Dir()); now != was {
		t.Errorf("the workspace has changed:\n%s\nwas:\n%s", now, was)
	}
	wantClean(t, s.Dir())
}

// What a remote makes up may cost it work, but not us memory.
func TestHostileMemory(t *testing.T) {
	good := healthyRemote(t)
	for _, k := range hostile.Cases() {
		if !strings.Contains(k.Name, "GiB") {
			continue
		}
		dir := filepath.Join(t.TempDir(), "evil.git")
		k.Build(t, dir, good)
		s := seen(t, dir)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := audit.NewIncomingCheck(s.in()).Check(t.Context(), layout.Incoming{Ref: k.Ref, New: mustHash(t, hostile.Refs(t, dir)[k.Ref])})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s is not refused", k.Name)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s took %d MiB", k.Name, took>>20)
		}
	}
}

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
			t.Errorf("%q and %q stand side by side: %v", pair[0], pair[1], got)
		}
	}
}

// However much was accepted before, what follows in the same history is.
func TestIncomingContinues(t *testing.T) {
	t.Parallel()
	good := healthyRemote(t)
	s := seen(t, good)
	head := mustHash(t, hostile.Refs(t, good)["refs/heads/tape/main"])
	for at := head; ; {
		if err := audit.NewIncomingCheck(s.in()).Check(t.Context(), layout.Incoming{Ref: "refs/heads/tape/main", Old: at, New: head}); err != nil {
			t.Errorf("from %s: %v", at, err)
		}
		if at != head {
			err := audit.NewIncomingCheck(s.in()).Check(t.Context(), layout.Incoming{Ref: "refs/heads/tape/main", Old: head, New: at})
			wantIs(t, err, ErrConflict)
		}
		c, err := s.in().Git().Commit(at)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Parents) == 0 {
			break
		}
		at = c.Parents[0]
	}
}

// Tags and forks of a tape that has not changed need nothing of it to be checked again.
func TestIncomingBesideTheKnown(t *testing.T) {
	t.Parallel()
	good := healthyRemote(t)
	refs := hostile.Refs(t, good)
	for _, known := range []bool{false, true} {
		c := audit.NewIncomingCheck(seen(t, good).in())
		for _, ref := range sortedRefs(refs) {
			in := layout.Incoming{Ref: ref, New: mustHash(t, refs[ref])}
			if known && strings.HasPrefix(ref, layout.BranchPrefix) {
				in.Old = in.New
			}
			if err := c.Check(t.Context(), in); err != nil {
				t.Errorf("%s: %v", ref, err)
			}
		}
	}
}
