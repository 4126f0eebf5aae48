package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	"tape/internal/text/secrets"
	"testing"

	"golang.org/x/sync/errgroup"
)

// What is packed goes, too.
func TestPurgePacked(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", leak(1)))
	mustHandoff(t, m, "x")
	mustAppend(t, m, Message("user", "more"))
	mustCheckpoint(t, m)
	runGit(t, s.Dir(), "gc", "-q")
	old := runGit(t, s.Dir(), "rev-parse", "tape/main:anchors/001_session-start/messages.jsonl")
	done := mustPurge(t, m, PurgeOptions{IDs: []int64{2}})
	if len(done.Left) > 0 || objectExists(t, s.Dir(), old) {
		t.Errorf("%+v", done)
	}
	wantNowhere(t, s.Dir(), leak(1))
}

// Without git nothing is begun, and it says what to install; what would be done can be told.
func TestPurgeWithoutGit(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", leak(1)))
	mustCheckpoint(t, m)
	before := history(t, s.Dir())
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	mustPurge(t, m, PurgeOptions{IDs: []int64{2}, DryRun: true})
	_, err := m.Purge(t.Context(), PurgeOptions{IDs: []int64{2}, Find: leakFinder{}})
	if err == nil || !strings.Contains(err.Error(), "needs the git program") || !strings.Contains(fmt.Sprint(Hints(err)), "install-git") {
		t.Errorf("it says %v, and as a hint %q", err, Hints(err))
	}
	t.Setenv("PATH", path)
	if history(t, s.Dir()) != before {
		t.Error("something was changed")
	}
}

// Other refs that go on from the history follow it, a stash goes.
func TestPurgeOtherRefs(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", leak(1)))
	mustCheckpoint(t, m)
	runGit(t, s.Dir(), "branch", "mine", "tape/main")
	runGit(t, s.Dir(), "tag", "light", "tape/main")
	runGit(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "tag", "-a", "-m", "look: "+leak(1), "heavy", "tape/main")
	mustAppend(t, m, Message("user", "changed"))
	runGit(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "stash", "-q")
	runGit(t, s.Dir(), "stash", "apply", "-q")
	done := mustPurge(t, m, PurgeOptions{IDs: []int64{2}})
	wantNowhere(t, s.Dir(), leak(1))
	if !slices.Contains(done.Removed, layout.StashRef) {
		t.Errorf("%+v", done)
	}
	want := runGit(t, s.Dir(), "rev-parse", done.Tapes[0].New+"~2")
	for _, ref := range []string{"mine", "light", "heavy^{commit}"} {
		if got := runGit(t, s.Dir(), "rev-parse", ref); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
}

// What is asked for has to be there.
func TestPurgeNothing(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	before := history(t, s.Dir())
	for _, c := range []struct {
		o    PurgeOptions
		want error
	}{{PurgeOptions{}, ErrInvalid}, {PurgeOptions{IDs: []int64{99}}, ErrNotFound}, {PurgeOptions{Rules: []string{purge.AllRules}}, ErrNotFound}} {
		for _, dry := range []bool{true, false} {
			c.o.DryRun, c.o.Find = dry, leakFinder{}
			_, err := m.Purge(t.Context(), c.o)
			wantIs(t, err, c.want)
		}
	}
	if history(t, s.Dir()) != before {
		t.Error("something was changed")
	}
}

// What somebody else has checked out is told of, and dropped once it is not used any more.
func TestPurgeStillUsed(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", leak(1)))
	mustCheckpoint(t, m)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	runGit(t, s.Dir(), "worktree", "add", "-q", "--detach", dir, "tape/main")
	old := runGit(t, s.Dir(), "rev-parse", "tape/main")
	done := mustPurge(t, m, PurgeOptions{IDs: []int64{2}})
	if len(done.Left) == 0 || !objectExists(t, s.Dir(), old) {
		t.Errorf("purge says %+v", done)
	}
	runGit(t, s.Dir(), "worktree", "remove", "--force", dir)
	if done = mustPurge(t, m, PurgeOptions{IDs: []int64{2}}); len(done.Left) > 0 || !done.Finished {
		t.Errorf("purge says %+v", done)
	}
	wantNowhere(t, s.Dir(), leak(1))
}

// With the scanner that is really used: nothing that it knows is left, and the new history
// passes for the old one without that.
func TestPurgeScanner(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	password, token, key := "c0rrect"+"-h0rse-"+"B4ttery", "AK"+"IAQ7Z2M5T4W3X6V2YP", strings.Repeat("Ab3dEf9hIjKlMn0p", 20)
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + key + "\n-----END RSA " + "PRIVATE KEY-----\n"
	mustAppend(t, m, Message("user", "postgres://admin:"+password+"@db.internal/x and \u00e9 "+token),
		Message("user", "<&> \"quoted\"\n"+pem+"behind"),
		Draft{Kind: KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"env\":{\"AWS\": \"` + token + `\"}}"}}]}`)},
		Draft{Kind: KindToolResult, Payload: []byte(`{"results":["ok: ` + token + `\u0021"]}`)})
	if _, err := m.Handoff(t.Context(), Anchor{Name: "next", Summary: "the key is " + token}); err != nil {
		t.Fatal(err)
	}
	runGit(t, s.Dir(), "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "by hand, with "+token)
	mustAppend(t, m, Message("user", "end"))
	done, err := m.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}})
	if err != nil || len(done.Left) > 0 || len(done.Rules) < 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, secret := range []string{password, token, key[:40]} {
		wantNowhere(t, s.Dir(), secret)
	}
	scanner := secrets.New()
	for _, e := range entriesOf(t, m, Query{}) {
		if found, err := scanner.Line(e.Raw); err != nil || len(found) > 0 {
			t.Errorf("entry %d: %v, %v", e.ID, found, err)
		}
	}
	_, err = m.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}, DryRun: true})
	wantIs(t, err, ErrNotFound)
}

// A signature that would be wrong is dropped, and that is said; one of a commit that stays
// the same is kept.
func TestPurgeSignatures(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	sign := func() {
		t.Helper()
		raw := runGit(t, s.Dir(), "cat-file", "commit", "tape/main")
		signed := strings.Replace(raw, "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n none\n -----END PGP SIGNATURE-----\n\n", 1) + "\n"
		h := gitstore.HashObject(gitstore.KindCommit, []byte(signed))
		batch := s.in().Git().NewBatch()
		batch.Put(gitstore.KindCommit, []byte(signed))
		if err := batch.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		runGit(t, s.Dir(), "update-ref", m.in().Ref(), h.String())
	}
	mustAppend(t, m, Message("user", "one"))
	mustCheckpoint(t, m)
	sign()
	kept := runGit(t, s.Dir(), "rev-parse", "tape/main")
	mustAppend(t, m, Message("user", leak(1)))
	mustCheckpoint(t, m)
	sign()
	if done := mustPurge(t, m, PurgeOptions{IDs: []int64{3}}); done.Signatures != 1 || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	if raw := runGit(t, s.Dir(), "cat-file", "commit", "tape/main^"); strings.Contains(raw, "SIGNATURE") {
		t.Errorf("the signature is still there:\n%s", raw)
	}
	if got := runGit(t, s.Dir(), "rev-parse", "tape/main^^"); got != kept {
		t.Errorf("the first commit is %s, was %s", got, kept)
	}
}

// Others write to the tape, its fork and another tape, and make tapes and forks, while it is
// purged: nothing that they were told is safe is lost.
func TestPurgeBesideWriters(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", leak(0)))
	mustFork(t, m, "x", "")
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
				own, err := Open(t.Context(), s.Dir(), nil)
				if err != nil {
					return err
				}
				tp, err := own.Tape(t.Context(), name)
				if err != nil {
					return err
				}
				text := fmt.Sprint(name, " ", n)
				if _, err := tp.Append(t.Context(), nil, Message("user", text)); err != nil {
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
		mustAppend(t, m, Message("user", leak(i+1)))
		done := mustPurge(t, m, PurgeOptions{Rules: []string{"leak"}})
		if len(done.Left) > 0 {
			t.Errorf("left: %v", done.Left)
		}
	}
	close(stop)
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		var got []string
		for _, e := range entriesOf(t, openTape(t, s, name), Query{}) {
			if text := strings.TrimPrefix(textOf(e), "entry "); strings.HasPrefix(text, name+" ") {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, acked[i]) {
			t.Errorf("%s has %d entries, %d were acknowledged", name, len(got), len(acked[i]))
		}
	}
	for n := range made {
		for _, name := range []string{fmt.Sprint("made ", n), fmt.Sprint("made ", n, "/f")} {
			if got := entriesOf(t, openTape(t, s, name), Query{}); len(got) == 0 {
				t.Errorf("%s is empty", name)
			}
		}
	}
	wantNowhere(t, s.Dir(), "LEAK-")
}
