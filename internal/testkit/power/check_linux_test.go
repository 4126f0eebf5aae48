//go:build extra

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

// check checks the workspace after a cut, and continues to work with it as a user would.
func (w *world) check(sc scenario, steps []step, done bool) {
	w.t.Helper()
	if done && sc.check != nil {
		sc.check(w)
	}
	switch w.rng.IntN(4) { // any command may be the one that recovers, or fails to
	case 0:
		w.pushAll()
	case 1:
		w.anyCommand(steps)
		w.anyCommand(steps)
	default:
		w.take(step{args: strings.Fields(w.anyOf(readers()))})
		w.take(step{args: strings.Fields(w.anyOf(readers()))})
		w.anyCommand(steps)
	}
	w.healthy()
	w.wantPromises()
	for _, s := range steps {
		if s.again != nil {
			w.take(s)
		}
	}
	if sc.check != nil {
		sc.check(w)
	}
	w.useWorkspace()
	w.healthy()
	w.wantPromises()
}

func (w *world) anyOf(lines []string) string { return lines[w.rng.IntN(len(lines))] }

// readers are commands that do not change tapes.
func readers() []string {
	return []string{"log", "log --all --tape other", "search zqone", "search --all-tapes zqold", "search --regex zq", "search --sort newest zqtwo", "verify", "info", "tapes", "forks --all",
		"forks --closed", "context", "export --tape old", "anchors", "archives --tape old", "diff HEAD", "log --all-tapes", "index status", "show latest"}
}

// writers are commands that change tapes, settings or remotes.
func writers() []string {
	return []string{"append --text hello", "append --tape old --text hello", "commit", "handoff next", "handoff --tape other next", "fork probe", "new probe",
		"switch other", "config commit 2", "fetch", "pull", "push", "gc", "gc --all-worktrees", "index rebuild"}
}

// anyCommand runs a random command, perhaps the one that was cut off.
func (w *world) anyCommand(steps []step) {
	w.t.Helper()
	if s := steps[w.rng.IntN(len(steps))]; s.again != nil && w.rng.IntN(4) == 0 {
		w.take(s)
		return
	}
	s := step{args: strings.Fields(w.anyOf(writers()))}
	switch s.args[0] {
	case "pull":
		w.take(pull(w))
	case "push":
		w.pushAll()
	case "append":
		w.take(appendOne(w))
	case "fork", "new": // it may exist already
		w.take(s, 4)
	default:
		w.take(s)
	}
}

// pushAll pushes all tapes. Some may be refused: the remote has newer entries, or a tape has a secret.
func (w *world) pushAll() {
	w.t.Helper()
	w.take(step{args: []string{"push", "--forks"}}, 4)
	w.remoteIsWhole()
}

// healthy fails if tape verify or git fsck finds a problem.
func (w *world) healthy() {
	w.t.Helper()
	w.must("tape", "verify")
	w.must("git", "-C", w.workspace(), "fsck", "--strict", "--no-dangling")
}

// contents returns how often each text is on a tape; nil if there is no such tape.
func (w *world) contents(tape string) map[string]int {
	w.t.Helper()
	out, code := w.run("", "tape", "export", "--tape", tape)
	if code == 3 {
		return nil
	}
	if code != 0 {
		w.fail("broken: tape export --tape %s: exit code %d", tape, code)
	}
	found := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var entry struct{ ID int }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.ID != i+1 {
			w.fail("broken: entry %d of %s: %v\n%s", i+1, tape, err, line)
		}
		for _, text := range slices.Compact(textPattern.FindAllString(line, -1)) {
			found[text]++
		}
	}
	return found
}

var textPattern = regexp.MustCompile(`\bzq[a-z]+\b`)

// wantPromises fails unless everything that was acknowledged exists exactly once, and everything else completely
// or not at all.
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
		w.wantKept(p, tapes)
	}
	if old := tapes["old"]; old["zqold"] == 0 && old["zqarchived"] == 0 {
		if n := strings.Count(w.must("tape", "archives", "--tape", "old", "--json"), "\n"); n < 2 {
			w.fail("lost: the old tape is empty and has %d archives, want 2", n)
		}
	}
}

// wantKept checks one promise against the texts of tapes.
func (w *world) wantKept(p *promise, tapes map[string]map[string]int) {
	w.t.Helper()
	var found []string
	for _, text := range p.texts {
		most := 0
		for _, tape := range p.tapes {
			most = max(most, tapes[tape][text])
		}
		if most > 1 {
			w.fail("broken: one of the tapes %q has %s %d times", p.tapes, text, most)
		}
		if most == 1 {
			found = append(found, text)
		}
	}
	switch {
	case p.gone && len(found) > 0:
		w.fail("broken: the removal of %q was acknowledged, but there are %q on %q", p.texts, found, p.tapes)
	case p.kept && !p.gone && len(found) < len(p.texts):
		w.fail("lost: %q were acknowledged, but there are only %q on %q", p.texts, found, p.tapes)
	case len(found) > 0 && len(found) < len(p.texts):
		w.fail("broken: %q belong together, but there are only %q on %q", p.texts, found, p.tapes)
	}
}

// useWorkspace writes, searches, pulls and pushes.
func (w *world) useWorkspace() {
	w.t.Helper()
	for _, s := range []step{appendOne(w), handoff(w)} {
		w.take(s)
		text := w.promises[len(w.promises)-1].texts[0]
		if out := w.must("tape", "search", "--tape", "main", "--exact", "--count", text); strings.TrimSpace(out) != "1" {
			w.fail("broken: search counts %q entries with %s, want 1", out, text)
		}
	}
	if out := w.must("git", "-C", w.workspace(), "status", "--porcelain"); out != "" {
		w.fail("broken: git status says\n%s", out)
	}
	for _, p := range w.promised("main") {
		if text := p.texts[0]; p.kept && w.rng.IntN(4) == 0 {
			if out := w.must("tape", "search", "--tape", "main", "--exact", "--count", text); strings.TrimSpace(out) != "1" {
				w.fail("broken: search counts %q entries with %s, want 1", out, text)
			}
		}
	}
	w.take(pull(w))
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
	w.take(step{args: args, acked: w.remoteIsWhole})
	for _, branch := range []string{"tape/main", "tape/other"} {
		if here, there := w.must("git", "-C", w.workspace(), "rev-parse", branch), w.must("git", "-C", w.bare, "rev-parse", branch); here != there {
			w.fail("broken: %s is %s here and %s at the remote", branch, here, there)
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
			w.fail("broken: at the remote, %s has the phases %q, but the tags %q", branch, phases, tags)
		}
	}
}

// noSecret fails if the secret is anywhere in the workspace.
func (w *world) noSecret() {
	w.t.Helper()
	if out := w.must("git", "-C", w.workspace(), "cat-file", "--batch-all-objects", "--batch"); strings.Contains(out, secret()) {
		w.fail("broken: an object still has the secret")
	}
	err := filepath.WalkDir(w.workspace(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secret())) {
			w.fail("broken: %s still has the secret", path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
