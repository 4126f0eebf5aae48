package outgoing_test

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
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func mustScan(t testing.TB, s *repo.Store, tips, known []gitstore.Hash) []outgoing.SecretFinding {
	t.Helper()
	c := outgoing.NewSecretScan(storetest.Inner(s))
	c.AddKnown(known...)
	found, err := c.Search(t.Context(), "main", tips)
	storetest.Must(t, err)
	return found
}

// wantFound compares findings by place.
func wantFound(t testing.TB, found []outgoing.SecretFinding, want ...string) {
	t.Helper()
	var got []string
	for _, f := range found {
		if f.Commit == "" || f.Fingerprint == "" || f.Tape != "main" {
			t.Errorf("a finding lacks its commit or fingerprint, or is not of main: %+v", f)
		}
		got = append(got, fmt.Sprintf("%d %s %s", f.Entry, f.Rule, f.Path))
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestScanFindsWhatIsNew(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "fine"), repo.Message("user", storetest.Secret("1")))
	storetest.Checkpoint(t, tp)
	first := storetest.Head(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{first}, nil), "3 github-token payload.content")
	wantFound(t, mustScan(t, s, []gitstore.Hash{first}, []gitstore.Hash{first}))

	storetest.Append(t, tp, repo.Message("user", "more"))
	storetest.Checkpoint(t, tp)
	second := storetest.Head(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{second}, []gitstore.Hash{first}))
	storetest.Append(t, tp, repo.Event("x", []byte(`{"env":{"DB_PASSWORD":"Tr0ub4dor&`+`3x"},"again":["`+storetest.Secret("1")+`","`+storetest.Secret("1")+`"]}`)))
	storetest.Handoff(t, tp, "next")
	third := storetest.Head(t, tp)
	wantFound(t, mustScan(t, s, []gitstore.Hash{third}, []gitstore.Hash{second}), "5 password-assignment payload.data.env.DB_PASSWORD", "5 github-token payload.data.again[0]")
	wantFound(t, mustScan(t, s, []gitstore.Hash{second, third, third}, nil), "3 github-token payload.content",
		"5 password-assignment payload.data.env.DB_PASSWORD", "5 github-token payload.data.again[0]")

	err := error(&repo.SecretsError{Findings: mustScan(t, s, []gitstore.Hash{third}, nil)})
	storetest.WantIs(t, err, repo.ErrConflict)
	for _, part := range []string{"@3", `"main"`, "github-token", "and 2 more", "ghp_a7…"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not contain %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), storetest.Secret("1")) || !strings.Contains(fmt.Sprint(repo.Hints(err)), "purge-or-allow") {
		t.Errorf("the error shows the secret, or has no hint purge-or-allow: %v (%s)", err, repo.Hints(err))
	}

	for _, f := range mustScan(t, s, []gitstore.Hash{third}, nil) {
		storetest.Must(t, storetest.Inner(s).AllowSecret(f.Fingerprint))
	}
	wantFound(t, mustScan(t, s, []gitstore.Hash{third}, nil))
}

// Forks, merges and tags are searched, but not what a fork shares with known commits.
func TestScanForksAndTags(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", storetest.Secret("1")))
	storetest.Checkpoint(t, tp)
	f, err := tp.Fork(t.Context(), "try")
	storetest.Must(t, err)
	storetest.Append(t, f, repo.Message("user", "in the fork "+storetest.Secret("2")))
	storetest.Append(t, tp, repo.Message("user", "meanwhile"))
	storetest.Checkpoint(t, tp)
	known := storetest.Head(t, tp)
	if _, err := join.Merge(t.Context(), storetest.InnerTape(f), join.Options{}); err != nil {
		t.Fatal(err)
	}
	merged := storetest.Head(t, tp)
	// The fork's own line, and its renumbered copy.
	wantFound(t, mustScan(t, s, []gitstore.Hash{merged}, []gitstore.Hash{known}), "3 github-token payload.content", "4 github-token payload.content")

	h, err := tp.Handoff(t.Context(), repo.Anchor{Name: "next", Summary: "use " + storetest.Secret("3")})
	storetest.Must(t, err)
	tag, err := storetest.Inner(s).Git().Ref("refs/tags/" + h.Tag)
	storetest.Must(t, err)
	wantFound(t, mustScan(t, s, []gitstore.Hash{tag, storetest.Head(t, tp)}, []gitstore.Hash{merged}), "5 github-token payload.state.summary")
	wantFound(t, mustScan(t, s, []gitstore.Hash{tag}, []gitstore.Hash{storetest.Head(t, tp)}), "0 github-token message")
	storetest.Git(t, s.Dir(), "-c", "user.name=T", "-c", "user.email=t@example.org", "tag", "-a", "-m", "tagged "+storetest.Secret("4"), "own-tag", tag.String())
	own, err := storetest.Inner(s).Git().Ref("refs/tags/own-tag")
	storetest.Must(t, err)
	wantFound(t, mustScan(t, s, []gitstore.Hash{own}, []gitstore.Hash{tag, storetest.Head(t, tp)}), "0 github-token message")
}

// What somebody commits with git alone is searched, too: other files, lines that are not entries, messages, and
// what a later commit removed.
func TestScanCommitsByHand(t *testing.T) {
	dir := t.TempDir()
	storetest.Git(t, dir, "init", "-q", "-b", "main")
	commit := func(message string, files map[string]string) gitstore.Hash {
		t.Helper()
		for name, content := range files {
			storetest.Mkdir(t, filepath.Dir(filepath.Join(dir, name)))
			storetest.WriteFile(t, filepath.Join(dir, name), []byte(content))
		}
		storetest.Git(t, dir, "add", "-A")
		storetest.Git(t, dir, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", message)
		return storetest.Hash(t, storetest.Git(t, dir, "rev-parse", "HEAD"))
	}
	messages := "anchors/001_x/messages.jsonl"
	one := commit("first", map[string]string{"notes.txt": "see " + storetest.Secret("1"), "message": storetest.Secret("9"), messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{}}\n"})
	two := commit("second "+storetest.Secret("2"), map[string]string{"notes.txt": "nothing", messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{}}\n{\"id\":2,\"broken \\u0067hp_" + storetest.Secret("3")[4:] + "\n"})
	three := commit("third", map[string]string{"notes.txt": "see " + storetest.Secret("1") + " and " + storetest.Secret("4"),
		messages: "{\"id\":1,\"kind\":\"x\",\"payload\":{\"a\":\"" + storetest.Secret("5") + "\"}}\n", "anchors/001_x/other.jsonl": "x " + storetest.Secret("6")})

	opened, err := workspace.OpenBare(filepath.Join(dir, ".git"))
	storetest.Must(t, err)
	s := (*repo.Store)(opened)
	wantFound(t, mustScan(t, s, []gitstore.Hash{one}, nil), "0 github-token message", "0 github-token notes.txt")
	wantFound(t, mustScan(t, s, []gitstore.Hash{two}, []gitstore.Hash{one}), "0 github-token "+messages, "0 github-token message")
	wantFound(t, mustScan(t, s, []gitstore.Hash{three}, []gitstore.Hash{two}), "1 github-token payload.a", "0 github-token anchors/001_x/other.jsonl",
		"0 github-token notes.txt", "0 github-token notes.txt")
	four := commit("fourth", map[string]string{"notes.txt": "see " + storetest.Secret("1") + " and " + storetest.Secret("4") + " still"})
	wantFound(t, mustScan(t, s, []gitstore.Hash{four}, []gitstore.Hash{three}))

	// If an object cannot be read, the scan fails.
	blob := storetest.Git(t, dir, "rev-parse", "HEAD:notes.txt")
	storetest.Must(t, storetest.Inner(s).FS().Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])))
	c := outgoing.NewSecretScan(storetest.Inner(s))
	c.AddKnown(three)
	_, err = c.Search(t.Context(), "main", []gitstore.Hash{four})
	storetest.WantIs(t, err, repo.ErrCorrupt)
	_, err = outgoing.NewSecretScan(storetest.Inner(s)).Search(t.Context(), "main", []gitstore.Hash{{1}})
	storetest.WantIs(t, err, repo.ErrCorrupt)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = outgoing.NewSecretScan(storetest.Inner(s)).Search(ctx, "main", []gitstore.Hash{three}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search says %v", err)
	}
}

// TestScanIsComplete: in whatever steps entries are committed, each secret is found exactly once for its entry.
func TestScanIsComplete(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	var heads []gitstore.Hash
	want := map[int64]bool{}
	for i := range 120 {
		text := strings.Repeat("plain text ", 300)
		if i%17 == 0 {
			text += storetest.Secret(fmt.Sprint(i % 10))
		}
		e := storetest.Append(t, tp, repo.Message("user", text), repo.Event("e", nil))[0]
		if i%17 == 0 {
			want[e.ID] = true
		}
		switch {
		case i%29 == 0:
			storetest.Handoff(t, tp, fmt.Sprintf("p%d", i))
		case i%7 == 0:
			storetest.Checkpoint(t, tp)
		}
		heads = append(heads, storetest.Head(t, tp))
	}
	storetest.Checkpoint(t, tp)
	last := storetest.Head(t, tp)
	found, err := outgoing.NewSecretScan(storetest.Inner(s)).Search(t.Context(), "main", []gitstore.Hash{last})
	storetest.Must(t, err)
	got := map[int64]bool{}
	for _, f := range found {
		if got[f.Entry] {
			t.Errorf("the secret of @%d is found twice", f.Entry)
		}
		got[f.Entry] = true
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("secrets are found in the entries %v, want %v", got, want)
	}
	// The findings between each two commits add up to those of the whole history.
	n := 0
	known := []gitstore.Hash{}
	for _, h := range append(heads, last) {
		n += len(mustScan(t, s, []gitstore.Hash{h}, known))
		known = []gitstore.Hash{h}
	}
	if n != len(found) {
		t.Errorf("commit by commit, %d secrets are found, at once %d", n, len(found))
	}
}

func BenchmarkScanSecrets(b *testing.B) {
	s := storetest.New(b, nil)
	tp := storetest.Tape(b, s, "main")
	total := int64(0)
	for i := range 20 {
		var drafts []repo.Draft
		for range 50 {
			text := strings.Repeat("\tif err := s.step(ctx, \"token\"); err != nil {\n\t\treturn err\n\t}\n", 60)
			total += int64(len(text))
			drafts = append(drafts, repo.Message("user", text))
		}
		storetest.Append(b, tp, drafts...)
		storetest.Handoff(b, tp, fmt.Sprintf("p%d", i))
	}
	tips := []gitstore.Hash{storetest.Head(b, tp)}
	b.SetBytes(total)
	for b.Loop() {
		mustScan(b, s, tips, nil)
	}
}

// Names in commits and tags are searched, too. If a remote has a separate address for pushes, only what that
// address has counts as known.
func TestScanNamesAndAddresses(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "fine"))
	storetest.Checkpoint(t, tp)
	head := storetest.Head(t, tp)
	raw := storetest.Git(t, s.Dir(), "cat-file", "commit", head.String())
	file := filepath.Join(t.TempDir(), "commit")
	storetest.Must(t, os.WriteFile(file, []byte(strings.Replace(raw, "\nauthor ", "\nauthor "+storetest.Secret("1")+" ", 1)), 0o600))
	named := storetest.Hash(t, storetest.Git(t, s.Dir(), "hash-object", "-t", "commit", "-w", file))
	if found := mustScan(t, s, []gitstore.Hash{named}, nil); len(found) != 1 {
		t.Errorf("found %+v, want the secret in the author's name", found)
	}

	dir := t.TempDir()
	for _, name := range []string{"old.git", "new.git"} {
		storetest.Git(t, dir, "init", "-q", "--bare", name)
	}
	storetest.Must(t, s.AddRemote(t.Context(), "origin", filepath.Join(dir, "old.git")))
	storetest.Append(t, tp, repo.Message("user", storetest.Secret("2")))
	storetest.Checkpoint(t, tp)
	storetest.Git(t, s.Dir(), "push", "-q", "--no-verify", "origin", "tape/main")
	storetest.Git(t, s.Dir(), "config", "remote.origin.pushurl", filepath.Join(dir, "new.git"))
	if _, err := s.Push(t.Context(), "origin", nil); !errors.As(err, new(*repo.SecretsError)) {
		t.Errorf("the push to another address says %v", err)
	}
}

func TestPushFindsSecretsInArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	storetest.Remote(t, s)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "log", "line 1\ntoken "+storetest.Secret("7")+"\n")
	storetest.Append(t, tp, storetest.ReferTo("see", a))
	_, err := s.Push(t.Context(), "origin", nil)
	if !errors.Is(err, repo.ErrConflict) || !strings.Contains(err.Error(), "artifacts/"+a.ID) {
		t.Errorf("the push does not name the artifact: %v", err)
	}
}
