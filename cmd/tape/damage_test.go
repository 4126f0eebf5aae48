package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tape/internal/store/workspace"
	"tape/internal/testkit"
)

// TestSoakDamage damages the files of a tape, runs commands, runs the commands in their hints in a shell, and
// checks that no undamaged entry is lost. In make soak, every harm is done in each working tree.
func TestSoakDamage(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole")
	mustTape(t, whole, "init", whole)
	mustTape(t, whole, "new", "other")
	fill(t, whole, "main")
	fill(t, whole, "other")
	mustTape(t, whole, "--tape", "main", "new", "base")
	mustTape(t, whole, "--tape", "base", "fork", "f")
	fill(t, whole, "base/f")
	mustTape(t, whole, "verify")
	for _, tape := range []string{"main", "other", "base/f"} {
		before := (&damagedTape{t: t, ws: whole, tape: tape}).entries()
		if len(before) != 11 {
			t.Fatalf("there are %d entries, want 11: %v", len(before), before)
		}
		for i, h := range harms() {
			if tape == "base/f" && h.closed || tape != "main" && i%testkit.Size(4, 1) != 0 {
				continue // most harms have the same effect in all working trees
			}
			t.Run(tape+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				ws := filepath.Join(t.TempDir(), "ws")
				copyWorkspace(t, whole, ws)
				d := &damagedTape{t: t, ws: ws, tape: tape, harm: h}
				d.test(before)
			})
		}
		if tape != "main" {
			t.Run(tape+"/the working tree gone", func(t *testing.T) {
				t.Parallel()
				ws := filepath.Join(t.TempDir(), "ws")
				copyWorkspace(t, whole, ws)
				h := harm{name: "gone", lost: []int{8, 9, 10, 11}, do: gone("")}
				d := &damagedTape{t: t, ws: ws, tape: tape, harm: h}
				d.test(before)
			})
		}
	}
}

// fill appends the entries that the harms damage.
func fill(t *testing.T, ws, tape string) {
	t.Helper()
	in := func(args ...string) { mustTape(t, ws, append([]string{"--tape", tape}, args...)...) }
	message := func(text string) { in("append", "--role", "user", "--text", text) }
	event := func(name string) { in("append", "--kind", "event", "--payload", `{"name":"`+name+`"}`) }
	message("two")
	message("three")
	event("four")
	in("handoff", "work")
	message("six")
	event("seven")
	in("commit")
	message("eight")
	in("append", "--kind", "tool_call", "--payload", `{"calls":[]}`)
	event("ten")
	message("eleven")
}

// copyWorkspace copies a workspace, and changes the paths that link it and its working trees. Like the first, the copy is the user's own.
func copyWorkspace(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o700)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() == "gitdir" || d.Name() == ".git" {
			raw = bytes.ReplaceAll(raw, []byte(from), []byte(to))
		}
		return os.WriteFile(dest, raw, 0o600)
	})
	if err := cmp.Or(err, workspace.Trust(to, true)); err != nil {
		t.Fatal(err)
	}
}

type damagedTape struct {
	t        *testing.T
	ws, tape string
	harm     harm
}

// run runs a command on the tape, and returns what it prints and its exit code.
func (d *damagedTape) run(args ...string) (out, said string, code int) {
	cmd := tapeIn(d.ws, append([]string{"--tape", d.tape}, args...)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run()
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func (d *damagedTape) verify() (string, int) {
	d.t.Helper()
	before := hashOf(d.t, d.ws)
	out, said, code := d.run("verify")
	if after := hashOf(d.t, d.ws); after != before {
		d.t.Errorf("verify changed files:\n%s", said)
	}
	return out + said, code
}

// hashOf returns a hash of the names and contents of all files in a folder.
func hashOf(t *testing.T, dir string) [32]byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			fmt.Fprintln(&all, path)
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(all.Bytes())
}

var hinted = regexp.MustCompile(`(?m)^tape: hint: (tape verify(?: --[a-z]+)*)`)

// follow runs the command in a hint in a shell.
func (d *damagedTape) follow(said string) (answer string, code int) {
	d.t.Helper()
	hint := hinted.FindStringSubmatch(said)
	if hint == nil {
		d.t.Fatalf("want a hint that names a command, got\n%s", said)
	}
	cmd := exec.Command("sh", "-c", hint[1])
	cmd.Env = tapeIn(d.ws).Env
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// test damages the tape. The lines of its entries were before.
func (d *damagedTape) test(before []string) {
	t := d.t
	d.harm.do(t, d.ws, d.treeDir())
	made := d.harm.made
	if !d.harm.passed {
		d.repaired(d.refused())
		if d.harm.changed > 0 {
			made++
		}
	}
	d.holds(before, made)
	for range 2 { // the first time, the repair is not committed; the second time it is
		out, code := d.verify()
		if code != 0 {
			t.Fatalf("verify exits with %d, want 0:\n%s", code, out)
		}
		if mentions := len(d.harm.lost)+made > 0; strings.Contains(out, "could not bring back") != mentions {
			t.Errorf("verify mentions lost entries: %v, want %v:\n%s", !mentions, mentions, out)
		}
		if out, said, code := d.run("append", "--text", "on we go"); code != 0 {
			t.Errorf("append exits with %d, want 0: %s%s", code, out, said)
		}
		if _, said, code := d.run("handoff", "next"); code != 0 {
			t.Errorf("handoff exits with %d, want 0: %s", code, said)
		}
	}
	d.holds(before, made+4)
}

func (d *damagedTape) treeDir() string {
	switch d.tape {
	case "main":
		return d.ws
	case "other":
		return filepath.Join(d.ws, "tapes", "other")
	}
	all, err := filepath.Glob(filepath.Join(d.ws, "forks", "base", "*"))
	if err != nil || len(all) != 1 {
		d.t.Fatalf("the working trees of forks are %v (%v), want one", all, err)
	}
	return all[0]
}

// refused checks that readers stop or return the remaining entries, that writers stop, and that verify reports
// the missing entries each time. It returns what verify says.
func (d *damagedTape) refused() (said string) {
	t := d.t
	t.Helper()
	commands := [][]string{{"log"}, {"context"}, {"export"}, {"search", "eleven"}, {"append", "--text", "more"}, {"handoff", "more"}}
	stopped := 0
	for _, args := range commands {
		if d.harm.closed && slices.Contains([]string{"append", "handoff"}, args[0]) {
			continue // writers do not look at closed phases
		}
		_, said, code := d.run(args...)
		if code != 0 && code != 6 {
			t.Errorf("%v exits with %d, want 0 or 6: %s", args, code, said)
		}
		if code == 6 {
			stopped++
			hint := hinted.FindStringSubmatch(said)
			if hint == nil {
				t.Errorf("%v: want a hint that names a command, got\n%s", args, said)
			}
		}
		if code == 0 && slices.Contains([]string{"append", "handoff"}, args[0]) {
			t.Errorf("%v succeeds on a damaged tape", args)
		}
	}
	if stopped == 0 {
		t.Error("no command reports the damage")
	}
	for range 2 {
		out, code := d.verify()
		if code != 6 {
			t.Fatalf("verify exits with %d, want 6:\n%s", code, out)
		}
		for _, id := range d.harm.lost {
			if !names(out, id) {
				t.Errorf("verify does not say that entry %d is lost:\n%s", id, out)
			}
		}
		said = out
	}
	return said
}

// names reports whether the output of verify says that an entry is missing.
func names(text string, id int) bool {
	for _, m := range regexp.MustCompile(`entr(?:y|ies) (\d+)(?: to (\d+))?, acknowledged`).FindAllStringSubmatch(text, -1) {
		var first, last int
		_, _ = fmt.Sscan(m[1], &first)
		if last = first; m[2] != "" {
			_, _ = fmt.Sscan(m[2], &last)
		}
		if first <= id && id <= last {
			return true
		}
	}
	return false
}

// repaired follows the hints, beginning with the hint in what verify said, until a repair succeeds.
func (d *damagedTape) repaired(said string) {
	t := d.t
	t.Helper()
	code := -1
	for range 3 {
		if said, code = d.follow(said); code == 0 {
			break
		}
	}
	if code != 0 {
		t.Fatalf("the last command of the hints exits with %d, want 0:\n%s", code, said)
	}
	if !strings.Contains(said, "was repaired") {
		t.Errorf("the repair says %q, want \"was repaired\"", said)
	}
	if kept := regexp.MustCompile(`from before are in (\S+)`).FindStringSubmatch(said); kept != nil {
		if _, err := os.Stat(kept[1]); err != nil {
			t.Errorf("the copy of the damaged files: %v", err)
		}
	}
}

// entries returns the lines that export prints.
func (d *damagedTape) entries() []string {
	d.t.Helper()
	out, said, code := d.run("export")
	if code != 0 {
		d.t.Fatalf("export exits with %d, want 0: %s", code, said)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// holds checks that the tape has more entries than before, that all undamaged entries are unchanged, and that
// ids have no gaps or duplicates.
func (d *damagedTape) holds(before []string, more int) {
	t := d.t
	t.Helper()
	after := d.entries()
	if len(after) != len(before)+more {
		t.Fatalf("there are %d entries, want %d: %s", len(after), len(before)+more, strings.Join(after, "\n"))
	}
	for i, line := range after {
		id := i + 1
		if !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,`, id)) {
			t.Errorf("entry %d is %s, want this id", id, line)
		}
		switch {
		case slices.Contains(d.harm.lost, id):
			if !strings.Contains(line, `"repair.lost"`) {
				t.Errorf("entry %d is %s, want repair.lost", id, line)
			}
		case i < len(before) && id != d.harm.changed && line != before[i]:
			t.Errorf("entry %d was %s and is %s", id, before[i], line)
		}
	}
}
