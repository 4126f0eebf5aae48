package rewrite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// An entry with a secret that no rule finds loses all its text on request, and keeps its kind.
func TestPurgeWhole(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	secret := "only I know that this is a secret"
	storetest.Append(t, m, repo.Message("user", secret),
		repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"x\":\"` + secret + `\"}"}}],"n":1.0}`)})
	_, err := m.Handoff(t.Context(), repo.Anchor{Name: "next", State: []byte(`{"todo":["` + secret + `",1]}`), Summary: secret})
	storetest.Must(t, err)
	if _, err := m.Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}}); !errors.Is(err, repo.ErrNotFound) || !strings.Contains(fmt.Sprint(repo.Hints(err)), "purge-whole") {
		t.Fatalf("without Whole: %v, want ErrNotFound with the hint purge-whole", err)
	}
	storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{2, 3, 4}, Whole: true})
	got := storetest.Entries(t, m, repo.Query{})
	for i, want := range []string{`{"role":"user","content":"[redacted]"}`,
		`{"calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"[redacted]"}}],"n":1.0}`,
		`{"name":"next","state":{"todo":["[redacted]",1],"summary":"[redacted]"}}`} {
		if string(got[i+1].Payload) != want {
			t.Errorf("entry %d is %s, want %s", i+2, got[i+1].Payload, want)
		}
	}
	storetest.WantNowhere(t, s.Dir(), secret)
	if tag := storetest.Git(t, s.Dir(), "cat-file", "tag", "anchor/main/002_next"); !strings.HasSuffix(tag, "State: {\"todo\":[\"[redacted]\",1],\"summary\":\"[redacted]\"}") {
		t.Errorf("the tag's text was not taken out: %s", tag)
	}
}

// Text that is not valid UTF-8 is masked, too: artifacts, other files, and messages of commits and tags.
func TestPurgeNotUTF8(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, nil)
	storetest.Must(t, err)
	m := storetest.Tape(t, s, "main")
	text := func(secret string) string {
		return "\xff\xfe\ufffd\x00\xe9" + secret + "\xfc, " + secret + " caf\xe9 \"\n\U0010ffe9\xc3"
	}
	was := text(storetest.Leak(1))
	git := func(args ...string) {
		t.Helper()
		storetest.Git(t, dir, append([]string{"-c", "user.name=x", "-c", "user.email=x@y", "-c", "i18n.commitEncoding=ISO-8859-1"}, args...)...)
	}
	message := filepath.Join(t.TempDir(), "message")
	storetest.WriteFile(t, message, []byte("caf\xe9 "+storetest.Leak(1)+"\n"))
	git("tag", "-a", "-F", message, "mine")
	a := storetest.AddArtifact(t, m, "image", was)
	clean := storetest.AddArtifact(t, m, "clean", text("no secret"))
	storetest.Append(t, m, storetest.ReferTo("look", a, clean))
	storetest.Checkpoint(t, m)
	storetest.WriteFile(t, filepath.Join(dir, "notes"), []byte(was))
	git("add", "notes")
	git("commit", "-q", "-F", message)
	git("rm", "-q", "notes")
	git("commit", "-q", "-m", "without it")

	done := storetest.Purge(t, m, repo.PurgeOptions{Fingerprints: []string{storetest.LeakPrint(storetest.Leak(1))}})
	if len(done.Left) > 0 || done.Tags != 1 {
		t.Errorf("purge: %+v, want one tag changed and nothing left", done)
	}
	storetest.WantNowhere(t, dir, storetest.Leak(1))
	want := text("[redacted:leak:" + storetest.LeakPrint(storetest.Leak(1)) + "]")
	if got := storetest.Git(t, dir, "show", "tape/main~2:notes"); got != strings.TrimSpace(want) {
		t.Errorf("the file is %q, want %q", got, want)
	}
	storetest.WantArtifact(t, m, clean, text("no secret"))
	list, err := m.Artifacts(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("artifacts: %+v, %v; want 2", list, err)
	}
	for _, x := range list {
		if x.Name == "image" {
			storetest.WantArtifact(t, m, x.Artifact, want)
		}
	}
}

// The name of an anchor is masked in folders, tags, subjects and trailers, too.
func TestPurgeAnchorName(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Handoff(t, m, "with "+storetest.Leak(7))
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Checkpoint(t, m)
	storetest.Handoff(t, m, "after")
	storetest.Purge(t, m, repo.PurgeOptions{Fingerprints: []string{storetest.LeakPrint(storetest.Leak(7))}})
	storetest.WantNowhere(t, s.Dir(), storetest.Leak(7))
	storetest.WantClean(t, s.Dir())
	phases, err := m.Phases(t.Context())
	if err != nil || len(phases) != 3 || phases[1].Name != "with [redacted:leak:"+storetest.LeakPrint(storetest.Leak(7))+"]" || phases[1].Tag == "" {
		t.Errorf("phases: %+v, %v; want three, the second with a masked name and a tag", phases, err)
	}
}

// Files are divided as if the lines had been written masked, whether they got shorter or longer.
func TestPurgeSealedFiles(t *testing.T) {
	for name, leaky := range map[string]func(i int) string{
		"shorter": func(i int) string { return storetest.Leak(i) + strings.Repeat("z", 2000) },
		"longer":  func(i int) string { return strings.Repeat(storetest.Leak(i)+" ", 200) },
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t, nil)
			m := storetest.Tape(t, s, "main")
			const n, every, first = 24, 7, 3 // about 700 KiB, which is three files
			for i := range n {
				text := fmt.Sprint("entry ", i, " ")
				if i%every == first {
					text += leaky(i)
				}
				storetest.Append(t, m, storetest.Big(30_000, text))
				if i%5 == 0 {
					storetest.Checkpoint(t, m)
				}
			}
			done, err := m.Purge(t.Context(), repo.PurgeOptions{Rules: []string{"leak"}, Find: storetest.LeakFinder{}})
			if err != nil || len(done.Tapes[0].Entries) != (n-first+every-1)/every || len(done.Left) > 0 {
				t.Fatalf("purge: %+v, %v; want each entry with a leak changed, and none left", done, err)
			}
			storetest.WantClean(t, s.Dir())
			for i, e := range storetest.Entries(t, m, repo.Query{})[1 : n+1] {
				if want := fmt.Sprint("entry ", i, " "); !strings.Contains(storetest.TextOf(e)[:20], want) {
					t.Errorf("entry %d is %.60s, want it to begin with %q", e.ID, storetest.TextOf(e), want)
				}
			}
		})
	}
}

// Signatures that would be wrong are dropped and counted; those of unchanged commits are kept.
func TestPurgeSignatures(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	sign := func() {
		t.Helper()
		raw := storetest.Git(t, s.Dir(), "cat-file", "commit", "tape/main")
		signed := strings.Replace(raw, "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n none\n -----END PGP SIGNATURE-----\n\n", 1) + "\n"
		h := gitstore.HashObject(gitstore.KindCommit, []byte(signed))
		batch := storetest.Inner(s).Git().NewBatch()
		batch.Put(gitstore.KindCommit, []byte(signed))
		storetest.Must(t, batch.Flush(t.Context()))
		storetest.Git(t, s.Dir(), "update-ref", storetest.InnerTape(m).Ref(), h.String())
	}
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Checkpoint(t, m)
	sign()
	kept := storetest.Git(t, s.Dir(), "rev-parse", "tape/main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Checkpoint(t, m)
	sign()
	if done := storetest.Purge(t, m, repo.PurgeOptions{IDs: []int64{3}}); done.Signatures != 1 || len(done.Left) > 0 {
		t.Errorf("purge: %+v, want one signature dropped and nothing left", done)
	}
	if raw := storetest.Git(t, s.Dir(), "cat-file", "commit", "tape/main^"); strings.Contains(raw, "SIGNATURE") {
		t.Errorf("the signature is still there:\n%s", raw)
	}
	if got := storetest.Git(t, s.Dir(), "rev-parse", "tape/main^^"); got != kept {
		t.Errorf("the first commit is %s, was %s", got, kept)
	}
}
