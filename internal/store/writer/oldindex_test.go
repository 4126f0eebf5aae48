package writer_test

import (
	"os"
	"strings"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// After a power cut, git's index can be the one from before the last commit, because the rename that replaces it is
// not synced. Any command that writes to the tape makes git status correct again.
func TestOldIndexAfterPowerCut(t *testing.T) {
	writes := map[string]func(tp *repo.Tape){
		"append":  func(tp *repo.Tape) { storetest.Append(t, tp, repo.Message("user", "next")) },
		"handoff": func(tp *repo.Tape) { storetest.Handoff(t, tp, "third") },
		"commit":  func(tp *repo.Tape) { storetest.Checkpoint(t, tp) },
		"fork":    func(tp *repo.Tape) { storetest.Fork(t, tp, "y", "") },
	}
	for name, write := range writes {
		for _, tape := range []string{"main", "main/x"} {
			s := storetest.New(t, nil)
			storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "first"))
			storetest.Fork(t, storetest.Tape(t, s, "main"), "x", "")
			tp := storetest.Tape(t, s, tape)
			storetest.Append(t, tp, repo.Message("user", "one"))
			storetest.Checkpoint(t, tp)
			index := storetest.Git(t, tp.WorkTree(), "rev-parse", "--path-format=absolute", "--git-path", "index")
			old, err := os.Stat(index)
			storetest.Must(t, err)
			raw := storetest.ReadFile(t, index)
			storetest.Append(t, tp, repo.Message("user", "two"))
			storetest.Handoff(t, tp, "second")

			storetest.Must(t, os.Remove(index))
			storetest.WriteFile(t, index, raw)
			storetest.Must(t, os.Chtimes(index, old.ModTime(), old.ModTime()))
			if storetest.Git(t, tp.WorkTree(), "diff", "--cached", "--name-only") == "" {
				t.Fatal("git finds nothing staged with the old index")
			}
			write(storetest.Tape(t, storetest.Reopen(t, s.Dir()), tape))
			for line := range strings.Lines(storetest.Git(t, tp.WorkTree(), "status", "--porcelain")) {
				// What was appended is not committed yet.
				if name != "append" || !strings.HasSuffix(strings.TrimSpace(line), "messages.jsonl") || strings.HasPrefix(line, "D ") {
					t.Errorf("after %s on %s, git status says %q", name, tape, line)
				}
			}
			if staged := storetest.Git(t, tp.WorkTree(), "diff", "--cached", "--name-only"); staged != "" {
				t.Errorf("after %s on %s, git has staged %s", name, tape, staged)
			}
		}
	}
}
