package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// killed is a copy of a workspace at one moment, and what was visible outside of it.
type killed struct {
	dir     string
	started int      // how many tools had begun
	results []string // the tools' results that were shown
}

// TestKill copies the workspace before each disk operation of a turn, as kill -9 would leave it at
// that moment, and repeats the turn on each copy: nothing is recorded twice, no recorded call of a
// tool runs again, nothing that was shown is lost, and the turn ends.
func TestKill(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int, r models.Request) hooks.Stream
		text   string
	}{
		"tools":    {killScript, "work"},
		"overflow": {killOverflow, "work"},
		"command":  {killScript, ",count text=x"},
		"subagent": {killSubagent, "work"},
		"delegate": {killSubagent, ",subagent prompt='the task'"},
		"steering": {killScript, "work"},
	} {
		t.Run(name, func(t *testing.T) { killEach(t, c.answer, c.text, name == "steering") })
	}
}

// The models of these tests decide by their messages, as real ones do.

func killScript(_ int, r models.Request) hooks.Stream {
	switch all := sent(r); {
	case !strings.Contains(all, `"c1"`):
		return says("One. ", `c1 count {"text":"1"}`, `c2 count {"text":"2"}`)
	case !strings.Contains(all, `"c3"`):
		return says("Two. ", `c3 count {"text":"3"}`)
	}
	return says("Three.")
}

func killOverflow(n int, r models.Request) hooks.Stream {
	switch all := sent(r); {
	case strings.Contains(all, autoHandoff):
		return says("Three.")
	case !strings.Contains(all, `"c1"`):
		return says("", `c1 count {"text":"1"}`)
	}
	return fails("", errLong)
}

func killSubagent(n int, r models.Request) hooks.Stream {
	switch all := sent(r); {
	case !strings.Contains(all, "work"):
		if !strings.Contains(all, `"s1"`) {
			return says("", `s1 count {"text":"s"}`)
		}
		return says("done by the subagent")
	case !strings.Contains(all, `"c1"`):
		return says("", `c1 subagent {"prompt":"the task"}`)
	}
	return says("Three.")
}

func killEach(t *testing.T, answer func(n int, r models.Request) hooks.Stream, text string, steered bool) {
	dir := filepath.Join(t.TempDir(), "ws")
	if _, _, err := repo.Init(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	open := func(fsys *disk.FS, run *counter) *host {
		s, err := repo.Open(t.Context(), dir, &repo.Options{Fs: fsys})
		if err != nil {
			t.Fatal(err)
		}
		return newHost(t, s, answer, with(run.tool()))
	}
	first := open(nil, &counter{})
	first.mustTurn("before", ",help")

	var moments []killed
	var mu sync.Mutex
	run := &counter{}
	var h *host
	step := testkit.Size(19, 1)
	n := 0
	h = open(&disk.FS{Fault: func(disk.Op, string) error {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%step == 0 {
			k := killed{dir: filepath.Join(t.TempDir(), "copy"), started: run.count()}
			h.see(func() {
				for _, e := range h.events {
					if e.Kind == hooks.EventToolResult {
						k.results = append(k.results, fmt.Sprint(e.Data["content"]))
					}
				}
			})
			storetest.CopyTree(t, dir, k.dir)
			moments = append(moments, k)
		}
		return nil
	}}, run)
	if steered {
		run.ran = func() {
			if err := h.steer("s1", "hurry"); err != nil {
				t.Error(err)
			}
		}
	}
	want := h.mustTurn("m", text).Output
	t.Logf("%d moments of %d", len(moments), n)
	for i, k := range moments {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		storetest.CopyTree(t, k.dir, dir) // to the same path, which linked working trees name
		again := &counter{}
		h := open(nil, again)
		r, err := h.turn(t.Context(), "m", text)
		if err != nil {
			t.Fatalf("moment %d: %v", i, err)
		}
		if r.Output != want && !strings.Contains(r.Output, "the program ended while this ran") {
			t.Errorf("moment %d: the answer is %q, want %q", i, r.Output, want)
		}
		h.mustTurn("m", text)
		if steered { // the channel sends the message again, because it does not know whether a turn has read it
			h.mustTurn("s1", "hurry")
			h.mustTurn("s1", "hurry")
		}
		h.wantOnce(i, k)
		h.mustTurn("after", ",help")
		if i%5 == 0 {
			healthy(t, dir)
		}
		if t.Failed() {
			var tape []string
			for _, e := range h.entries() {
				tape = append(tape, fmt.Sprintf("%s  %s", brief(e), e.Meta))
			}
			t.Fatalf("moment %d: tools %d, then %d; shown %q; the tape has\n%s", i, k.started, again.count(), k.results, strings.Join(tape, "\n"))
		}
	}
	healthy(t, dir)
}

// wantOnce checks that the tape has nothing of the turn twice, and every result that was shown.
func (h *host) wantOnce(moment int, k killed) {
	h.t.Helper()
	seen := map[string]int{}
	var results []string
	for _, e := range h.entries() {
		var m meta
		if err := json.Unmarshal(e.Meta, &m); err != nil {
			h.t.Fatal(err)
		}
		if m.turn() == "before" || e.Kind == repo.KindAnchor {
			continue
		}
		name, data := eventOf(e)
		switch {
		case e.Kind == repo.KindToolResult:
			seen["result of "+strings.Join(m.CallIDs, " ")]++
			results = append(results, brief(e)[len("result "):])
		case name == eventStep:
			seen[fmt.Sprintf("%s step %d", m.MessageID, data.Step)]++
		case name == eventCommand:
			seen["command "+data.Status]++
		case name == eventRun:
			seen["run "+m.RunID]++
		case !m.Again:
			seen[m.MessageID+" "+brief(e)]++
		}
	}
	for what, n := range seen {
		if n > 1 {
			h.t.Errorf("moment %d: %d times: %s", moment, n, what)
		}
	}
	for _, r := range k.results {
		if !slices.Contains(results, r) {
			h.t.Errorf("moment %d: the tape lost the result %q", moment, r)
		}
	}
	forks, err := h.store.Forks(context.Background())
	if err != nil || len(forks) > 0 {
		h.t.Errorf("moment %d: %d forks are left, %v", moment, len(forks), err)
	}
}

// counter counts how often a tool began.
type counter struct {
	mu  sync.Mutex
	n   int
	ran func() // called when it runs for the first time
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) tool() hooks.Tool {
	return tool("count", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, func(_ context.Context, arguments string) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n++; c.n == 1 && c.ran != nil {
			c.ran()
		}
		return "counted " + arguments, nil
	})
}
