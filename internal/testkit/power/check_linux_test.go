package power

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// check looks at what a cut has left, and goes on with it as a user would.
func (w *world) check(sc scenario, steps []step, done bool) {
	w.t.Helper()
	if done && sc.check != nil {
		sc.check(w)
	}
	for range w.rng.IntN(3) {
		w.take(w.anyCommand(steps))
	}
	w.healthy()
	w.wantPromises()
	for _, s := range steps {
		if s.again != nil {
			w.take(s, s.again)
		}
	}
	if sc.check != nil {
		sc.check(w)
	}
	w.goesOn()
	w.healthy()
	w.wantPromises()
}

// anyCommand is what somebody happens to do next.
func (w *world) anyCommand(steps []step) (step, []int) {
	if s := steps[w.rng.IntN(len(steps))]; s.again != nil && w.rng.IntN(4) == 0 {
		return s, s.again
	}
	all := []string{"log", "log --all --tape other", "search zqone", "search --all-tapes zqold", "commit", "fetch", "pull", "push --tape main", "push --tape other",
		"verify", "gc", "gc --all-worktrees", "info", "tapes", "forks --all", "index status", "index rebuild", "context", "export --tape old", "anchors",
		"archives --tape old", "append --text hello", "append --tape main/try-b --text hello", "append --tape leaky --text hello", "handoff next", "handoff --tape other next",
		"fork probe", "new probe", "switch other", "config commit 2", "diff HEAD", "log --graph --all-tapes", "push --tape main --tape other --forks"}
	line := all[w.rng.IntN(len(all))]
	s := step{args: strings.Fields(line)}
	switch s.args[0] {
	case "pull":
		s.acked = pull(w).acked
	case "push":
		return s, []int{4}
	case "append":
		if line == "append --tape main/try-b --text hello" {
			return s, []int{3} // it may be gone
		}
		s = appendOne(w)
	case "fork", "new":
		return s, []int{4} // a second time
	}
	return s, nil
}

// healthy fails unless the program and git find nothing wrong.
func (w *world) healthy() {
	w.t.Helper()
	w.must("tape", "verify")
	w.must("git", "-C", w.workspace(), "fsck", "--strict", "--no-dangling")
}

// contents reads a tape: how often each text is there. A tape that is not there has none.
func (w *world) contents(tape string) map[string]int {
	w.t.Helper()
	out, code := w.run("", "tape", "export", "--tape", tape)
	if code == 3 {
		return nil
	}
	if code != 0 {
		w.t.Fatalf("broken: tape export --tape %s: exit code %d", tape, code)
	}
	found := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var entry struct{ ID int }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.ID != i+1 {
			w.t.Fatalf("broken: entry %d of %s: %v\n%s", i+1, tape, err, line)
		}
		for _, text := range slices.Compact(textPattern.FindAllString(line, -1)) {
			found[text]++
		}
	}
	return found
}

var textPattern = regexp.MustCompile(`\bzq[a-z]+\b`)

// wantPromises fails unless all is there that was acknowledged, once, and what was not is
// there as a whole or not at all.
func (w *world) wantPromises() {
	w.t.Helper()
	tapes := map[string]map[string]int{}
	for _, p := range w.promises {
		for _, tape := range p.tapes {
			if _, ok := tapes[tape]; !ok {
				tapes[tape] = w.contents(tape)
			}
		}
	}
	for _, p := range w.promises {
		var there []string
		for _, text := range p.texts {
			most := 0
			for _, tape := range p.tapes {
				most = max(most, tapes[tape][text])
			}
			if most > 1 {
				w.t.Fatalf("broken: %s is %d times on one of %q", text, most, p.tapes)
			}
			if most == 1 {
				there = append(there, text)
			}
		}
		switch {
		case p.kept && len(p.tapes) > 0 && len(there) < len(p.texts):
			w.t.Fatalf("lost: of %q were acknowledged, there are %q on %q", p.texts, there, p.tapes)
		case len(there) > 0 && len(there) < len(p.texts):
			w.t.Fatalf("broken: of what belongs together, %q, there are %q on %q", p.texts, there, p.tapes)
		}
	}
	if old := tapes["old"]; old["zqold"] == 0 && old["zqarchived"] == 0 {
		if n := strings.Count(w.must("tape", "archives", "--tape", "old", "--json"), "\n"); n < 2 {
			w.t.Fatalf("lost: the old tape is empty and has %d archives", n)
		}
	}
}

// goesOn uses the workspace: it writes, searches, and agrees with the remote.
func (w *world) goesOn() {
	w.t.Helper()
	for _, s := range []step{appendOne(w), handoff(w)} {
		w.take(s, nil)
		text := w.promises[len(w.promises)-1].texts[0]
		if out := w.must("tape", "search", "--tape", "main", "--exact", "--count", text); strings.TrimSpace(out) != "1" {
			w.t.Fatalf("broken: search counts %q of %s", out, text)
		}
	}
	if out := w.must("git", "-C", w.workspace(), "status", "--porcelain"); out != "" {
		w.t.Fatalf("broken: git status says\n%s", out)
	}
	for _, p := range w.promised("main") {
		if text := p.texts[0]; p.kept && w.rng.IntN(4) == 0 {
			if out := w.must("tape", "search", "--tape", "main", "--exact", "--count", text); strings.TrimSpace(out) != "1" {
				w.t.Fatalf("broken: search counts %q of %s", out, text)
			}
		}
	}
	w.take(pull(w), nil)
	args := []string{"push", "--forks"}
	for _, line := range strings.Split(strings.TrimSpace(w.must("tape", "tapes", "--json")), "\n") {
		var tape struct{ Tape string }
		if err := json.Unmarshal([]byte(line), &tape); err != nil {
			w.t.Fatal(err)
		}
		if tape.Tape != "leaky" && tape.Tape != "old" {
			args = append(args, "--tape", tape.Tape)
		}
	}
	w.take(step{args: args, acked: w.remoteIsWhole}, nil)
	for _, branch := range []string{"tape/main", "tape/other"} {
		if here, there := w.must("git", "-C", w.workspace(), "rev-parse", branch), w.must("git", "-C", w.bare, "rev-parse", branch); here != there {
			w.t.Fatalf("broken: %s is %s here and %s at the remote", branch, here, there)
		}
	}
}

// remoteIsWhole fails unless the remote has a tag for each phase of each tape.
func (w *world) remoteIsWhole() {
	w.t.Helper()
	for _, branch := range strings.Fields(w.must("git", "-C", w.bare, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/tape/")) {
		phases := strings.Fields(w.must("git", "-C", w.bare, "ls-tree", "--name-only", "tape/"+branch+":anchors"))
		tags := strings.Fields(w.must("git", "-C", w.bare, "for-each-ref", "--format=%(refname:lstrip=4)", "refs/tags/anchor/"+branch+"/"))
		if !slices.Equal(phases, tags) {
			w.t.Fatalf("broken: the remote has of %s the phases %q and the tags %q", branch, phases, tags)
		}
	}
}

// purged: a purge that was cut off was done again before.
func purged(w *world) { w.noSecret() }

// noSecret fails if the secret is anywhere in the workspace.
func (w *world) noSecret() {
	w.t.Helper()
	if out := w.must("git", "-C", w.workspace(), "cat-file", "--batch-all-objects", "--batch"); strings.Contains(out, secret()) {
		w.t.Fatalf("broken: an object still has the secret")
	}
	err := filepath.WalkDir(w.workspace(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secret())) {
			w.t.Fatalf("broken: %s still has the secret", path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
