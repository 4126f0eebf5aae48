package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tape/cmd/internal/rows"
	"tape/internal/git/transport"
	"tape/internal/store/outgoing"
	"tape/internal/testkit"
	"tape/repo"
)

// An address to share has no password, and no user that may be a token.
func TestWithoutPassword(t *testing.T) {
	for _, c := range [][2]string{
		{"/srv/git/x.git", "/srv/git/x.git"},
		{"git@example.org:ada/x.git", "git@example.org:ada/x.git"},
		{"ssh://git@example.org:22/x.git", "ssh://git@example.org:22/x.git"},
		{"ssh://git:geheim@example.org/x.git", "ssh://git@example.org/x.git"},
		{"https://example.org/x.git", "https://example.org/x.git"},
		{"https://ada:geheim@example.org/x.git", "https://example.org/x.git"},
		{"https://geheim@example.org", "https://example.org"},
		{"HTTPS://geheim@example.org/a@b", "HTTPS://example.org/a@b"},
		{"file:///srv/a@b/x.git", "file:///srv/a@b/x.git"},
	} {
		if got := withoutPassword(transport.MaskURL(c[0])); got != c[1] {
			t.Errorf("%s becomes %s, not %s", c[0], got, c[1])
		}
	}
}

// Each error of a transport has an exit code and a hint.
func TestRemoteErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		hint string
	}{
		{repo.ErrAuth, exitFailure, "credential helper"},
		{repo.ErrRemote, exitFailure, "tape remote list"},
		{repo.ErrHostile, exitCorrupt, "nothing of it was accepted"},
		{&cliError{class: repo.ErrNotFound, hint: "its own"}, exitNotFound, "its own"},
		{fmt.Errorf("%w: %w", context.Canceled, repo.ErrRemote), exitInterrupted, ""},
	} {
		a, _, errs := testApp(testkit.Clock())
		err := explainRemote(fmt.Errorf("push to origin: %w", c.err))
		if got := a.report(nil, err, false); got != c.code || !strings.Contains(errs.String(), c.hint) {
			t.Errorf("%v: exit code %d, not %d:\n%s", c.err, got, c.code, errs)
		}
	}
}

// If something was rejected, the exit code is that of a conflict, whatever the reason. One hint is shown, and at most 20 of the refs.
func TestRejected(t *testing.T) {
	hinted := &cliError{class: repo.ErrConflict, msg: "behind", hint: "pull"}
	list := []repo.RefStatus{
		{Tape: "a", Ref: "refs/heads/tape/a", Status: repo.RefNew},
		{Tape: "b", Ref: "refs/heads/tape/b", Status: repo.RefRejected, Err: hinted},
	}
	if err := rows.Rejected(list[:1]); err != nil {
		t.Errorf("nothing was rejected: %v", err)
	}
	for range 30 {
		list = append(list, repo.RefStatus{Tape: "c\x1b[2J", Ref: "refs/heads/tape/c", Status: repo.RefRejected, Err: fmt.Errorf("bad: %w", repo.ErrCorrupt)})
	}
	for _, n := range []int{2, 3, len(list)} {
		a, _, errs := testApp(testkit.Clock())
		if code := a.report(nil, rows.Rejected(list[:n]), false); code != exitConflict {
			t.Errorf("%d refs: exit code %d, want %d", n, code, exitConflict)
		}
		if said := errs.String(); !strings.Contains(said, "hint: pull\n") || strings.Count(said, "hint:") != 1 || strings.Contains(said, "\x1b") {
			t.Errorf("%d refs: want one hint, and no control characters:\n%q", n, said)
		}
	}
	a, _, errs := testApp(testkit.Clock())
	a.report(nil, rows.Rejected(list), false)
	if lines := strings.Count(errs.String(), "\n"); lines != 20+1+1 || !strings.Contains(errs.String(), "and 11 others") {
		t.Errorf("%d lines, want 22, and the number of the others:\n%s", lines, errs)
	}
}

// --tape of push can be repeated, does not split at commas, and does not select a tape for the App. An empty one is refused.
func TestPushFlags(t *testing.T) {
	a, _, _ := testApp(testkit.Clock())
	a.Getenv = func(key string) string { return map[string]string{envTape: "other"}[key] }
	root := newRoot(a, []string{"push"})
	cmd, _, err := root.Find([]string{"push"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags([]string{"--tape", "a", "--tape", "b,c"}); err != nil {
		t.Fatal(err)
	}
	if got := cmd.Flags().Lookup("tape").Value.String(); got != `[a,"b,c"]` || a.tapeName != "" {
		t.Errorf("--tape is %s, and the selected tape %q; want [a,\"b,c\"] and none", got, a.tapeName)
	}
	for _, name := range []string{"push", "pull", "fetch"} {
		a, _, errs := testApp(testkit.Clock())
		if code := Run(context.Background(), a, []string{name, "--tape", "x", "--tape", ""}); code != exitUsage {
			t.Errorf("%s with an empty --tape: exit code %d, want %d: %s", name, code, exitUsage, errs)
		}
	}
}

// A command that is interrupted says so, and changes nothing.
func TestPushInterrupted(t *testing.T) {
	dir := t.TempDir()
	store, _, err := repo.Init(t.Context(), filepath.Join(dir, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	remote := filepath.Join(dir, "other")
	if _, _, err := repo.Init(t.Context(), remote, nil); err != nil {
		t.Fatal(err)
	}
	if err := store.AddRemote(t.Context(), "origin", remote); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"push"}, {"pull"}, {"fetch"}, {"share", "main"}, {"clone", remote, filepath.Join(dir, "third")}} {
		a, _, errs := testApp(testkit.Clock())
		if code := Run(ctx, a, append([]string{"--workspace", store.Dir()}, args...)); code != exitInterrupted || errs.String() != "tape: error: interrupted\n" {
			t.Errorf("%v: exit code %d, want %d and \"interrupted\": %s", args, code, exitInterrupted, errs)
		}
	}
	if report, err := store.Verify(t.Context()); err != nil || !report.OK {
		t.Errorf("verify after the interrupted commands: %+v, %v", report, err)
	}
	if _, err := repo.Open(t.Context(), filepath.Join(dir, "third"), nil); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("something of a clone is left: %v", err)
	}
}

// Secrets that stop a push are listed, for people and for programs.
func TestFindings(t *testing.T) {
	secrets := &repo.SecretsError{Findings: []outgoing.SecretFinding{
		{Tape: "main", Entry: 17, Commit: strings.Repeat("a", 40), Rule: "some-rule", Path: "payload.content", Masked: "ab\x1b[2J…", Fingerprint: "0123456789abcdef"},
		{Tape: "main", Commit: strings.Repeat("b", 40), Rule: "other-rule", Masked: "cd…", Fingerprint: "fedcba9876543210"},
	}}
	err := fmt.Errorf("push to origin: %w", secrets)
	a, _, errs := testApp(testkit.Clock())
	if code := a.report(nil, err, false); code != exitConflict {
		t.Errorf("exit code %d, want %d", code, exitConflict)
	}
	for _, want := range []string{"\n  main @17  some-rule  ab", "  0123456789abcdef\n", "\n  main commit bbbbbbbbbbbb  other-rule  cd…  fedcba9876543210\n", "tape: hint: "} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is missing:\n%s", want, errs)
		}
	}
	if strings.Contains(errs.String(), "\x1b") {
		t.Errorf("an escape sequence reaches the terminal: %q", errs)
	}
	errs.Reset()
	a.report(nil, err, true)
	var out struct {
		Error struct {
			Code     string
			Findings []struct {
				Entry       any
				Fingerprint string
			}
		}
	}
	if err := json.Unmarshal(errs.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	f := out.Error.Findings
	if out.Error.Code != "conflict" || len(f) != 2 || f[0].Entry != 17.0 || f[1].Entry != nil || f[0].Fingerprint != "0123456789abcdef" {
		t.Errorf("want the code conflict and two findings, the first at entry 17: %s", errs)
	}
}
