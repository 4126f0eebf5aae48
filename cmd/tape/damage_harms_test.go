package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of a tape before it is damaged, with the ids of their entries. No line of tool_calls.jsonl is
// committed.
//
//	001_session-start  messages 2 3     events 4       committed
//	002_work           messages 6       events 7       committed
//	                   messages 8 11    events 10      not committed
//	                   tool_calls 9
const (
	closedDir = "anchors/001_session-start/"
	openDir   = "anchors/002_work/"
)

// harm is a way to damage a tape, and what follows from it.
type harm struct {
	name string
	do   func(t *testing.T, ws, dir string) // in the workspace ws and the working tree dir
	lost []int                              // the ids of entries that cannot be read any more
	// changed is the id of an entry whose line is still valid, but has another text; 0: none.
	changed int
	passed  bool // commands work, and nothing has to be repaired
	made    int  // how many ids a repair gives to lines that may not have been entries
	closed  bool // in a closed phase, which a fork's working tree does not have
}

func lines(f func(all []string) []string) func(string) string {
	return func(text string) string { return strings.Join(f(strings.SplitAfter(text, "\n")), "") }
}

func change(file string, f func(text string) string) func(t *testing.T, ws, dir string) {
	return func(t *testing.T, _, dir string) {
		path := filepath.Join(dir, file)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := f(string(raw))
		if text == string(raw) {
			t.Fatalf("%s was not changed: the harm does nothing", file)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func swap(file, old, with string) func(t *testing.T, ws, dir string) {
	return change(file, func(text string) string { return strings.Replace(text, old, with, 1) })
}

func add(file, text string) func(t *testing.T, ws, dir string) {
	return change(file, func(all string) string { return all + text })
}

func empty(file string) func(t *testing.T, ws, dir string) {
	return change(file, func(string) string { return "" })
}

func gone(name string) func(t *testing.T, ws, dir string) {
	return func(t *testing.T, _, dir string) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// lockFiles replaces the content of the tapes' lock files, their journals; "" removes the files.
func lockFiles(content string) func(t *testing.T, ws, dir string) {
	return func(t *testing.T, ws, _ string) {
		locks, err := filepath.Glob(filepath.Join(ws, ".git/tape/locks/*"))
		if err != nil || len(locks) == 0 {
			t.Fatalf("found the lock files %v (%v), want some", locks, err)
		}
		for _, lock := range locks {
			if content == "" {
				err = os.Remove(lock)
			} else {
				err = os.WriteFile(lock, []byte(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func git(args ...string) func(t *testing.T, ws, dir string) {
	return func(t *testing.T, _, dir string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func both(all ...func(t *testing.T, ws, dir string)) func(t *testing.T, ws, dir string) {
	return func(t *testing.T, ws, dir string) {
		for _, f := range all {
			f(t, ws, dir)
		}
	}
}

func harms() []harm {
	const messages, tools, events = openDir + "messages.jsonl", openDir + "tool_calls.jsonl", openDir + "events.jsonl"
	garbage := "what?\n"
	return []harm{
		{name: "garbage at the end", do: add(messages, garbage)},
		{name: "garbage at the end of a file without committed lines", do: add(tools, garbage)},
		{name: "garbage between lines", do: change(messages, lines(func(all []string) []string { return slices.Insert(all, 2, garbage) }))},
		{name: "garbage between committed lines", do: change(messages, lines(func(all []string) []string { return slices.Insert(all, 1, garbage) }))},
		{name: "garbage at the start", do: change(messages, func(text string) string { return garbage + text })},
		{name: "a torn line", do: add(messages, `{"id":12,"kind":"mess`), passed: true},
		{name: "a line cut off in the middle", do: swap(messages, `ight"},"meta":{},"date":"`, "\n"), lost: []int{8}},
		{name: "a byte of the structure", do: swap(messages, `{"role":"user","content":"eight`, `{"role";"user","content":"eight`), lost: []int{8}},
		{name: "a byte of a committed line", do: swap(messages, `"content":"six`, `"content";"six`)},
		{name: "a byte of a text", do: swap(messages, "eight", "eighx"), changed: 8},
		{name: "a byte of a committed text", do: swap(messages, "six", "sax")},
		{name: "a byte of the file's only line", do: swap(tools, `"kind"`, `'kind"`), lost: []int{9}},
		{name: "an id", do: swap(messages, `{"id":8,`, `{"id":9,`), lost: []int{8}},
		{name: "the last id", do: swap(messages, `{"id":11,`, `{"id":12,`), lost: []int{11}},
		{name: "the last id, much higher", do: swap(messages, `{"id":11,`, `{"id":11000000,`), lost: []int{11}},
		{name: "a committed id", do: swap(messages, `{"id":6,`, `{"id":8,`)},
		{name: "an entry twice", do: change(messages, lines(func(all []string) []string { return slices.Insert(all, 3, all[2]) }))},
		{name: "an entry in the file of another class", do: add(events, `{"id":12,"kind":"message","payload":{"role":"user","content":"x"},"meta":{},"date":"2026-11-20T09:30:00.100000+00:00"}`+"\n"), made: 1},
		{name: "lines that changed places", do: change(messages, lines(func(all []string) []string { all[1], all[2] = all[2], all[1]; return all })), lost: []int{11}},
		{name: "a line gone", do: change(messages, lines(func(all []string) []string { return slices.Delete(all, 1, 2) })), lost: []int{8}},
		{name: "the last line cut short", do: change(messages, func(text string) string { return text[:len(text)-15] }), lost: []int{11}},
		{name: "the last line gone", do: change(messages, lines(func(all []string) []string { return slices.Delete(all, 2, 3) })), lost: []int{11}},
		{name: "a file emptied", do: empty(messages), lost: []int{8, 11}},
		{name: "a file gone", do: gone(messages), lost: []int{8, 11}},
		{name: "a file gone that is not committed", do: gone(tools), lost: []int{9}},
		{name: "the open phase gone", do: gone(openDir), lost: []int{8, 9, 10, 11}},
		{name: "all phases gone", do: gone("anchors"), lost: []int{8, 9, 10, 11}},
		{name: "an anchor emptied", do: empty(openDir + "anchor.json")},
		{name: "an anchor with another byte", do: swap(openDir+"anchor.json", `"name"`, `"nane"`)},
		{name: "tape.json emptied", do: empty("tape.json")},
		{name: "tape.json gone", do: gone("tape.json")},
		{name: "the journal gone", do: lockFiles(""), passed: true},
		{name: "the journal damaged", do: lockFiles("what?\n"), passed: true},
		{name: "the journal gone, and a byte of the structure", do: both(lockFiles(""), swap(messages, `{"role":"user","content":"eight`, `{"role";"user","content":"eight`)), lost: []int{8}},
		{name: "the journal damaged, and garbage at the end", do: both(lockFiles("what?\n"), add(messages, garbage)), made: 1},
		{name: "the journal gone, and a line", do: both(lockFiles(""), change(messages, lines(func(all []string) []string { return slices.Delete(all, 1, 2) }))), lost: []int{8}},
		{name: "restored by git", do: git("restore", "--", "anchors"), lost: []int{8, 11, 10}},
		{name: "restored by git, and committed", do: both(git("restore", "--", "anchors"), git("commit", "-q", "--allow-empty", "-m", "settled")), lost: []int{8, 11, 10}},
		{name: "garbage in a closed phase", do: add(closedDir+"messages.jsonl", garbage), closed: true},
		{name: "a text in a closed phase", do: swap(closedDir+"messages.jsonl", "two", "twx"), closed: true},
		{name: "an id in a closed phase", do: swap(closedDir+"messages.jsonl", `{"id":3,`, `{"id":4,`), closed: true},
		{name: "a file of a closed phase emptied", do: empty(closedDir + "messages.jsonl"), closed: true},
		{name: "a file of a closed phase gone", do: gone(closedDir + "events.jsonl"), closed: true},
		{name: "a closed phase gone", do: gone(closedDir), closed: true},
		{name: "an anchor of a closed phase damaged", do: empty(closedDir + "anchor.json"), closed: true},
		{name: "a file too many in a closed phase", closed: true, do: func(t *testing.T, _, dir string) {
			if err := os.WriteFile(filepath.Join(dir, closedDir, "tool_calls.jsonl"), []byte(garbage), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
}
