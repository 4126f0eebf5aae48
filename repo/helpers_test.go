package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/testkit"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// testStore creates a workspace that this package and git check when the test ends.
func testStore(t testing.TB, o *InitOptions) *Store {
	t.Helper()
	s, created, err := Init(t.Context(), filepath.Join(t.TempDir(), "ws"), o)
	if err != nil {
		t.Fatal(err)
	}
	if !created {
		t.Fatal("Init says that the workspace was there already")
	}
	healthyAtEnd(t, s.Dir())
	return s
}

func healthyAtEnd(t testing.TB, dir string) {
	t.Helper()
	t.Cleanup(func() { healthy(t, dir) })
}

// healthy fails the test unless tape verify and git fsck find nothing to complain of.
func healthy(t testing.TB, dir string) {
	t.Helper()
	verified(t, dir)
	out, err := exec.Command("git", "-C", dir, "fsck", "--strict", "--no-dangling").CombinedOutput()
	if err != nil {
		t.Errorf("git fsck --strict: %v\n%s", err, out)
	}
}

// verified fails the test unless Verify, which has git look too, finds no problem.
func verified(t testing.TB, dir string) {
	t.Helper()
	s, err := Open(context.Background(), dir, nil)
	if err != nil {
		t.Errorf("open for verify: %v", err)
		return
	}
	report, err := s.Verify(context.Background())
	if err != nil {
		t.Errorf("verify: %v", err)
		return
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
	if report.OK != (len(report.Problems) == 0) {
		t.Errorf("verify says OK=%v with %d problems", report.OK, len(report.Problems))
	}
	if !report.GitFsck {
		t.Error("verify did not ask git fsck")
	}
}

// settledAll checks that what was interrupted is no problem to Verify, and has it completed.
func settledAll(t testing.TB, dir string) {
	t.Helper()
	verified(t, dir)
	s, err := Open(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	mended, err := s.Repair(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, m := range mended {
		t.Errorf("what was interrupted is taken for damage: %v, %v", m.Texts(), m.Err)
	}
	verified(t, dir)
}

// reopen gives a second Store on the same workspace.
func reopen(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openTape(t testing.TB, s *Store, name string) *Tape {
	t.Helper()
	tp, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func mustAppend(t testing.TB, tp *Tape, drafts ...Draft) []Entry {
	t.Helper()
	entries, err := tp.Append(t.Context(), nil, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(drafts) {
		t.Fatalf("%d entries appended, %d returned", len(drafts), len(entries))
	}
	return entries
}

func mustHandoff(t testing.TB, tp *Tape, name string) Handoff {
	t.Helper()
	h, err := tp.Handoff(t.Context(), Anchor{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustCheckpoint(t testing.TB, tp *Tape) string {
	t.Helper()
	commit, _, err := tp.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// collect runs a query.
func collect(ctx context.Context, tp *Tape, q Query) ([]Entry, error) {
	var out []Entry
	for e, err := range tp.Entries(ctx, q) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func entriesOf(t testing.TB, tp *Tape, q Query) []Entry {
	t.Helper()
	out, err := collect(t.Context(), tp, q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines are the stored lines of entries.
func lines(entries []Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = string(e.Raw)
	}
	return out
}

func ids(entries []Entry) []int64 {
	out := make([]int64, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

// runGit runs git in a folder and returns what it prints, white space trimmed.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// wantClean fails unless git status is clean.
func wantClean(t testing.TB, dir string) {
	t.Helper()
	if out := runGit(t, dir, "status", "--porcelain"); out != "" {
		t.Errorf("git status is not clean:\n%s", out)
	}
}

func wantIs(t testing.TB, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("got error %v, want one of the class %q", err, class)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies a folder, modification times included, so that a copied workspace
// looks untouched since its last write.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			folders = append(folders, rel)
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, rel), raw, info.Mode()); err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rel := range slices.Backward(folders) {
		info, err := os.Stat(filepath.Join(from, rel))
		if err == nil {
			err = os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// picture is all that a reader can learn of a workspace, as text.
func picture(ctx context.Context, s *Store) (string, error) {
	var b bytes.Buffer
	tapes, err := s.Tapes(ctx)
	if err != nil {
		return "", err
	}
	for _, tp := range tapes {
		fmt.Fprintf(&b, "tape %s\n", tp.Name())
		entries, err := collect(ctx, tp, Query{})
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			fmt.Fprintf(&b, "%s in %d %s\n", e.Raw, e.AnchorSeq, e.Anchor)
		}
		artifacts, err := tp.Artifacts(ctx)
		if err != nil {
			return "", err
		}
		for _, a := range artifacts {
			if len(a.Entries) > 0 {
				fmt.Fprintf(&b, "artifact %s of %v\n", a.ID, a.Entries)
			}
		}
		phases, err := tp.Phases(ctx)
		if err != nil {
			return "", err
		}
		for _, p := range phases {
			fmt.Fprintf(&b, "phase %d %s %s %d-%d\n", p.Seq, p.Name, p.Folder, p.FirstID, p.LastID)
		}
	}
	return b.String(), nil
}

// history is what git has of a workspace: every ref with the object that it names.
func history(t testing.TB, dir string) string {
	t.Helper()
	refs, err := reopen(t, dir).in().Git().Refs("refs/")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "%s %s\n", ref.Name, ref.Hash)
	}
	return b.String()
}

func mustPicture(t testing.TB, s *Store) string {
	t.Helper()
	p, err := picture(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// big is a message whose line is about n bytes long.
func big(n int, label string) Draft {
	return Message("user", label+strings.Repeat("x", n))
}

func tapesAndForks(ctx context.Context, s *Store) ([]*Tape, error) {
	tapes, err1 := s.Tapes(ctx)
	forks, err2 := s.Forks(ctx)
	return append(tapes, forks...), errors.Join(err1, err2)
}
