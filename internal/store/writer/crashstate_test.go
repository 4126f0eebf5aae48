//go:build !race

// Many workspaces, one after another: slow, and nothing for the race detector to find.

package writer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/store/writer"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestReadersAgreeWithRecovery cuts off a random change at a random step, and lets somebody use git by hand. What readers
// then see of a tape is what they see once the next writer has repaired it.
func TestReadersAgreeWithRecovery(t *testing.T) {
	rng := testkit.Random(t)
	for round := range 40 {
		crashState(t, rng, round)
		if t.Failed() {
			return
		}
	}
}

// cutOff are the changes that are cut off.
func cutOff() map[string]func(context.Context, *repo.Store, *repo.Tape) error {
	messages := []repo.Draft{repo.Message("user", "never"), repo.Event("acknowledged", nil), storetest.Big(300_000, "long"), repo.Message("user", "end")}
	return map[string]func(context.Context, *repo.Store, *repo.Tape) error{
		"append": func(ctx context.Context, _ *repo.Store, tp *repo.Tape) error {
			_, err := tp.Append(ctx, nil, messages[0])
			return err
		},
		"batch": func(ctx context.Context, _ *repo.Store, tp *repo.Tape) error {
			_, err := tp.Append(ctx, nil, messages...)
			return err
		},
		"handoff": func(ctx context.Context, _ *repo.Store, tp *repo.Tape) error {
			_, err := tp.Handoff(ctx, repo.Anchor{Name: "third", Summary: "cut off"})
			return err
		},
		"checkpoint": func(ctx context.Context, _ *repo.Store, tp *repo.Tape) error {
			_, _, err := tp.Checkpoint(ctx)
			return err
		},
		"reset": func(ctx context.Context, _ *repo.Store, tp *repo.Tape) error {
			_, err := tp.Reset(ctx, true)
			return err
		},
		"gc": func(ctx context.Context, s *repo.Store, tp *repo.Tape) error {
			if _, _, err := tp.Checkpoint(ctx); err != nil {
				return err
			}
			_, err := s.GC(ctx, nil)
			return err
		},
	}
}

// byHand are the things that somebody does with git in the tape's working tree afterwards. They may fail.
func byHand() map[string][][]string {
	return map[string][][]string{
		"nothing":      nil,
		"commit all":   {{"add", "--all"}, {"commit", "--quiet", "-m", "by hand"}},
		"empty commit": {{"commit", "--quiet", "--allow-empty", "-m", "by hand"}},
		"merge":        {{"merge", "--quiet", "--no-ff", "--no-commit", "side"}},
		"remove tree":  {{"worktree", "remove", "--force", "."}},
		"remove index": {{"rm", "--quiet", "--cached", "-r", "."}},
		"move back":    {{"reset", "--quiet", "--soft", "HEAD~1"}},
	}
}

func crashState(t *testing.T, rng *rand.Rand, round int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, nil)
	storetest.Must(t, err)
	storetest.SomeEntries(t, s)
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, other, repo.Message("user", "one"))
	storetest.Handoff(t, other, "second")
	storetest.Append(t, other, repo.Message("user", "two"), repo.Event("run", nil))
	name := []string{"main", "other"}[rng.IntN(2)]
	tp := storetest.Tape(t, s, name)
	tree := tp.WorkTree()
	sideOf(t, tree, tp)

	changes, hands := cutOff(), byHand()
	change, hand := pick(rng, changes), pick(rng, hands)
	f := &storetest.Faulty{N: 1 + rng.IntN(70), Gap: 1}
	failing, err := repo.Open(t.Context(), dir, &repo.Options{Fs: &disk.FS{Fault: f.Fault}, Warn: func(string) {}})
	storetest.Must(t, err)
	changeErr := changes[change](t.Context(), failing, storetest.Tape(t, failing, name))
	_ = os.Remove(filepath.Join(dir, ".git", "refs", "heads", "tape", name+".lock")) // or git does nothing
	var did []string
	for _, args := range hands[hand] {
		if _, err := os.Stat(tree); err == nil {
			out, err := storetest.PlainGit(t, tree, args...)
			did = append(did, fmt.Sprint(args, " ", out, " ", err))
		}
	}
	said := fmt.Sprintf("round %d: %s of %s fails at %d %v (%v), then %s: %s", round, change, name, f.N, f.Log, changeErr, hand, did)

	before, errBefore := linesOf(t, dir, name)
	errWrite := recoverTape(t, dir, name)
	if hand == "merge" && errWrite != nil {
		if out, err := storetest.PlainGit(t, tree, "merge", "--abort"); err != nil {
			t.Fatalf("%s: %s", said, out)
		}
		errWrite = recoverTape(t, dir, name)
	}
	after, errAfter := linesOf(t, dir, name)
	if errBefore != nil && errWrite != nil && errAfter != nil {
		return // somebody has committed half of a batch: damage, of which everybody says so
	}
	if before != after || errBefore != nil || errWrite != nil || errAfter != nil {
		t.Errorf("%s\nbefore: %v\n%.1500s\nthe writer: %v\nafter: %v\n%.1500s", said, errBefore, before, errWrite, errAfter, after)
	}
}

// sideOf makes a branch that can be merged, which adds a file of nobody's.
func sideOf(t *testing.T, tree string, tp *repo.Tape) {
	t.Helper()
	blob := storetest.Git(t, tree, "hash-object", "-w", "README.md")
	index := filepath.Join(t.TempDir(), "index")
	branch := "tape/" + tp.Name()
	for _, args := range [][]string{{"read-tree", branch}, {"update-index", "--add", "--cacheinfo", "100644," + blob + ",notes.md"}} {
		t.Setenv("GIT_INDEX_FILE", index)
		storetest.Git(t, tree, args...)
	}
	written := storetest.Git(t, tree, "write-tree")
	storetest.Must(t, os.Unsetenv("GIT_INDEX_FILE"))
	side := storetest.Git(t, tree, "-c", "user.name=Hand", "-c", "user.email=hand@example.org", "commit-tree", "-m", "side", "-p", branch, written)
	storetest.Git(t, tree, "update-ref", "refs/heads/side", side)
}

func pick[V any](rng *rand.Rand, m map[string]V) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[rng.IntN(len(names))]
}

// linesOf are the entries of a tape as a new reader sees them.
func linesOf(t *testing.T, dir, name string) (string, error) {
	t.Helper()
	s, err := repo.Open(t.Context(), dir, &repo.Options{Warn: func(string) {}})
	storetest.Must(t, err)
	tp, err := s.Tape(t.Context(), name)
	if err != nil {
		return "", err
	}
	entries, err := storetest.Collect(t.Context(), tp, repo.Query{})
	return strings.Join(storetest.Lines(entries), "\n"), err
}

// recoverTape takes the tape's lock, as every writer does, and writes nothing.
func recoverTape(t *testing.T, dir, name string) error {
	t.Helper()
	s, err := repo.Open(t.Context(), dir, &repo.Options{Warn: func(string) {}})
	storetest.Must(t, err)
	tp, err := s.Tape(t.Context(), name)
	if err != nil {
		return err
	}
	return writer.Write(t.Context(), storetest.InnerTape(tp), func(*writer.Writer) error { return nil })
}
