package purge_test

//tape:race: tapes are written while one is purged

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Packed objects are removed, too.
func TestPurgePacked(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Handoff(t, m, "x")
	storetest.Append(t, m, repo.Message("user", "more"))
	storetest.Checkpoint(t, m)
	storetest.Git(t, s.Dir(), "gc", "-q")
	old := storetest.Git(t, s.Dir(), "rev-parse", "tape/main:anchors/001_session-start/messages.jsonl")
	done := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2}})
	if len(done.Left) > 0 || objectExists(t, s.Dir(), old) {
		t.Errorf("the old file is still there, or is reported: %+v", done)
	}
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
}

// Without git nothing is begun, and the error says what to install. A dry run works.
func TestPurgeWithoutGit(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Checkpoint(t, m)
	before := storetest.History(t, s.Dir())
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2}, DryRun: true})
	_, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Find: storetest.LeakFinder{}})
	if err == nil || !strings.Contains(err.Error(), "needs the git program") || !strings.Contains(fmt.Sprint(repo.Hints(err)), "install-git") {
		t.Errorf("the error does not say what to install: %v, with the hints %q", err, repo.Hints(err))
	}
	t.Setenv("PATH", path)
	if storetest.History(t, s.Dir()) != before {
		t.Error("something was changed")
	}
}

// Other refs that continue the history are rewritten with it; a stash is dropped.
func TestPurgeOtherRefs(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Checkpoint(t, m)
	storetest.Git(t, s.Dir(), "branch", "mine", "tape/main")
	storetest.Git(t, s.Dir(), "tag", "light", "tape/main")
	storetest.Git(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "tag", "-a", "-m", "look: "+storetest.Leak(1), "heavy", "tape/main")
	storetest.Append(t, m, repo.Message("user", "changed"))
	storetest.Git(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "stash", "-q")
	storetest.Git(t, s.Dir(), "stash", "apply", "-q")
	done := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2}})
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
	if !slices.Contains(done.Removed, layout.StashRef) {
		t.Errorf("the stash is not among what was removed: %+v", done)
	}
	want := storetest.Git(t, s.Dir(), "rev-parse", done.Tapes[0].New+"~2")
	for _, ref := range []string{"mine", "light", "heavy^{commit}"} {
		if got := storetest.Git(t, s.Dir(), "rev-parse", ref); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
}

// Purge options must name something, and it must exist.
func TestPurgeNothing(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	before := storetest.History(t, s.Dir())
	for _, c := range []struct {
		o    repo.PurgeOptions
		want error
	}{{repo.PurgeOptions{}, repo.ErrInvalid}, {repo.PurgeOptions{IDs: []int64{99}}, repo.ErrNotFound}, {repo.PurgeOptions{Rules: []string{purge.AllRules}}, repo.ErrNotFound}} {
		for _, dry := range []bool{true, false} {
			c.o.DryRun, c.o.Find = dry, storetest.LeakFinder{}
			_, err := m.Purge(t.Context(), c.o)
			storetest.WantIs(t, err, c.want)
		}
	}
	if storetest.History(t, s.Dir()) != before {
		t.Error("something was changed")
	}
}

// Old objects that another working tree uses are reported, and removed once they are no longer used.
func TestPurgeStillUsed(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Checkpoint(t, m)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	storetest.Git(t, s.Dir(), "worktree", "add", "-q", "--detach", dir, "tape/main")
	old := storetest.Git(t, s.Dir(), "rev-parse", "tape/main")
	done := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2}})
	if len(done.Left) == 0 || !objectExists(t, s.Dir(), old) {
		t.Errorf("purge says %+v", done)
	}
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", dir)
	if done = storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2}}); len(done.Left) > 0 || !done.Finished {
		t.Errorf("purge says %+v", done)
	}
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
}

// With the real scanner, nothing that it finds is left, and a second purge has nothing to do.
func TestPurgeScanner(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	password, token, key := "c0rrect"+"-h0rse-"+"B4ttery", "AK"+"IAQ7Z2M5T4W3X6V2YP", strings.Repeat("Ab3dEf9hIjKlMn0p", 20)
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + key + "\n-----END RSA " + "PRIVATE KEY-----\n"
	storetest.Append(t, m, repo.Message("user", "postgres://admin:"+password+"@db.internal/x and \u00e9 "+token),
		repo.Message("user", "<&> \"quoted\"\n"+pem+"behind"),
		repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"env\":{\"AWS\": \"` + token + `\"}}"}}]}`)},
		repo.Draft{Kind: repo.KindToolResult, Payload: []byte(`{"results":["ok: ` + token + `\u0021"]}`)})
	if _, err := m.Handoff(t.Context(), repo.Anchor{Name: "next", Summary: "the key is " + token}); err != nil {
		t.Fatal(err)
	}
	storetest.Git(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "by hand, with "+token)
	storetest.Append(t, m, repo.Message("user", "end"))
	done, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}})
	if err != nil || len(done.Left) > 0 || len(done.Rules) < 3 {
		t.Fatalf("purge says %+v, %v", done, err)
	}
	for _, secret := range []string{password, token, key[:40]} {
		storetest.WantNowhere(t, s.Dir(), secret)
	}
	scanner := secrets.New()
	for _, e := range storetest.Entries(t, m, repo.Query{}) {
		if found, err := scanner.Line(e.Raw); err != nil || len(found) > 0 {
			t.Errorf("entry %d still has secrets: %v, %v", e.ID, found, err)
		}
	}
	_, err = m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}, DryRun: true})
	storetest.WantIs(t, err, repo.ErrNotFound)
}

// Others write to the tape, its fork and another tape, and make tapes and forks, during a purge: nothing that was
// acknowledged is lost.
func TestPurgeBesideWriters(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(0)))
	storetest.Fork(t, m, "x", "")
	if _, err := s.CreateTape(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	names := []string{"main", "main/x", "other"}
	acked := make([][]string, len(names))
	stop := make(chan struct{})
	var group errgroup.Group
	for i, name := range names {
		group.Go(func() error {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return nil
				default:
				}
				own, err := repo.Open(t.Context(), s.Dir(), nil)
				if err != nil {
					return err
				}
				tp, err := own.Tape(t.Context(), name)
				if err != nil {
					return err
				}
				text := fmt.Sprint(name, " ", n)
				if _, err := tp.Append(t.Context(), nil, repo.Message("user", text)); err != nil {
					return err
				}
				acked[i] = append(acked[i], text)
				if n%3 == 2 {
					if _, _, err := tp.Checkpoint(t.Context()); err != nil {
						return err
					}
				}
			}
		})
	}
	made := 0
	group.Go(func() error {
		for ; made < 30; made++ {
			select {
			case <-stop:
				return nil
			default:
			}
			tp, err := s.CreateTape(t.Context(), fmt.Sprint("made ", made))
			if err == nil {
				_, err = tp.Fork(t.Context(), "f")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for i := range testkit.Size(1, 6) {
		storetest.Append(t, m, repo.Message("user", storetest.Leak(i+1)))
		done := storetest.Purge(t, m, repo.PurgeOptions{Rules: []string{"leak"}})
		if len(done.Left) > 0 {
			t.Errorf("left: %v", done.Left)
		}
	}
	close(stop)
	storetest.Must(t, group.Wait())
	for i, name := range names {
		var got []string
		for _, e := range storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{}) {
			if text := strings.TrimPrefix(storetest.TextOf(e), "entry "); strings.HasPrefix(text, name+" ") {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, acked[i]) {
			t.Errorf("%s has %d entries, %d were acknowledged", name, len(got), len(acked[i]))
		}
	}
	for n := range made {
		for _, name := range []string{fmt.Sprint("made ", n), fmt.Sprint("made ", n, "/f")} {
			if got := storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{}); len(got) == 0 {
				t.Errorf("%s is empty", name)
			}
		}
	}
	storetest.WantNowhere(t, s.Dir(), "LEAK-")
}
