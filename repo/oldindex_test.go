package repo

import (
	"os"
	"strings"
	"testing"
)

// A power cut brings back git's index from before the last commit, as its name is not synced. Any
// command that writes to the tape makes git status right again.
func TestOldIndexAfterPowerCut(t *testing.T) {
	writes := map[string]func(tp *Tape){
		"append":  func(tp *Tape) { mustAppend(t, tp, Message("user", "next")) },
		"handoff": func(tp *Tape) { mustHandoff(t, tp, "third") },
		"commit":  func(tp *Tape) { mustCheckpoint(t, tp) },
		"fork":    func(tp *Tape) { mustFork(t, tp, "y", "") },
	}
	for name, write := range writes {
		for _, of := range []string{"main", "main/x"} {
			s := testStore(t, nil)
			mustAppend(t, openTape(t, s, "main"), Message("user", "first"))
			mustFork(t, openTape(t, s, "main"), "x", "")
			tp := openTape(t, s, of)
			mustAppend(t, tp, Message("user", "one"))
			mustCheckpoint(t, tp)
			index := runGit(t, tp.WorkTree(), "rev-parse", "--path-format=absolute", "--git-path", "index")
			old, err := os.Stat(index)
			mustDo(t, err)
			raw := readFile(t, index)
			mustAppend(t, tp, Message("user", "two"))
			mustHandoff(t, tp, "second")

			mustDo(t, os.Remove(index))
			writeFile(t, index, raw)
			mustDo(t, os.Chtimes(index, old.ModTime(), old.ModTime()))
			if runGit(t, tp.WorkTree(), "diff", "--cached", "--name-only") == "" {
				t.Fatal("the old index is as good as the new one")
			}
			write(openTape(t, reopen(t, s.Dir()), of))
			for line := range strings.Lines(runGit(t, tp.WorkTree(), "status", "--porcelain")) {
				if name != "append" || !strings.HasSuffix(strings.TrimSpace(line), "messages.jsonl") || strings.HasPrefix(line, "D ") {
					t.Errorf("after %s on %s, git status says %q", name, of, line)
				}
			}
			if staged := runGit(t, tp.WorkTree(), "diff", "--cached", "--name-only"); staged != "" {
				t.Errorf("after %s on %s, git has staged %s", name, of, staged)
			}
		}
	}
}
