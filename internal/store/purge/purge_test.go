package purge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

// leakFinder finds what leak makes, or another pattern.
type leakFinder struct{ pattern *regexp.Regexp }

func leak(n int) string { return fmt.Sprintf("LEAK-%016d", n) }

func leakPrint(secret string) string {
	return printOf("leak", secret)
}

// printOf is the fingerprint of a secret, by its definition.
func printOf(rule, secret string) string {
	sum := sha256.Sum256([]byte(rule + "\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

var leakPattern = regexp.MustCompile(`LEAK-[0-9]{16}`)

func (l leakFinder) Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding) {
	pattern := leakPattern
	if l.pattern != nil {
		pattern = l.pattern
	}
	var found []secrets.Finding
	out := pattern.ReplaceAllFunc(value, func(secret []byte) []byte {
		f := secrets.Finding{Rule: "leak", Fingerprint: leakPrint(string(secret))}
		if skip != nil && skip(f) {
			return secret
		}
		found = append(found, f)
		return []byte("[redacted:leak:" + f.Fingerprint + "]")
	})
	return out, found
}

func (l leakFinder) Secrets(value []byte, skip func(secrets.Finding) bool) []secrets.Secret {
	return textsOf(l, value, skip)
}

// textsOf are the texts of what a finder masks that leaves what is around them alone.
func textsOf(f rewrite.Finder, value []byte, skip func(secrets.Finding) bool) []secrets.Secret {
	out, found := f.Mask(value, skip)
	gone, marks, _ := rewrite.TakenOut(string(value), string(out))
	var list []secrets.Secret
	for _, f := range found {
		at := slices.Index(marks, secrets.Finding.Mark(f))
		list = append(list, secrets.Secret{Rule: f.Rule, Fingerprint: f.Fingerprint, Text: gone[at]})
	}
	return list
}

func mustPurge(t testing.TB, tp *repo.Tape, o repo.PurgeOptions) repo.Purged {
	t.Helper()
	if o.Find == nil {
		o.Find = leakFinder{}
	}
	done, err := tp.Purge(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func objectExists(t testing.TB, dir, hash string) bool {
	t.Helper()
	return exec.Command("git", "-C", dir, "cat-file", "-e", hash).Run() == nil
}

// One secret in the middle of a tape with phases, uncommitted entries and everything that
// may remember it.
func TestPurgeEntry(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	first := storetest.Handoff(t, m, "second")
	storetest.Append(t, m, repo.Message("user", "the key is "+leak(1)+", keep it"), repo.Event("x", nil))
	storetest.Handoff(t, m, "third")
	storetest.Append(t, m, repo.Message("user", "not committed: "+leak(1)))
	before := storetest.Entries(t, m, repo.Query{})
	for _, ref := range []string{"refs/remotes/origin/tape/main", layout.AcceptedRefs("origin") + "heads/tape/main", layout.FetchedRefs("origin") + "heads/tape/main", "ORIG_HEAD"} {
		storetest.Git(t, s.Dir(), "update-ref", ref, "tape/main")
	}
	storetest.WriteFile(t, filepath.Join(s.Dir(), ".git", "FETCH_HEAD"), []byte(storetest.Git(t, s.Dir(), "rev-parse", "tape/main")+"\t\tbranch 'tape/main'\n"))
	if err := os.MkdirAll(storetest.Inner(s).PrivatePath(layout.TornDirName), 0o700); err != nil {
		t.Fatal(err)
	}
	storetest.WriteFile(t, storetest.Inner(s).PrivatePath(layout.TornDirName, "main~001~messages.jsonl~x"), []byte(`{"id":9,"kind":"message","payload":{"content":"`+leak(1)))
	old := storetest.Git(t, s.Dir(), "rev-parse", "tape/main")
	oldBlob := storetest.Git(t, s.Dir(), "rev-parse", "tape/main:anchors/002_second/messages.jsonl")

	dry := mustPurge(t, m, repo.PurgeOptions{IDs: []int64{4}, DryRun: true})
	if len(dry.Tapes) != 1 || !slices.Equal(dry.Tapes[0].Entries, []int64{4, 7}) || dry.Commits != 1 || len(dry.Remotes) != 1 {
		t.Errorf("a dry run says %+v", dry)
	}
	if storetest.Git(t, s.Dir(), "rev-parse", "tape/main") != old {
		t.Error("a dry run has changed something")
	}
	done := mustPurge(t, m, repo.PurgeOptions{IDs: []int64{4}})
	if len(done.Tapes) != 1 || !slices.Equal(done.Tapes[0].Entries, []int64{4, 7}) || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	if want := (purge.PurgedRemote{Remote: "origin", Ref: "tape/main", Commit: old}); len(done.Remotes) != 1 || done.Remotes[0] != want {
		t.Errorf("remotes: %+v", done.Remotes)
	}
	after := storetest.Entries(t, m, repo.Query{})
	if len(after) != len(before)+1 {
		t.Fatalf("%d entries, had %d", len(after), len(before))
	}
	mark := "[redacted:leak:" + leakPrint(leak(1)) + "]"
	for i, e := range before {
		if want := strings.ReplaceAll(string(e.Raw), leak(1), mark); string(after[i].Raw) != want {
			t.Errorf("entry %d is %s, want %s", e.ID, after[i].Raw, want)
		}
	}
	if last := after[len(after)-1]; !strings.Contains(string(last.Payload), `"entries":[4,7]`) || last.Kind != repo.KindEvent {
		t.Errorf("the record is %s", last.Raw)
	}
	if got := storetest.Git(t, s.Dir(), "rev-parse", first.Tag+"^{commit}"); got != first.Commit {
		t.Error("a commit before the first affected one has another id")
	}
	for _, gone := range []string{old, oldBlob} {
		if objectExists(t, s.Dir(), gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	storetest.WantClean(t, s.Dir())
	storetest.WantNowhere(t, s.Dir(), leak(1))
	if got := storetest.Git(t, s.Dir(), "log", "-1", "--format=%s|%(trailers:key=Tape-Purged,valueonly,separator=)"); got != "purge: 2 entries|4,7" {
		t.Errorf("the record's commit says %q", got)
	}
	_, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{4}, Find: leakFinder{}})
	storetest.WantIs(t, err, repo.ErrNotFound)
	storetest.Append(t, m, repo.Message("user", "it goes on"))
}

// Forks that are open, merged, merged as a summary, kept and discarded have the secret.
func TestPurgeForks(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "base"))
	for _, name := range []string{"merged", "kept", "summed", "dropped", "open"} {
		f := storetest.Fork(t, m, name, "")
		storetest.Append(t, f, repo.Message("user", name+" "+leak(1)))
		storetest.Handoff(t, f, "phase of "+name)
		storetest.Append(t, f, repo.Message("user", name+" again"))
	}
	storetest.Merge(t, storetest.Tape(t, s, "main/merged"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/kept"), join.Options{Keep: true})
	storetest.Merge(t, storetest.Tape(t, s, "main/summed"), join.Options{Summary: "it did not work"})
	if err := storetest.Tape(t, s, "main/dropped").Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	nested := storetest.Fork(t, storetest.Tape(t, s, "main/open"), "deeper", "")
	storetest.Append(t, nested, repo.Message("user", "deeper"))
	storetest.Handoff(t, m, "then")
	storetest.Append(t, storetest.Tape(t, s, "main/kept"), repo.Message("user", "more"))
	storetest.Healthy(t, s.Dir())

	done := mustPurge(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	if len(done.Tapes) != 4 || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	storetest.WantNowhere(t, s.Dir(), leak(1))
	storetest.Healthy(t, s.Dir())
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 3 {
		t.Errorf("closed forks: %+v, %v", closed, err)
	}
	storetest.Merge(t, storetest.Tape(t, s, "main/kept"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/open/deeper"), join.Options{})
	storetest.Merge(t, storetest.Tape(t, s, "main/open"), join.Options{})
	storetest.WantNowhere(t, s.Dir(), leak(1))
}

// An entry whose secret no rule knows loses all its text if that is wanted, and stays what
// it was.
func TestPurgeWhole(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	secret := "only I know that this is a secret"
	storetest.Append(t, m, repo.Message("user", secret),
		repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"x\":\"` + secret + `\"}"}}],"n":1.0}`)})
	_, err := m.Handoff(t.Context(), repo.Anchor{Name: "next", State: []byte(`{"todo":["` + secret + `",1]}`), Summary: secret})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}}); !errors.Is(err, repo.ErrNotFound) || !strings.Contains(fmt.Sprint(repo.Hints(err)), "purge-whole") {
		t.Fatalf("without Whole: %v", err)
	}
	mustPurge(t, m, repo.PurgeOptions{IDs: []int64{2, 3, 4}, Whole: true})
	got := storetest.Entries(t, m, repo.Query{})
	for i, want := range []string{`{"role":"user","content":"[redacted]"}`,
		`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"[redacted]"}}],"n":1.0}`,
		`{"name":"next","state":{"todo":["[redacted]",1],"summary":"[redacted]"}}`} {
		if string(got[i+1].Payload) != want {
			t.Errorf("entry %d is %s", i+2, got[i+1].Payload)
		}
	}
	storetest.WantNowhere(t, s.Dir(), secret)
	if tag := storetest.Git(t, s.Dir(), "cat-file", "tag", "anchor/main/002_next"); !strings.HasSuffix(tag, "State: {\"todo\":[\"[redacted]\",1],\"summary\":\"[redacted]\"}") {
		t.Errorf("the tag says %s", tag)
	}
}

// The name of an anchor is in folders, tags, subjects and trailers.
func TestPurgeAnchorName(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Handoff(t, m, "with "+leak(7))
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Checkpoint(t, m)
	storetest.Handoff(t, m, "after")
	mustPurge(t, m, repo.PurgeOptions{Fingerprints: []string{leakPrint(leak(7))}})
	storetest.WantNowhere(t, s.Dir(), leak(7))
	storetest.WantClean(t, s.Dir())
	phases, err := m.Phases(t.Context())
	if err != nil || len(phases) != 3 || phases[1].Name != "with [redacted:leak:"+leakPrint(leak(7))+"]" || phases[1].Tag == "" {
		t.Errorf("phases: %+v, %v", phases, err)
	}
}

// Files are divided as if the lines had been written so, whether they got shorter or longer.
func TestPurgeSealedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		find rewrite.Finder
		text func(i int) string
	}{
		"shorter": {leakFinder{regexp.MustCompile(`LEAK-[0-9]{16}z*`)}, func(i int) string { return leak(i) + strings.Repeat("z", 2000) }},
		"longer":  {leakFinder{}, func(i int) string { return strings.Repeat(leak(i)+" ", 200) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t, nil)
			m := storetest.Tape(t, s, "main")
			const n, every, first = 24, 7, 3 // about 700 KiB, which is three files
			for i := range n {
				text := fmt.Sprint("entry ", i, " ")
				if i%every == first {
					text += c.text(i)
				}
				storetest.Append(t, m, storetest.Big(30_000, text))
				if i%5 == 0 {
					storetest.Checkpoint(t, m)
				}
			}
			done, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{"leak"}, Find: c.find})
			if err != nil || len(done.Tapes[0].Entries) != (n-first+every-1)/every || len(done.Left) > 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			storetest.WantClean(t, s.Dir())
			for i, e := range storetest.Entries(t, m, repo.Query{})[1 : n+1] {
				if want := fmt.Sprint("entry ", i, " "); !strings.Contains(storetest.TextOf(e)[:20], want) {
					t.Errorf("entry %d is %.60s", e.ID, storetest.TextOf(e))
				}
			}
		})
	}
}

// Two who purge the same get the same commits, up to the record.
func TestPurgeTwice(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.TwoSides(t, s)
	storetest.Append(t, m, repo.Message("user", leak(1)))
	storetest.Merge(t, storetest.Tape(t, s, "main/x"), join.Options{})
	storetest.Append(t, m, repo.Message("user", leak(2)))
	storetest.Checkpoint(t, m)
	other := filepath.Join(t.TempDir(), "other")
	storetest.CopyTree(t, s.Dir(), other)
	storetest.HealthyAtEnd(t, other)
	one := mustPurge(t, m, repo.PurgeOptions{Rules: []string{"leak"}})
	two := mustPurge(t, storetest.Tape(t, storetest.Reopen(t, other), "main"), repo.PurgeOptions{Rules: []string{"leak"}})
	if a, b := storetest.Git(t, s.Dir(), "rev-parse", one.Tapes[0].New+"^"), storetest.Git(t, other, "rev-parse", two.Tapes[0].New+"^"); a != b {
		t.Errorf("the histories are %s and %s", a, b)
	}
}

// What an archive and a reset history in the reflog have is masked as well.
func TestPurgeArchives(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	for i := range 3 {
		storetest.Append(t, m, repo.Message("user", leak(i)))
		storetest.Handoff(t, m, "x")
		if i < 2 {
			if _, err := m.Reset(t.Context(), i == 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := mustPurge(t, m, repo.PurgeOptions{Rules: []string{"leak"}})
	if done.Archives != 1 {
		t.Errorf("%+v", done)
	}
	for i := range 3 {
		storetest.WantNowhere(t, s.Dir(), leak(i))
	}
	if _, _, err := m.Restore(t.Context(), repo.Latest); err != nil {
		t.Fatal(err)
	}
	if got := storetest.TextOf(storetest.Entries(t, m, repo.Query{})[1]); !strings.Contains(got, "redacted") {
		t.Errorf("restored: %s", got)
	}
}
