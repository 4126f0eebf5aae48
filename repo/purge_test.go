package repo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"tape/internal/text/secrets"
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

func mustPurge(t testing.TB, tp *Tape, o PurgeOptions) Purged {
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

// wantNowhere looks for a text in all files of a workspace and in all objects of its
// repository, whether something names them or not.
func wantNowhere(t testing.TB, dir, secret string) {
	t.Helper()
	check := func(where string, data []byte) {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s still has the secret", where)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		check("the name "+path, []byte(path))
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		check(path, raw)
		if z, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			inflated, _ := io.ReadAll(z)
			check("the inflated "+path, inflated)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	out, err := exec.Command("git", "-C", dir, "cat-file", "--batch-all-objects", "--batch", "--unordered").Output()
	if err != nil {
		t.Error(err)
	}
	check("an object", out)
}

func objectExists(t testing.TB, dir, hash string) bool {
	t.Helper()
	return exec.Command("git", "-C", dir, "cat-file", "-e", hash).Run() == nil
}

// One secret in the middle of a tape with phases, uncommitted entries and everything that
// may remember it.
func TestPurgeEntry(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	first := mustHandoff(t, m, "second")
	mustAppend(t, m, Message("user", "the key is "+leak(1)+", keep it"), Event("x", nil))
	mustHandoff(t, m, "third")
	mustAppend(t, m, Message("user", "not committed: "+leak(1)))
	before := entriesOf(t, m, Query{})
	for _, ref := range []string{"refs/remotes/origin/tape/main", layout.AcceptedRefs("origin") + "heads/tape/main", layout.FetchedRefs("origin") + "heads/tape/main", "ORIG_HEAD"} {
		runGit(t, s.Dir(), "update-ref", ref, "tape/main")
	}
	writeFile(t, filepath.Join(s.Dir(), ".git", "FETCH_HEAD"), []byte(runGit(t, s.Dir(), "rev-parse", "tape/main")+"\t\tbranch 'tape/main'\n"))
	if err := os.MkdirAll(s.in().PrivatePath(layout.TornDirName), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.in().PrivatePath(layout.TornDirName, "main~001~messages.jsonl~x"), []byte(`{"id":9,"kind":"message","payload":{"content":"`+leak(1)))
	old := runGit(t, s.Dir(), "rev-parse", "tape/main")
	oldBlob := runGit(t, s.Dir(), "rev-parse", "tape/main:anchors/002_second/messages.jsonl")

	dry := mustPurge(t, m, PurgeOptions{IDs: []int64{4}, DryRun: true})
	if len(dry.Tapes) != 1 || !slices.Equal(dry.Tapes[0].Entries, []int64{4, 7}) || dry.Commits != 1 || len(dry.Remotes) != 1 {
		t.Errorf("a dry run says %+v", dry)
	}
	if runGit(t, s.Dir(), "rev-parse", "tape/main") != old {
		t.Error("a dry run has changed something")
	}
	done := mustPurge(t, m, PurgeOptions{IDs: []int64{4}})
	if len(done.Tapes) != 1 || !slices.Equal(done.Tapes[0].Entries, []int64{4, 7}) || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	if want := (purge.PurgedRemote{Remote: "origin", Ref: "tape/main", Commit: old}); len(done.Remotes) != 1 || done.Remotes[0] != want {
		t.Errorf("remotes: %+v", done.Remotes)
	}
	after := entriesOf(t, m, Query{})
	if len(after) != len(before)+1 {
		t.Fatalf("%d entries, had %d", len(after), len(before))
	}
	mark := "[redacted:leak:" + leakPrint(leak(1)) + "]"
	for i, e := range before {
		if want := strings.ReplaceAll(string(e.Raw), leak(1), mark); string(after[i].Raw) != want {
			t.Errorf("entry %d is %s, want %s", e.ID, after[i].Raw, want)
		}
	}
	if last := after[len(after)-1]; !strings.Contains(string(last.Payload), `"entries":[4,7]`) || last.Kind != KindEvent {
		t.Errorf("the record is %s", last.Raw)
	}
	if got := runGit(t, s.Dir(), "rev-parse", first.Tag+"^{commit}"); got != first.Commit {
		t.Error("a commit before the first affected one has another id")
	}
	for _, gone := range []string{old, oldBlob} {
		if objectExists(t, s.Dir(), gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	wantClean(t, s.Dir())
	wantNowhere(t, s.Dir(), leak(1))
	if got := runGit(t, s.Dir(), "log", "-1", "--format=%s|%(trailers:key=Tape-Purged,valueonly,separator=)"); got != "purge: 2 entries|4,7" {
		t.Errorf("the record's commit says %q", got)
	}
	_, err := m.Purge(t.Context(), PurgeOptions{IDs: []int64{4}, Find: leakFinder{}})
	wantIs(t, err, ErrNotFound)
	mustAppend(t, m, Message("user", "it goes on"))
}

// Forks that are open, merged, merged as a summary, kept and discarded have the secret.
func TestPurgeForks(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "base"))
	for _, name := range []string{"merged", "kept", "summed", "dropped", "open"} {
		f := mustFork(t, m, name, "")
		mustAppend(t, f, Message("user", name+" "+leak(1)))
		mustHandoff(t, f, "phase of "+name)
		mustAppend(t, f, Message("user", name+" again"))
	}
	mustMerge(t, openTape(t, s, "main/merged"), join.Options{})
	mustMerge(t, openTape(t, s, "main/kept"), join.Options{Keep: true})
	mustMerge(t, openTape(t, s, "main/summed"), join.Options{Summary: "it did not work"})
	if err := openTape(t, s, "main/dropped").Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	nested := mustFork(t, openTape(t, s, "main/open"), "deeper", "")
	mustAppend(t, nested, Message("user", "deeper"))
	mustHandoff(t, m, "then")
	mustAppend(t, openTape(t, s, "main/kept"), Message("user", "more"))
	healthy(t, s.Dir())

	done := mustPurge(t, m, PurgeOptions{Rules: []string{purge.AllRules}})
	if len(done.Tapes) != 4 || len(done.Left) > 0 {
		t.Errorf("purge says %+v", done)
	}
	wantNowhere(t, s.Dir(), leak(1))
	healthy(t, s.Dir())
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 3 {
		t.Errorf("closed forks: %+v, %v", closed, err)
	}
	mustMerge(t, openTape(t, s, "main/kept"), join.Options{})
	mustMerge(t, openTape(t, s, "main/open/deeper"), join.Options{})
	mustMerge(t, openTape(t, s, "main/open"), join.Options{})
	wantNowhere(t, s.Dir(), leak(1))
}

// An entry whose secret no rule knows loses all its text if that is wanted, and stays what
// it was.
func TestPurgeWhole(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	secret := "only I know that this is a secret"
	mustAppend(t, m, Message("user", secret),
		Draft{Kind: KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"x\":\"` + secret + `\"}"}}],"n":1.0}`)})
	_, err := m.Handoff(t.Context(), Anchor{Name: "next", State: []byte(`{"todo":["` + secret + `",1]}`), Summary: secret})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Purge(t.Context(), PurgeOptions{IDs: []int64{2}}); !errors.Is(err, ErrNotFound) || !strings.Contains(fmt.Sprint(Hints(err)), "purge-whole") {
		t.Fatalf("without Whole: %v", err)
	}
	mustPurge(t, m, PurgeOptions{IDs: []int64{2, 3, 4}, Whole: true})
	got := entriesOf(t, m, Query{})
	for i, want := range []string{`{"role":"user","content":"[redacted]"}`,
		`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"[redacted]"}}],"n":1.0}`,
		`{"name":"next","state":{"todo":["[redacted]",1],"summary":"[redacted]"}}`} {
		if string(got[i+1].Payload) != want {
			t.Errorf("entry %d is %s", i+2, got[i+1].Payload)
		}
	}
	wantNowhere(t, s.Dir(), secret)
	if tag := runGit(t, s.Dir(), "cat-file", "tag", "anchor/main/002_next"); !strings.HasSuffix(tag, "State: {\"todo\":[\"[redacted]\",1],\"summary\":\"[redacted]\"}") {
		t.Errorf("the tag says %s", tag)
	}
}

// The name of an anchor is in folders, tags, subjects and trailers.
func TestPurgeAnchorName(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustHandoff(t, m, "with "+leak(7))
	mustAppend(t, m, Message("user", "one"))
	mustCheckpoint(t, m)
	mustHandoff(t, m, "after")
	mustPurge(t, m, PurgeOptions{Fingerprints: []string{leakPrint(leak(7))}})
	wantNowhere(t, s.Dir(), leak(7))
	wantClean(t, s.Dir())
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
			s := testStore(t, nil)
			m := openTape(t, s, "main")
			const n, every, first = 24, 7, 3 // about 700 KiB, which is three files
			for i := range n {
				text := fmt.Sprint("entry ", i, " ")
				if i%every == first {
					text += c.text(i)
				}
				mustAppend(t, m, big(30_000, text))
				if i%5 == 0 {
					mustCheckpoint(t, m)
				}
			}
			done, err := m.Purge(t.Context(), PurgeOptions{Rules: []string{"leak"}, Find: c.find})
			if err != nil || len(done.Tapes[0].Entries) != (n-first+every-1)/every || len(done.Left) > 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			wantClean(t, s.Dir())
			for i, e := range entriesOf(t, m, Query{})[1 : n+1] {
				if want := fmt.Sprint("entry ", i, " "); !strings.Contains(textOf(e)[:20], want) {
					t.Errorf("entry %d is %.60s", e.ID, textOf(e))
				}
			}
		})
	}
}

// Two who purge the same get the same commits, up to the record.
func TestPurgeTwice(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	twoSides(t, s)
	mustAppend(t, m, Message("user", leak(1)))
	mustMerge(t, openTape(t, s, "main/x"), join.Options{})
	mustAppend(t, m, Message("user", leak(2)))
	mustCheckpoint(t, m)
	other := filepath.Join(t.TempDir(), "other")
	copyTree(t, s.Dir(), other)
	healthyAtEnd(t, other)
	one := mustPurge(t, m, PurgeOptions{Rules: []string{"leak"}})
	two := mustPurge(t, openTape(t, reopen(t, other), "main"), PurgeOptions{Rules: []string{"leak"}})
	if a, b := runGit(t, s.Dir(), "rev-parse", one.Tapes[0].New+"^"), runGit(t, other, "rev-parse", two.Tapes[0].New+"^"); a != b {
		t.Errorf("the histories are %s and %s", a, b)
	}
}

// What an archive and a reset history in the reflog have is masked as well.
func TestPurgeArchives(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	for i := range 3 {
		mustAppend(t, m, Message("user", leak(i)))
		mustHandoff(t, m, "x")
		if i < 2 {
			if _, err := m.Reset(t.Context(), i == 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := mustPurge(t, m, PurgeOptions{Rules: []string{"leak"}})
	if done.Archives != 1 {
		t.Errorf("%+v", done)
	}
	for i := range 3 {
		wantNowhere(t, s.Dir(), leak(i))
	}
	if _, _, err := m.Restore(t.Context(), Latest); err != nil {
		t.Fatal(err)
	}
	if got := textOf(entriesOf(t, m, Query{})[1]); !strings.Contains(got, "redacted") {
		t.Errorf("restored: %s", got)
	}
}
