package purge_test

import (
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
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

// keyFinder finds the texts that storetest.Leak makes, but only after "key=".
type keyFinder struct{}

var keyPattern = regexp.MustCompile(`key=(LEAK-[0-9]{16})`)

func (keyFinder) Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding) {
	var found []secrets.Finding
	out := keyPattern.ReplaceAllFunc(value, func(match []byte) []byte {
		f := secrets.Finding{Rule: "key", Fingerprint: storetest.Print("key", string(match[len("key="):]))}
		if skip != nil && skip(f) {
			return match
		}
		found = append(found, f)
		return []byte("key=" + f.Mark())
	})
	return out, found
}

func (keyFinder) Secrets(value []byte, skip func(secrets.Finding) bool) (list []secrets.Secret) {
	for _, match := range keyPattern.FindAllStringSubmatch(string(value), -1) {
		f := secrets.Finding{Rule: "key", Fingerprint: storetest.Print("key", match[1])}
		if skip == nil || !skip(f) {
			list = append(list, secrets.Secret{Rule: f.Rule, Fingerprint: f.Fingerprint, Text: match[1]})
		}
	}
	return list
}

func purgeKeys(t testing.TB, tp *repo.Tape, o repo.PurgeOptions) repo.Purged {
	t.Helper()
	o.Find = keyFinder{}
	return storetest.Purge(t, tp, o)
}

// manyCopies returns a tape in which one entry shows that a text is a secret. The text also stands in many other
// places.
func manyCopies(t *testing.T) (m *repo.Tape, secret string) {
	t.Helper()
	s := storetest.New(t, nil)
	m = storetest.Tape(t, s, "main")
	secret = storetest.Leak(5)
	git := func(args ...string) {
		t.Helper()
		storetest.Git(t, s.Dir(), append([]string{"-c", "user.name=x", "-c", "user.email=x@y"}, args...)...)
	}
	git("tag", "-a", "-m", "tell nobody "+secret, "early", "tape/main")
	storetest.Append(t, m, repo.Message("user", "in an archive: "+secret))
	if _, err := m.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	escaped := strings.ReplaceAll(secret, "L", `\u004c`)
	nested := string(jsonl.AppendString(nil, `{"inner":"`+escaped+`"}`))
	storetest.Append(t, m, repo.Message("user", "before it is known: "+secret+"!"),
		repo.Draft{Kind: "event", Payload: []byte(`{"name":"x","data":{"` + escaped + `":` + nested + `,"n":1.0,"list":["` + escaped + `"]}}`)})
	if _, err := m.Handoff(t.Context(), repo.Anchor{Name: "on " + secret, State: []byte(`{"` + secret + `":"` + secret + `"}`), Summary: "with " + secret}); err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, m, repo.Message("user", "the key="+secret))
	git("commit", "-q", "--allow-empty", "-m", "by hand, with "+secret)
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "in a fork: "+secret))
	storetest.Merge(t, f, join.Options{})
	open := storetest.Fork(t, m, "open", "")
	storetest.Append(t, open, repo.Message("user", "in an open one: "+secret))
	storetest.Append(t, m, repo.Message("user", "not committed: "+secret))
	git("update-ref", "--create-reflog", "-m", "about "+secret, "refs/heads/mine", "tape/main")
	storetest.Must(t, os.MkdirAll(storetest.Inner(s).PrivatePath(layout.TornDirName), 0o700))
	storetest.WriteFile(t, storetest.Inner(s).PrivatePath(layout.TornDirName, "main~001~messages.jsonl~x"), []byte(`{"id":9,"payload":{"content":"`+secret))
	cmd := exec.Command("git", "-C", s.Dir(), "hash-object", "-w", "--stdin")
	cmd.Stdin = strings.NewReader("nobody names this: " + secret)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return m, secret
}

// If one entry shows that a text is a secret, it is removed wherever it stands, even before that entry.
func TestPurgeTexts(t *testing.T) {
	print := func(secret string) string { return storetest.Print("key", secret) }
	for name, o := range map[string]func(m *repo.Tape, secret string) repo.PurgeOptions{
		"rule": func(*repo.Tape, string) repo.PurgeOptions { return repo.PurgeOptions{Rules: []string{purge.AllRules}} },
		"fingerprint": func(_ *repo.Tape, secret string) repo.PurgeOptions {
			return repo.PurgeOptions{Fingerprints: []string{print(secret)}}
		},
		"entry": func(m *repo.Tape, _ string) repo.PurgeOptions {
			i := slices.IndexFunc(storetest.Entries(t, m, repo.Query{}), func(e repo.Entry) bool { return strings.Contains(storetest.TextOf(e), "the key=") })
			return repo.PurgeOptions{IDs: []int64{int64(i) + 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, secret := manyCopies(t)
			options := o(m, secret)
			before := storetest.Entries(t, m, repo.Query{})
			dry := options
			dry.DryRun = true
			plan := purgeKeys(t, m, dry)
			done := purgeKeys(t, m, options)
			if len(done.Left) > 0 || done.Tags != 1 || done.Archives != 1 || len(done.Others) > 0 {
				t.Errorf("purge says %+v", done)
			}
			if len(plan.Tapes) != len(done.Tapes) || !slices.Equal(plan.Tapes[0].Entries, done.Tapes[0].Entries) || plan.Tags != done.Tags {
				t.Errorf("the dry run says\n%+v, the purge\n%+v", plan, done)
			}
			storetest.WantNowhere(t, m.Store().Dir(), secret)
			storetest.WantNowhere(t, m.Store().Dir(), strings.ReplaceAll(secret, "L", `\u004c`))
			storetest.WantClean(t, m.Store().Dir())
			mark := secrets.Finding{Rule: "key", Fingerprint: print(secret)}.Mark()
			var differ []int64
			for i, e := range storetest.Entries(t, m, repo.Query{})[:len(before)] {
				was := strings.NewReplacer(secret, mark, strings.ReplaceAll(secret, "L", `\u004c`), mark, strings.ReplaceAll(secret, "L", `\\u004c`), mark).Replace(string(before[i].Raw))
				if string(e.Raw) != was {
					t.Errorf("entry %d is %s, want %s", e.ID, e.Raw, was)
				}
				if string(e.Raw) != string(before[i].Raw) {
					differ = append(differ, e.ID)
				}
			}
			if !slices.Equal(done.Tapes[0].Entries, differ) {
				t.Errorf("purge says that the entries %v changed, but %v did", done.Tapes[0].Entries, differ)
			}
			storetest.Merge(t, storetest.Tape(t, m.Store(), "main/open"), join.Options{})
		})
	}
}

// Files that do not belong to a tape are masked in history, with their names. Those in the working tree stay, and
// are reported.
func TestPurgeForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, nil)
	storetest.Must(t, err)
	m, secret := storetest.Tape(t, s, "main"), storetest.Leak(6)
	folder := "notes-" + secret
	storetest.Must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	for _, name := range []string{"a-" + secret, secret + ".txt", "zz"} {
		storetest.WriteFile(t, filepath.Join(dir, folder, name), []byte("it says "+secret+"\n"))
	}
	storetest.Append(t, m, repo.Message("user", "the key="+secret))
	storetest.Git(t, dir, "add", "-A")
	storetest.Git(t, dir, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "by hand")
	done := purgeKeys(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	if left := strings.Join(done.Left, "\n"); strings.Count(left, "does not belong to a tape: remove it") != 3 || strings.Contains(left, "clone again") {
		t.Errorf("left:\n%s", left)
	}
	storetest.Must(t, os.RemoveAll(filepath.Join(dir, folder)))
	storetest.WantNowhere(t, dir, secret)
	name := "redacted-key-" + storetest.Print("key", secret)
	want := fmt.Sprintf("notes-%s/a-%s\nnotes-%s/%s.txt\nnotes-%s/zz", name, name, name, name, name)
	if got := storetest.Git(t, dir, "ls-tree", "-r", "--name-only", "tape/main", "--", "notes-"+name); got != want {
		t.Errorf("the commit has the files\n%s\nwant\n%s", got, want)
	}
}

// What cannot be read is reported, because it may have the secret, and does not stop a purge.
func TestPurgeUnreadableFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, nil)
	storetest.Must(t, err)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "the key="+storetest.Leak(1)))
	folder := filepath.Join(dir, "a folder")
	storetest.Must(t, os.Mkdir(folder, 0o700))
	unreadable := []string{folder, filepath.Join(dir, "notes-"+storetest.Leak(1)), filepath.Join(dir, ".git", "COMMIT_EDITMSG")}
	for _, path := range unreadable[1:] {
		storetest.WriteFile(t, path, []byte("it says "+storetest.Leak(1)))
	}
	for _, path := range unreadable {
		storetest.Must(t, os.Chmod(path, 0))
		t.Cleanup(func() { storetest.Must(t, os.Chmod(path, 0o700)) })
	}
	if _, err := os.ReadFile(unreadable[1]); err == nil {
		t.Skip("this user may read everything")
	}
	left := strings.Join(purgeKeys(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}}).Left, "\n")
	for _, want := range []string{"a folder", "notes-[redacted:", "COMMIT_EDITMSG"} {
		if !strings.Contains(left, want) || strings.Contains(left, storetest.Leak(1)) {
			t.Errorf("left:\n%s\nwant %s in it, and no secret", left, want)
		}
	}
}

// Short secrets, which may stand elsewhere by chance, are masked only where they are detected; the result says so.
func TestPurgeShort(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	word := "tool" + "_calls"
	storetest.Append(t, m, repo.Message("user", "PASSWORD="+word+"\n"),
		repo.Draft{Kind: repo.KindMessage, Payload: []byte(`{"role":"assistant","` + word + `":[]}`)})
	done, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}})
	if err != nil || len(done.Left) != 1 || !strings.Contains(done.Left[0], done.Fingerprints[0]+" is short, or a word") {
		t.Errorf("purge does not say that the secret is short: %+v, %v", done, err)
	}
	if got := storetest.Entries(t, m, repo.Query{}); strings.Contains(string(got[1].Raw), word) || !strings.Contains(string(got[2].Raw), word) {
		t.Errorf("only the first of these should be masked:\n%s\n%s", got[1].Raw, got[2].Raw)
	}
}

// A short secret in an entry of another tape does not hide a long one beside it.
func TestPurgeOthersShortBesideLong(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	short, long := "tool"+"_calls", "Gx7-mkq2-Vtz9-pw4R"
	storetest.Append(t, m, repo.Message("user", "PASSWORD="+short+"\n"), repo.Message("user", "PASSWORD="+long+"\n"))
	o, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, o, repo.Message("user", "only "+short), repo.Message("user", "both "+short+" and "+long))
	done, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2, 3}})
	storetest.Must(t, err)
	if got := fmt.Sprint(done.Others); got != "[{other [3] 0 []}]" {
		t.Errorf("the other tapes are %s, want the entry with both", got)
	}
	for line, want := range map[string]bool{"only " + short: false, "both " + short + " and " + long: true} {
		if got := done.Has(jsonl.AppendString(nil, line)); got != want {
			t.Errorf("%q has what was purged: %v, want %v", line, got, want)
		}
	}
}

// Names of tapes and forks stay, also in entries that merges have written.
func TestPurgeNames(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "try "+storetest.Leak(3), "")
	storetest.Append(t, f, repo.Message("user", "the key="+storetest.Leak(3)))
	storetest.Merge(t, f, join.Options{Keep: true})
	storetest.Git(t, s.Dir(), "branch", "about-"+storetest.Leak(3), "tape/main")
	if _, err := s.CreateTape(t.Context(), "tape of "+storetest.Leak(3)); err != nil {
		t.Fatal(err)
	}
	done := purgeKeys(t, m, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	left := strings.Join(done.Left, "\n")
	mark := secrets.Finding{Rule: "key", Fingerprint: storetest.Print("key", storetest.Leak(3))}.Mark()
	for _, want := range []string{`the fork "main/try ` + mark + `"`, `the tape "tape of ` + mark + `"`, "the name refs/heads/about-" + mark, "it stays in"} {
		if !strings.Contains(left, want) {
			t.Errorf("the report lacks %q:\n%s", want, left)
		}
	}
	if strings.Contains(left, storetest.Leak(3)) {
		t.Errorf("the report shows the secret:\n%s", left)
	}
	for _, e := range storetest.Entries(t, m, repo.Query{}) {
		if strings.Contains(string(e.Payload), storetest.Leak(3)) {
			t.Errorf("an entry still has the secret: %s", e.Raw)
		}
	}
	storetest.Append(t, storetest.Tape(t, s, "main/try "+storetest.Leak(3)), repo.Message("user", "more"))
	storetest.Merge(t, storetest.Tape(t, s, "main/try "+storetest.Leak(3)), join.Options{})
}

// Other tapes with the same secret are reported, with what to purge there.
func TestPurgeOthers(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "the key="+storetest.Leak(1)))
	for _, name := range []string{"told", "not told", "clean", "forked"} {
		o, err := s.CreateTape(t.Context(), name)
		storetest.Must(t, err)
		storetest.Append(t, o, repo.Message("user", "the key="+storetest.Leak(2)))
		storetest.Checkpoint(t, o)
	}
	storetest.Append(t, storetest.Tape(t, s, "told"), repo.Message("user", "the key="+storetest.Leak(1)))
	storetest.Append(t, storetest.Tape(t, s, "told"), repo.Message("user", "not committed "+storetest.Leak(1)))
	storetest.Append(t, storetest.Tape(t, s, "not told"), repo.Message("user", "by the way, "+storetest.Leak(1)))
	storetest.Checkpoint(t, storetest.Tape(t, s, "not told"))
	storetest.Fork(t, storetest.Tape(t, s, "not told"), "with it", "")
	storetest.Append(t, storetest.Fork(t, storetest.Tape(t, s, "forked"), "x", ""), repo.Message("user", storetest.Leak(1)))
	want := fmt.Sprintf("[{forked/x [3] 0 []} {not told [3] 0 []} {told [3 4] 0 [%s]}]", storetest.Print("key", storetest.Leak(1)))
	for _, dry := range []bool{true, false} {
		done := purgeKeys(t, m, repo.PurgeOptions{IDs: []int64{2}, DryRun: dry})
		slices.SortFunc(done.Others, func(a, b purge.PurgedOther) int { return strings.Compare(a.Tape, b.Tape) })
		if got := fmt.Sprint(done.Others); got != want {
			t.Errorf("dry run %v: the other tapes are %s, want %s", dry, got, want)
		}
	}
	// Purges of what the report names work.
	purgeKeys(t, storetest.Tape(t, s, "told"), repo.PurgeOptions{Fingerprints: []string{storetest.Print("key", storetest.Leak(1))}})
	purgeKeys(t, storetest.Tape(t, s, "not told"), repo.PurgeOptions{IDs: []int64{3}, Whole: true})
	purgeKeys(t, storetest.Tape(t, s, "forked/x"), repo.PurgeOptions{IDs: []int64{3}, Whole: true})
	_, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}, Find: keyFinder{}})
	if !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("a second purge says %v, want ErrNotFound", err)
	}
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(1))
}
