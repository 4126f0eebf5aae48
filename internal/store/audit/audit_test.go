package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// verifyCase: what is refused of a remote is also a problem of a local tape, except for limits that apply to
// remotes only.
func verifyCase(t *testing.T, k evilCase, dir string) {
	t.Helper()
	isBranch := strings.HasPrefix(k.Ref, layout.BranchPrefix) || strings.HasPrefix(k.Ref, layout.ForkPrefix)
	if !isBranch || k.Want == "" || k.Rewrites || k.Want == "the limit is" || k.Want == "has a name that is not used here" {
		return
	}
	s := openFetched(t, dir)
	head := storetest.Hash(t, refsIn(t, dir)[k.Ref])
	tp, err := snapshot.TapeAt(storetest.Inner(s), k.Ref, head)
	if err != nil {
		return
	}
	problems, err := audit.Problems(t.Context(), storetest.Inner(s), tp, head)
	if err == nil && len(problems) == 0 {
		t.Errorf("verify finds nothing, but %q is refused of a remote", k.Want)
	}
}

// A commit that breaks a promise is reported once, and later commits are compared with it.
func TestVerifyGoesOn(t *testing.T) {
	t.Parallel()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "two"))
	storetest.Handoff(t, tp, "work")
	file := filepath.Join(s.Dir(), layout.AnchorsDir, "002_work", "messages.jsonl")
	line := func(id int) string {
		return fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"x"},"meta":{},"date":"2026-11-20T09:30:00+00:00"}`+"\n", id)
	}
	var bad []string
	for _, step := range []struct {
		text string
		ok   bool
	}{
		{line(4), true},
		{line(4) + line(6), false},
		{line(4) + line(6) + line(7), true},
		{line(4) + line(7), false},
		{line(4) + line(7) + line(8), true},
		{"", false},
		{line(4), true},
	} {
		if step.text == "" {
			storetest.Must(t, os.Remove(file))
		} else {
			storetest.WriteFile(t, file, []byte(step.text))
		}
		storetest.Git(t, s.Dir(), "add", "-A")
		storetest.Git(t, s.Dir(), "-c", "user.name=Hand", "-c", "user.email=h@example.org", "commit", "-q", "-m", "by hand")
		if !step.ok {
			bad = append(bad, storetest.Git(t, s.Dir(), "rev-parse", "HEAD")[:12])
		}
	}
	problems, err := audit.Problems(t.Context(), storetest.Inner(s), storetest.InnerTape(tp), storetest.Head(t, tp))
	storetest.Must(t, err)
	var named []string
	for _, p := range problems {
		named = append(named, p.File[:min(12, len(p.File))])
	}
	if !slices.Equal(named, bad) {
		t.Errorf("the problems name the commits %q, want %q: %v", named, bad, problems)
	}
}
