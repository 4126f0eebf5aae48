package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/outgoing"
	"tape/internal/store/workspace"
	"testing"
)

func mustHead(t testing.TB, tp *Tape) gitstore.Hash {
	t.Helper()
	h, err := tp.in().Head()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustScan(t testing.TB, s *Store, tips, known []gitstore.Hash) []outgoing.SecretFinding {
	t.Helper()
	c := outgoing.NewSecretScan(s.in())
	c.Know(known...)
	found, err := c.Look(t.Context(), "main", tips)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFound compares findings by where they are.
func wantFound(t testing.TB, found []outgoing.SecretFinding, want ...string) {
	t.Helper()
	var got []string
	for _, f := range found {
		if f.Commit == "" || f.Fingerprint == "" || f.Tape != "main" {
			t.Errorf("incomplete: %+v", f)
		}
		got = append(got, fmt.Sprintf("%d %s %s", f.Entry, f.Rule, f.Path))
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestScanFindsWhatIsNew(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "fine"), Message("user", testSecret("1")))
	mustCheckpoint(t, tp)
	first := mustHead(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{first}, nil), "3 github-token payload.content")
	wantFound(t, mustScan(t, s, []gitstore.Hash{first}, []gitstore.Hash{first}))

	mustAppend(t, tp, Message("user", "more"))
	mustCheckpoint(t, tp)
	second := mustHead(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{second}, []gitstore.Hash{first}))
	mustAppend(t, tp, Event("x", []byte(`{"env":{"DB_PASSWORD":"Tr0ub4dor&`+`3x"},"again":["`+testSecret("1")+`","`+testSecret("1")+`"]}`)))
	mustHandoff(t, tp, "next")
	third := mustHead(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{third}, []gitstore.Hash{second}), "5 password-assignment payload.data.env.DB_PASSWORD", "5 github-token payload.data.again[0]")
	wantFound(t, mustScan(t, s, []gitstore.Hash{second, third, third}, nil), "3 github-token payload.content",
		"5 password-assignment payload.data.env.DB_PASSWORD", "5 github-token payload.data.again[0]")

	err := error(&SecretsError{Findings: mustScan(t, s, []gitstore.Hash{third}, nil)})
	wantIs(t, err, ErrConflict)
	for _, part := range []string{"@3", `"main"`, "github-token", "and 2 more", "ghp_a7…"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in %v", part, err)
		}
	}
	if strings.Contains(err.Error(), testSecret("1")) || !strings.Contains(fmt.Sprint(Hints(err)), "purge-or-allow") {
		t.Errorf("%v (%s)", err, Hints(err))
	}

	for _, f := range mustScan(t, s, []gitstore.Hash{third}, nil) {
		if err := s.in().AllowSecret(f.Fingerprint); err != nil {
			t.Fatal(err)
		}
	}
	wantFound(t, mustScan(t, s, []gitstore.Hash{third}, nil))
}

// Forks, merges and tags are looked through, and what a fork shares with what is known is
// not.
func TestScanForksAndTags(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", testSecret("1")))
	mustCheckpoint(t, tp)
	f, err := tp.Fork(t.Context(), "try")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, f, Message("user", "in the fork "+testSecret("2")))
	mustAppend(t, tp, Message("user", "meanwhile"))
	mustCheckpoint(t, tp)
	known := mustHead(t, tp)
	if _, err := join.Merge(t.Context(), f.in(), join.Options{}); err != nil {
		t.Fatal(err)
	}
	merged := mustHead(t, tp)
	// The fork's own line, and that under its new number.
	wantFound(t, mustScan(t, s, []gitstore.Hash{merged}, []gitstore.Hash{known}), "3 github-token payload.content", "4 github-token payload.content")

	h, err := tp.Handoff(t.Context(), Anchor{Name: "next", Summary: "use " + testSecret("3")})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := s.in().Git().Ref("refs/tags/" + h.Tag)
	if err != nil {
		t.Fatal(err)
	}
	wantFound(t, mustScan(t, s, []gitstore.Hash{tag, mustHead(t, tp)}, []gitstore.Hash{merged}), "5 github-token payload.state.summary")
	wantFound(t, mustScan(t, s, []gitstore.Hash{tag}, []gitstore.Hash{mustHead(t, tp)}), "0 github-token message")
	runGit(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org", "tag", "-a", "-m", "tagged "+testSecret("4"), "own-tag", tag.String())
	own, err := s.in().Git().Ref("refs/tags/own-tag")
	if err != nil {
		t.Fatal(err)
	}
	wantFound(t, mustScan(t, s, []gitstore.Hash{own}, []gitstore.Hash{tag, mustHead(t, tp)}), "0 github-token message")
}

// What somebody commits with git alone leaves the machine, too: other files, lines that are
// no entries, messages, and what a later commit has taken away again.
func TestScanWhatIsNoTape(t *testing.T) {
	dir := t.TempDir()
	runGit(t, dir, "init", "-q", "-b", "main")
	commit := func(message string, files map[string]string) gitstore.Hash {
		t.Helper()
		for name, content := range files {
			if err := (&Store{}).in().FS().MkdirAll(filepath.Dir(filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, name), []byte(content))
		}
		runGit(t, dir, "add", "-A")
		runGit(t, dir, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", message)
		h, err := gitstore.ParseHash(runGit(t, dir, "rev-parse", "HEAD"))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	messages := "anchors/001_x/messages.jsonl"
	one := commit("first", map[string]string{"notes.txt": "see " + testSecret("1"), "message": testSecret("9"), messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{}}\n"})
	two := commit("second "+testSecret("2"), map[string]string{"notes.txt": "nothing", messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{}}\n{\"id\":2,\"broken \\u0067hp_" + testSecret("3")[4:] + "\n"})
	three := commit("third", map[string]string{"notes.txt": "see " + testSecret("1") + " and " + testSecret("4"),
		messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{\"a\":\"" + testSecret("5") + "\"}}\n", "anchors/001_x/other.jsonl": "x " + testSecret("6")})

	opened, err := workspace.OpenBare(filepath.Join(dir, ".git"))
	mustDo(t, err)
	s := (*Store)(opened)
	wantFound(t, mustScan(t, s, []gitstore.Hash{one}, nil), "0 github-token message", "0 github-token notes.txt")
	wantFound(t, mustScan(t, s, []gitstore.Hash{two}, []gitstore.Hash{one}), "0 github-token "+messages, "0 github-token message")
	wantFound(t, mustScan(t, s, []gitstore.Hash{three}, []gitstore.Hash{two}), "1 github-token payload.a", "0 github-token anchors/001_x/other.jsonl",
		"0 github-token notes.txt", "0 github-token notes.txt")
	four := commit("fourth", map[string]string{"notes.txt": "see " + testSecret("1") + " and " + testSecret("4") + " still"})
	wantFound(t, mustScan(t, s, []gitstore.Hash{four}, []gitstore.Hash{three}))

	// Fails closed.
	blob := runGit(t, dir, "rev-parse", "HEAD:notes.txt")
	if err := s.in().FS().Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	c := outgoing.NewSecretScan(s.in())
	c.Know(three)
	_, err = c.Look(t.Context(), "main", []gitstore.Hash{four})
	wantIs(t, err, ErrCorrupt)
	_, err = outgoing.NewSecretScan(s.in()).Look(t.Context(), "main", []gitstore.Hash{{1}})
	wantIs(t, err, ErrCorrupt)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = outgoing.NewSecretScan(s.in()).Look(ctx, "main", []gitstore.Hash{three}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestScanIsComplete: whatever was committed in whatever steps, a secret in an entry is
// found exactly once for it.
func TestScanIsComplete(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	var heads []gitstore.Hash
	want := map[int64]bool{}
	for i := range 120 {
		text := strings.Repeat("plain text ", 300)
		if i%17 == 0 {
			text += testSecret(fmt.Sprint(i % 10))
		}
		e := mustAppend(t, tp, Message("user", text), Event("e", nil))[0]
		if i%17 == 0 {
			want[e.ID] = true
		}
		switch {
		case i%29 == 0:
			mustHandoff(t, tp, fmt.Sprintf("p%d", i))
		case i%7 == 0:
			mustCheckpoint(t, tp)
		}
		heads = append(heads, mustHead(t, tp))
	}
	mustCheckpoint(t, tp)
	last := mustHead(t, tp)
	found, err := outgoing.NewSecretScan(s.in()).Look(t.Context(), "main", []gitstore.Hash{last})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]bool{}
	for _, f := range found {
		if got[f.Entry] {
			t.Errorf("@%d comes twice", f.Entry)
		}
		got[f.Entry] = true
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found in %v, want %v", got, want)
	}
	// The parts between two commits are together the whole.
	n := 0
	known := []gitstore.Hash{}
	for _, h := range append(heads, last) {
		n += len(mustScan(t, s, []gitstore.Hash{h}, known))
		known = []gitstore.Hash{h}
	}
	if n != len(found) {
		t.Errorf("%d findings in parts, %d in all", n, len(found))
	}
}

func BenchmarkScanSecrets(b *testing.B) {
	s := testStore(b, nil)
	tp := openTape(b, s, "main")
	total := int64(0)
	for i := range 20 {
		var drafts []Draft
		for range 50 {
			text := strings.Repeat("\tif err := s.step(ctx, \"token\"); err != nil {\n\t\treturn err\n\t}\n", 60)
			total += int64(len(text))
			drafts = append(drafts, Message("user", text))
		}
		mustAppend(b, tp, drafts...)
		mustHandoff(b, tp, fmt.Sprintf("p%d", i))
	}
	tips := []gitstore.Hash{mustHead(b, tp)}
	b.SetBytes(total)
	for b.Loop() {
		mustScan(b, s, tips, nil)
	}
}

// Names in commits and tags are looked through, too; and a remote that is pushed to at
// another address than it is fetched from is asked there.
func TestScanNamesAndAddresses(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "fine"))
	mustCheckpoint(t, tp)
	head := mustHead(t, tp)
	raw := runGit(t, s.Dir(), "cat-file", "commit", head.String())
	file := filepath.Join(t.TempDir(), "commit")
	mustDo(t, os.WriteFile(file, []byte(strings.Replace(raw, "\nauthor ", "\nauthor "+testSecret("1")+" ", 1)), 0o600))
	named, err := gitstore.ParseHash(runGit(t, s.Dir(), "hash-object", "-t", "commit", "-w", file))
	mustDo(t, err)
	if found := mustScan(t, s, []gitstore.Hash{named}, nil); len(found) != 1 {
		t.Errorf("found %+v", found)
	}

	dir := t.TempDir()
	for _, name := range []string{"old.git", "new.git"} {
		runGit(t, dir, "init", "-q", "--bare", name)
	}
	mustDo(t, s.AddRemote(t.Context(), "origin", filepath.Join(dir, "old.git")))
	mustAppend(t, tp, Message("user", testSecret("2")))
	mustCheckpoint(t, tp)
	runGit(t, s.Dir(), "push", "-q", "--no-verify", "origin", "tape/main")
	runGit(t, s.Dir(), "config", "remote.origin.pushurl", filepath.Join(dir, "new.git"))
	if _, err := s.Push(t.Context(), "origin", nil); !errors.As(err, new(*SecretsError)) {
		t.Errorf("the push to another address says %v", err)
	}
}
