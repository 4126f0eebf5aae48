package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	"tape/repo"
	"testing"
)

// SomeEntries gives main two phases, the last entry of which is not committed.
func SomeEntries(t *testing.T, s *repo.Store) {
	tp := Tape(t, s, "main")
	Append(t, tp, repo.System("be brief"))
	Append(t, tp, repo.Message("user", "one"), repo.Event("run", nil))
	Handoff(t, tp, "second")
	Append(t, tp, repo.Message("user", "two"))
}

// GC runs housekeeping that has to work.
func GC(t *testing.T, s *repo.Store, o *repo.GCOptions) repo.GCReport {
	t.Helper()
	r, err := s.GC(t.Context(), o)
	Must(t, err)
	return r
}

// New creates a workspace that Verify and git check when the test ends.
func New(t testing.TB, o *repo.InitOptions) *repo.Store {
	t.Helper()
	s, created, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), o)
	Must(t, err)
	if !created {
		t.Fatal("Init says that the workspace existed already")
	}
	HealthyAtEnd(t, s.Dir())
	return s
}

// Reopen returns a second Store of the same workspace.
func Reopen(t testing.TB, dir string) *repo.Store {
	t.Helper()
	s, err := repo.Open(t.Context(), dir, nil)
	Must(t, err)
	return s
}

// Tape opens a tape that has to be there.
func Tape(t testing.TB, s *repo.Store, name string) *repo.Tape {
	t.Helper()
	tp, err := s.Tape(t.Context(), name)
	Must(t, err)
	return tp
}

// Append appends entries.
func Append(t testing.TB, tp *repo.Tape, drafts ...repo.Draft) []repo.Entry {
	t.Helper()
	entries, err := tp.Append(t.Context(), nil, drafts...)
	Must(t, err)
	if len(entries) != len(drafts) {
		t.Fatalf("%d entries appended, %d returned", len(drafts), len(entries))
	}
	return entries
}

// Handoff closes a phase.
func Handoff(t testing.TB, tp *repo.Tape, name string) repo.Handoff {
	t.Helper()
	h, err := tp.Handoff(t.Context(), repo.Anchor{Name: name})
	Must(t, err)
	return h
}

// Checkpoint commits what is not committed, and returns the tape's head.
func Checkpoint(t testing.TB, tp *repo.Tape) string {
	t.Helper()
	commit, _, err := tp.Checkpoint(t.Context())
	Must(t, err)
	return commit
}

// Big is a message whose line is about n bytes long.
func Big(n int, label string) repo.Draft {
	return repo.Message("user", label+strings.Repeat("x", n))
}

// Interrupt leaves a batch as a killed process does: written, and not acknowledged.
func Interrupt(t *testing.T, tp *repo.Tape) {
	t.Helper()
	tx, err := writer.Begin(t.Context(), InnerTape(tp))
	Must(t, err)
	for range 3 {
		if _, err := tx.Append(t.Context(), repo.Message("user", "never acknowledged")); err != nil {
			t.Fatal(err)
		}
	}
	// Restore the record from before the commit, by which the next writer undoes the
	// batch.
	path := journal.LockPath(InnerTape(tp))
	record, err := os.ReadFile(path)
	Must(t, err)
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	Must(t, os.WriteFile(path, record, 0o600))
}

// AwkwardNames are names that are hard to keep apart, or to keep inside a folder.
func AwkwardNames() []string {
	names := []string{
		"main", "Main", "MAIN", "telegram:123", "telegram-123", "阶段/一", "阶段-一", "阶段", "階段",
		"../../x", "..", ".", "/", "//", "/etc/passwd", `C:\x`, `..\..\x`, "-rf", "--help", "-", "a..b", "a.-b", "a.b", ".hidden",
		"con", "CON", "con.txt", "nul", "com1", "lpt9", "aux.", "x.lock", "x-lock", ".lock", "lock", "HEAD", "@", "@{1}", "a@{b", "x~1", "x^", "x:y", "x?", "x*", "[x]",
		"a b", "a\tb", "a\nb", "a\x00b", "a\x7fb", "a\u202eb", "a\u200bb", "é", "e\u0301", "É", "ß", "SS", "ss", "ﬁ", "fi", "ſ", "s", "İ", "i", "ı", "K", "k", "Ω", "ω", "ς", "σ",
		"x.", "x..", "x-", "x", "a/b", "a-b", "a_b", "a//b", "a\u2028", " a", "a ", "🙂", "🙃", "e", "refs/heads/x", "anchor", "tape", "~",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 4096), strings.Repeat("a", 4095) + "b",
		strings.Repeat("长", 21), strings.Repeat("长", 22), strings.Repeat("../", 1365), strings.Repeat(".lock", 13),
	}
	// Each of these is the slug of another name.
	for _, name := range names[:40] {
		names = append(names, layout.TapeSlug(name))
	}
	return names
}

// Head is the commit of a tape's branch.
func Head(t testing.TB, tp *repo.Tape) gitstore.Hash {
	t.Helper()
	h, err := InnerTape(tp).Head()
	Must(t, err)
	return h
}

// Secret returns what looks like a GitHub token. It is made of parts, so that no
// scanner takes this file for a leak.
func Secret(n string) string { return "ghp_" + strings.Repeat("a7Kq9Zt2Lm", 3) + "Xw4Ry" + n }
