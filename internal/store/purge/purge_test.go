package purge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func objectExists(t testing.TB, dir, hash string) bool {
	t.Helper()
	return exec.Command("git", "-C", dir, "cat-file", "-e", hash).Run() == nil
}

// One secret in the middle of a tape with phases, uncommitted entries and everything that may remember it.
func TestPurgeEntry(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	first := storetest.Handoff(t, m, "second")
	storetest.Append(t, m, repo.Message("user", "the key is "+storetest.Leak(1)+", keep it"), repo.Event("x", nil))
	storetest.Handoff(t, m, "third")
	storetest.Append(t, m, repo.Message("user", "not committed: "+storetest.Leak(1)))
	before := storetest.Entries(t, m, repo.Query{})
	for _, ref := range []string{"refs/remotes/origin/tape/main", layout.AcceptedRefs("origin") + "heads/tape/main", layout.FetchedRefs("origin") + "heads/tape/main", "ORIG_HEAD"} {
		storetest.Git(t, s.Dir(), "update-ref", ref, "tape/main")
	}
	storetest.WriteFile(t, filepath.Join(s.Dir(), ".git", "FETCH_HEAD"), []byte(storetest.Git(t, s.Dir(), "rev-parse", "tape/main")+"\t\tbranch 'tape/main'\n"))
	storetest.Must(t, os.MkdirAll(storetest.Inner(s).PrivatePath(layout.TornDirName), 0o700))
	storetest.WriteFile(t, storetest.Inner(s).PrivatePath(layout.TornDirName, "main~001~messages.jsonl~x"), []byte(`{"id":9,"kind":"message","payload":{"content":"`+storetest.Leak(1)))
	old := storetest.Git(t, s.Dir(), "rev-parse", "tape/main")
	oldBlob := storetest.Git(t, s.Dir(), "rev-parse", "tape/main:anchors/002_second/messages.jsonl")

	dry := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{4}, DryRun: true})
	if len(dry.Tapes) != 1 || !slices.Equal(dry.Tapes[0].Entries, []int64{4, 7}) || dry.Commits != 1 || len(dry.Remotes) != 1 {
		t.Errorf("a dry run says %+v", dry)
	}
	if storetest.Git(t, s.Dir(), "rev-parse", "tape/main") != old {
		t.Error("a dry run moved the branch")
	}
	done := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{4}})
	if len(done.Tapes) != 1 || !slices.Equal(done.Tapes[0].Entries, []int64{4, 7}) || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	if want := (purge.PurgedRemote{Remote: "origin", Ref: "tape/main", Commit: old}); len(done.Remotes) != 1 || done.Remotes[0] != want {
		t.Errorf("the remotes are %+v, want %+v", done.Remotes, want)
	}
	after := storetest.Entries(t, m, repo.Query{})
	if len(after) != len(before)+1 {
		t.Fatalf("%d entries, had %d", len(after), len(before))
	}
	mark := "[redacted:leak:" + storetest.LeakPrint(storetest.Leak(1)) + "]"
	for i, e := range before {
		if want := strings.ReplaceAll(string(e.Raw), storetest.Leak(1), mark); string(after[i].Raw) != want {
			t.Errorf("entry %d is %s, want %s", e.ID, after[i].Raw, want)
		}
	}
	if last := after[len(after)-1]; !strings.Contains(string(last.Payload), `"entries":[4,7]`) || last.Kind != repo.KindEvent {
		t.Errorf("the record is %s", last.Raw)
	}
	if got := storetest.Git(t, s.Dir(), "rev-parse", first.Tag+"^{commit}"); got != first.Commit {
		t.Error("a commit before the secret was rewritten")
	}
	for _, gone := range []string{old, oldBlob} {
		if objectExists(t, s.Dir(), gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	storetest.WantClean(t, s.Dir())
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
	if got := storetest.Git(t, s.Dir(), "log", "-1", "--format=%s|%(trailers:key=Tape-Purged,valueonly,separator=)"); got != "purge: 2 entries|4,7" {
		t.Errorf("the record's commit says %q", got)
	}
	_, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{4}, Find: storetest.LeakFinder{}})
	storetest.WantIs(t, err, repo.ErrNotFound)
	storetest.Append(t, m, repo.Message("user", "it goes on"))
}

// The secret is purged from forks that are open, merged, merged as a summary, kept and discarded.
func TestPurgeForks(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "base"))
	for _, name := range []string{"merged", "kept", "summed", "dropped", "open"} {
		f := storetest.Fork(t, m, name, "")
		storetest.Append(t, f, repo.Message("user", name+" "+storetest.Leak(1)))
		storetest.Handoff(t, f, "phase of "+name)
		storetest.Append(t, f, repo.Message("user", name+" again"))
	}
	storetest.Merge(t, storetest.Tape(t, s, "main/merged"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/kept"), join.Options{Keep: true})
	storetest.Merge(t, storetest.Tape(t, s, "main/summed"), join.Options{Summary: "it did not work"})
	storetest.Must(t, storetest.Tape(t, s, "main/dropped").Discard(t.Context()))
	nested := storetest.Fork(t, storetest.Tape(t, s, "main/open"), "deeper", "")
	storetest.Append(t, nested, repo.Message("user", "deeper"))
	storetest.Handoff(t, m, "then")
	storetest.Append(t, storetest.Tape(t, s, "main/kept"), repo.Message("user", "more"))
	storetest.Healthy(t, s.Dir())

	done := storetest.Purge(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	if len(done.Tapes) != 4 || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
	storetest.Healthy(t, s.Dir())
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 3 {
		t.Errorf("there are the closed forks %+v, want 3; %v", closed, err)
	}
	storetest.Merge(t, storetest.Tape(t, s, "main/kept"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/open/deeper"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/open"), join.Options{})
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
}

// Two people who purge the same get the same commits, except for the record.
func TestPurgeTwice(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.TwoSides(t, s)
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Merge(t, storetest.Tape(t, s, "main/x"), join.Options{})
	storetest.Append(t, m, repo.Message("user", storetest.Leak(2)))
	storetest.Checkpoint(t, m)
	other := filepath.Join(t.TempDir(), "other")
	storetest.CopyTree(t, s.Dir(), other)
	storetest.HealthyAtEnd(t, other)
	one := storetest.Purge(t, m, repo.PurgeOptions{Rules: []string{"leak"}})
	two := storetest.Purge(t, storetest.Tape(t, storetest.Reopen(t, other), "main"), repo.PurgeOptions{Rules: []string{"leak"}})
	if a, b := storetest.Git(t, s.Dir(), "rev-parse", one.Tapes[0].New+"^"), storetest.Git(t, other, "rev-parse", two.Tapes[0].New+"^"); a != b {
		t.Errorf("the histories are %s and %s", a, b)
	}
}

// Archives, and histories that only the reflog keeps after a reset, are masked as well.
func TestPurgeArchives(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	for i := range 3 {
		storetest.Append(t, m, repo.Message("user", storetest.Leak(i)))
		storetest.Handoff(t, m, "x")
		if i < 2 {
			if _, err := m.Reset(t.Context(), i == 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := storetest.Purge(t, m, repo.PurgeOptions{Rules: []string{"leak"}})
	if done.Archives != 1 {
		t.Errorf("purge says %+v, want one archive", done)
	}
	for i := range 3 {
		storetest.WantNowhere(t, s.Dir(), storetest.Leak(i))
	}
	if _, _, err := m.Restore(t.Context(), repo.Latest); err != nil {
		t.Fatal(err)
	}
	if got := storetest.TextOf(storetest.Entries(t, m, repo.Query{})[1]); !strings.Contains(got, "redacted") {
		t.Errorf("the restored entry is not masked: %s", got)
	}
}
