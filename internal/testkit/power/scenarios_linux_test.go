//go:build extra

package power

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scenario is a series of steps in which the power is cut, alone or with other writers at the same time.
type scenario struct {
	name  string
	alone bool     // no other writers, which would change what check sees
	setup []string // commands to run before
	steps func(w *world) []step
	check func(w *world) // checks what else must be true afterwards
}

func scenarios() []scenario {
	series := func(makes ...func(*world) step) func(*world) []step {
		return func(w *world) (out []step) {
			for _, m := range makes {
				out = append(out, m(w))
			}
			return out
		}
	}
	plain := func(args ...string) func(*world) step {
		return func(*world) step { return step{args: args, again: []int{}} }
	}
	return []scenario{
		{name: "append", steps: series(appendOne, appendOne)},
		{name: "batch", steps: series(appendBatch)},
		{name: "stream", steps: series(appendStream)},
		{name: "handoff", steps: series(handoff), check: committed},
		{name: "checkpoint", steps: series(appendOne, checkpoint), check: committed},
		{name: "new", steps: series(newTape), check: readable("fresh-here")},
		{name: "fork", steps: series(fork), check: readable("main/try-new")},
		{name: "merge", steps: series(mergeFork)},
		{name: "discard", steps: series(discard)},
		{name: "import", steps: series(importFile)},
		{name: "index", steps: series(appendOne, plain("search", "beginning"), plain("index", "rebuild"))},
		{name: "gc", steps: series(plain("gc", "--all-worktrees"))},
		{name: "purge", setup: leaky(), steps: series(purge), check: (*world).noSecret},
		{name: "reset", steps: series(reset)},
		{name: "restore", steps: series(restore)},
		{name: "clone", alone: true, steps: series(clone), check: cloned},
		{name: "init", alone: true, steps: series(initialize), check: initialized},
		{name: "fetch", steps: series(plain("fetch")), check: fetched},
		{name: "pull", steps: series(pull)},
		{name: "push", steps: series(push)},
		{name: "config", steps: series(plain("switch", "other"), plain("config", "commit", "3"))},
	}
}

func appendOne(w *world) step {
	text, tape := w.text(), "main"
	var p *promise
	return step{
		args:  []string{"append", "--tape", tape, "--text", text + " at the beginning"},
		begin: func() { p = w.expect(tape, text) },
		acked: func() { p.kept = true },
	}
}

// lines returns entries of all three classes, for append --stdin.
func (w *world) lines(n, size int) (texts []string, input string) {
	var b strings.Builder
	for i := range n {
		text := w.text()
		texts = append(texts, text)
		payload := fmt.Sprintf(`{"role":"user","content":%q}`, text+strings.Repeat(" and so on", size/10))
		kind := "message"
		switch i % 3 {
		case 1:
			kind, payload = "tool_result", fmt.Sprintf(`{"results":[%q]}`, text+" "+strings.Repeat("y", size))
		case 2:
			kind, payload = "event", fmt.Sprintf(`{"name":"n","data":{"t":%q}}`, text)
		}
		fmt.Fprintf(&b, `{"kind":%q,"payload":%s}`+"\n", kind, payload)
	}
	return texts, b.String()
}

func (w *world) stream(n, size int) step {
	texts, input := w.lines(n, size)
	var p *promise
	return step{
		args: []string{"append", "--tape", "main", "--stdin"}, stdin: input,
		begin: func() { p = w.expect("main", texts...) },
		acked: func() { p.kept = true },
	}
}

func appendBatch(w *world) step { return w.stream(7, 20) }

// appendStream appends so much that files become full.
func appendStream(w *world) step { return w.stream(120, 8000) }

func handoff(w *world) step {
	text := w.text()
	var p *promise
	var before []string
	return step{
		args:  []string{"handoff", "--tape", "main", text, "--summary", "so far"},
		begin: func() { before, p = w.keptTexts(), w.expect("main", text) },
		acked: func() { p.kept, w.committed = true, append(append(w.committed, before...), text) },
	}
}

func checkpoint(w *world) step {
	var before []string
	return step{
		args: []string{"commit", "--tape", "main"}, again: []int{},
		begin: func() { before = w.keptTexts() }, acked: func() { w.committed = append(w.committed, before...) },
	}
}

// keptTexts returns the acknowledged texts of the main tape.
func (w *world) keptTexts() (out []string) {
	w.acks.Lock()
	defer w.acks.Unlock()
	for _, p := range w.promised("main") {
		if p.kept {
			out = append(out, p.texts...)
		}
	}
	return out
}

// committed fails unless git has all texts whose commit was acknowledged.
func committed(w *world) {
	for _, text := range w.committed {
		w.must("git", "-C", w.workspace(), "grep", "-q", text, "tape/main", "--")
	}
}

// readable fails unless a tape exists.
func readable(tape string) func(*world) {
	return func(w *world) { w.must("tape", "log", "--tape", tape) }
}

func newTape(*world) step {
	return step{args: []string{"new", "fresh-here"}, again: []int{4}}
}

func fork(*world) step {
	return step{args: []string{"fork", "--tape", "main", "try-new", "--at", "@3"}, again: []int{4}}
}

func mergeFork(w *world) step {
	move := func(tapes ...string) func() {
		return func() {
			for _, p := range w.promised("main/try-a") {
				p.tapes = tapes
			}
		}
	}
	return step{
		args: []string{"merge", "--tape", "main", "try-a"}, again: []int{3},
		begin: move("main/try-a", "main"), acked: move("main"),
	}
}

func discard(w *world) step {
	return step{
		args: []string{"discard", "--tape", "main", "try-b", "--yes"}, again: []int{3},
		begin: func() { w.doubt("main/try-b") }, acked: func() { w.undone("main/try-b") },
	}
}

func importFile(w *world) step {
	texts, input := w.lines(40, 200)
	file := filepath.Join(w.out, "session.jsonl")
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(input), "\n") {
		fmt.Fprintf(&b, `{"id":%d,%s,"meta":{},"date":"2026-11-20T09:30:00.123456+00:00"}`+"\n", i+1, strings.TrimSuffix(strings.TrimPrefix(line, "{"), "}"))
	}
	var p *promise
	return step{
		args: []string{"import", "bub", file, "--tape", "brought"}, again: []int{},
		begin: func() {
			if p == nil {
				p = w.expect("brought", texts...)
			}
			if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
		acked: func() { p.kept = true },
	}
}

// secret returns a secret that tape's scanner finds. It is made of two parts, so that no scanner takes this
// file for a leak.
func secret() string { return "AK" + "IAQ7Z2M5T4W3X6V2YP" }

// leaky returns commands that make a tape with the secret.
func leaky() []string {
	return strings.Split(strings.ReplaceAll(`new leaky
append --tape leaky --text SECRET~is~the~key~of~zqleak
handoff --tape leaky step
fork --tape leaky inside
append --tape leaky --text SECRET~again,~zqleaks`, "SECRET", secret()), "\n")
}

func purge(w *world) step {
	what := []string{"@2", "--rule=all"}[w.rng.IntN(2)]
	return step{
		args: []string{"purge", "--tape", "leaky", what, "--yes"}, again: []int{3}, acked: w.noSecret,
		begin: func() {
			if len(w.promised("leaky")) == 0 {
				w.expect("leaky", "zqleak", "zqleaks").kept = true
			}
		},
	}
}

// reset archives the history of a tape, and starts the tape again.
func reset(w *world) step {
	return step{
		args:  []string{"reset", "--tape", "old", "--archive", "--yes"},
		begin: func() { w.doubt("old") }, acked: func() { w.undone("old") },
	}
}

func restore(w *world) step {
	return step{
		args:  []string{"restore", "--tape", "old", "latest"},
		begin: func() { w.doubt("old") },
		acked: func() {
			w.undone("old")
			w.expect("old", "zqarchived").kept = true
		},
	}
}

func (w *world) cloneDir() string { return filepath.Join(w.disk.dir, "clone") }

func clone(w *world) step {
	return step{args: []string{"clone", w.url, w.cloneDir()}, again: []int{1, 2, 4}}
}

// cloned fails unless there is a complete clone, whatever the last command said.
func cloned(w *world) {
	w.must("tape", "--workspace", w.cloneDir(), "verify")
	w.must("git", "-C", w.cloneDir(), "fsck", "--strict", "--no-dangling")
	if got, want := w.must("git", "-C", w.cloneDir(), "rev-parse", "tape/main"), w.must("git", "-C", w.bare, "rev-parse", "tape/main"); got != want {
		w.fail("broken: the clone has %s, the remote %s", got, want)
	}
}

func initialize(w *world) step {
	return step{args: []string{"init", filepath.Join(w.disk.dir, "another")}, again: []int{}}
}

func initialized(w *world) {
	w.must("tape", "--workspace", filepath.Join(w.disk.dir, "another"), "verify")
}

// fetched fails unless the workspace knows the commit of the remote.
func fetched(w *world) {
	here := w.must("git", "-C", w.workspace(), "rev-parse", "refs/tape/remotes/origin/heads/tape/main")
	if there := w.must("git", "-C", w.bare, "rev-parse", "tape/main"); here != there {
		w.fail("lost: the remote has %s, but the workspace fetched %s", there, here)
	}
}

func pull(w *world) step {
	return step{args: []string{"pull"}, again: []int{}, acked: func() {
		w.expect("main", "zqbobmain").kept = true
		w.expect("fresh", "zqbobfresh").kept = true
		w.expect("main/bobs", "zqbobfork").kept = true
	}}
}

// push pushes a tape that has not diverged. Afterwards the remote has all of it.
func push(w *world) step {
	return step{args: []string{"push", "--tape", "other"}, again: []int{}, acked: func() {
		w.must("git", "-C", w.bare, "grep", "-q", "zqunpushed", "tape/other", "--")
		w.remoteIsWhole()
	}}
}
