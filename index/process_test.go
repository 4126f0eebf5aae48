package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/index/internal/store"
	"tape/internal/testkit"
	"tape/repo"
)

// Tests start the test binary again as a helper process. testkit.HelperEnv says what the helper does, helperDir in
// which workspace, and helperArg how often (0: until it is killed).
const (
	helperDir = "TAPE_TEST_DIR"
	helperArg = "TAPE_TEST_ARG"
)

// runHelper prints a line for each step, or "failed: " and the error.
func runHelper(mode string) {
	ctx := context.Background()
	err := func() error {
		warn := func(m string) {
			if strings.Contains(m, "index") {
				fmt.Fprintln(os.Stdout, "warning:", m)
			}
		}
		s, err := repo.Open(ctx, os.Getenv(helperDir), &repo.Options{Warn: warn})
		if err != nil {
			return err
		}
		share, err := strconv.Atoi(os.Getenv(helperArg))
		if err != nil {
			return err
		}
		h := &helper{ctx: ctx, s: s, label: fmt.Sprint("p", os.Getpid())}
		fmt.Fprintln(os.Stdout, "ready")
		for i := 0; share == 0 || i < share; i++ {
			if err := h.step(mode, i); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stdout, "failed:", err)
	}
}

type helper struct {
	ctx   context.Context
	s     *repo.Store
	label string
	x     *Index // nil if no index is kept open
}

func (h *helper) step(mode string, i int) error {
	switch mode {
	case "append":
		return h.write(i)
	case "find":
		return h.find(i)
	}
	x := New(h.s, nil)
	var err error
	switch mode {
	case "sync":
		_, err = x.Sync(h.ctx)
	case "rebuild":
		_, err = x.Rebuild(h.ctx)
	case "search":
		err = h.once(x)
	default:
		err = fmt.Errorf("no helper %q", mode)
	}
	if err == nil {
		fmt.Fprintln(os.Stdout, "done", i)
	}
	return errors.Join(err, x.Close())
}

// once searches in main, and prints how many hits it found and whether the index is in memory.
func (h *helper) once(x *Index) error {
	tp, err := h.s.Tape(h.ctx, "")
	if err != nil {
		return err
	}
	res, err := x.Search(h.ctx, Search{Text: "needle", Tapes: named(tp), NoFold: true})
	if err == nil {
		fmt.Fprintln(os.Stdout, "found", len(res.Hits), "in memory", x.memory)
	}
	return err
}

// write appends a word that no other entry contains.
func (h *helper) write(i int) error {
	tp, err := h.s.Tape(h.ctx, []string{"", "other"}[i%2])
	if err != nil {
		return err
	}
	word := fmt.Sprintf("%sn%dq", h.label, i)
	if _, err := tp.Append(h.ctx, nil, repo.Message("user", "written "+word), repo.Event("usage", nil)); err != nil {
		return err
	}
	if i%5 == 4 {
		if _, err := tp.Handoff(h.ctx, repo.Anchor{Name: word}); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stdout, "wrote", word)
	return nil
}

// find appends a word and searches for it immediately, with an index that it usually keeps open.
func (h *helper) find(i int) error {
	if err := h.write(i); err != nil {
		return err
	}
	if h.x == nil {
		h.x = New(h.s, nil)
	}
	tapes, err := h.s.Tapes(h.ctx)
	if err != nil {
		return err
	}
	for n := i; n >= 0; n -= 1 + i/3 {
		word := fmt.Sprintf("%sn%dq", h.label, n)
		res, err := h.x.Search(h.ctx, Search{Text: word, Tapes: named(tapes...), Exact: true, NoFold: true})
		if err != nil {
			return err
		}
		if len(res.Hits) == 0 || !strings.Contains(string(res.Hits[len(res.Hits)-1].Raw), word) {
			return fmt.Errorf("%s was written, but is not among the %d hits", word, len(res.Hits))
		}
	}
	if i%4 == 3 {
		err = h.x.Close()
		h.x = nil
	}
	return err
}

// process is a running helper and what it has printed so far.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed at the first line
	done  chan struct{} // closed when the process's output has ended
	mu    sync.Mutex
	lines []string
}

func start(t testing.TB, dir, mode string, share int, change func(*exec.Cmd)) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), ready: make(chan struct{}), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+mode, helperDir+"="+dir, helperArg+"="+strconv.Itoa(share))
	p.cmd.Stderr = os.Stderr
	if change != nil {
		change(p.cmd)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for lines, first := bufio.NewScanner(out), true; lines.Scan(); first = false {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
			if first {
				close(p.ready)
			}
		}
	}()
	return p
}

// end waits for a process that ends on its own, and returns what it printed.
func (p *process) end(t testing.TB) []string {
	t.Helper()
	<-p.done
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("helper: %v", err)
	}
	return p.lines
}

// kill kills a process some time after it is ready, and returns how many steps it had done.
func (p *process) kill(t testing.TB, after time.Duration) int {
	t.Helper()
	select {
	case <-p.ready:
	case <-p.done:
		t.Fatal("a helper ended before it was ready")
	case <-time.After(30 * time.Second):
	}
	testkit.Pause(after)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("the helper ended by itself: %v, %v", err, p.lines)
	}
	<-p.done
	_ = p.cmd.Wait() // the error says that the process was killed
	for _, line := range p.lines {
		if strings.HasPrefix(line, "failed") {
			t.Errorf("before it was killed: %s", line)
		}
	}
	return len(p.lines) - 1
}

// TestSoakProcesses lets many processes write, search, sync and rebuild at once. Each search finds the
// entries written before it began, without errors or warnings.
func TestSoakProcesses(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	newTape(t, s, "other")
	share := testkit.Size(6, 150)
	modes := map[string]int{"append": 1, "find": 3, "sync": 1, "rebuild": 1}
	var all []*process
	for mode, n := range modes {
		for range n {
			all = append(all, start(t, s.Dir(), mode, share, nil))
		}
	}
	var words []string
	for _, p := range all {
		for _, line := range p.end(t) {
			if word, ok := strings.CutPrefix(line, "wrote "); ok {
				words = append(words, word)
			} else if !strings.HasPrefix(line, "done") && line != "ready" {
				t.Errorf("a helper printed %q, want no warning or failure", line)
			}
		}
	}
	if len(words) != 4*share {
		t.Errorf("%d words were written, want %d", len(words), 4*share)
	}
	fresh, warned := reopen(t, s.Dir())
	x := testIndex(t, fresh)
	mustSync(t, x)
	wantEqual(t, "after all", fresh.IndexFile(), rebuilt(t, fresh))
	wantSound(t, fresh.IndexFile())
	for _, word := range words {
		if res := mustSearch(t, x, Search{Text: word, Tapes: named(tapesOf(t, fresh)...), Exact: true, NoFold: true}); len(res.Hits) == 0 {
			t.Errorf("%s was written, but is not found", word)
		}
	}
	if list := warned.take(); len(list) > 0 {
		t.Errorf("got the warnings %v, want none", list)
	}
	wantNoScratch(t, fresh)
}

// TestSoakKillIndexer kills processes in the middle of a sync or rebuild. The next search is right,
// and the next build leaves nothing behind.
func TestSoakKillIndexer(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	d := &drafter{rng: rng, at: testkit.Clock()}
	tp := openTape(t, s, "")
	want := 0
	grow := func(n int) {
		drafts := make([]repo.Draft, n)
		for i := range drafts {
			drafts[i] = d.draft()
			drafts[i].Meta = nil
			if i%50 == 0 {
				drafts[i] = repo.Message("user", "needle "+d.text())
				want++
			}
		}
		mustAppend(t, tp, drafts...)
	}
	some := testkit.Size(400, 1000)
	grow(2 * some)
	mustSync(t, testIndex(t, s))
	firstStep := 0
	for i := range testkit.Size(3, 150) {
		mode := []string{"sync", "rebuild", "sync"}[i%3]
		if mode == "sync" {
			if rng.IntN(3) == 0 {
				if _, err := tp.Reset(t.Context(), false); err != nil {
					t.Fatal(err)
				}
				want = 0
			}
			grow(some + rng.IntN(some))
		}
		if p := start(t, s.Dir(), mode, 0, nil); p.kill(t, time.Duration(rng.Float64()*float64(60*time.Millisecond))) == 0 {
			firstStep++
		}
		fresh, warned := reopen(t, s.Dir())
		x := testIndex(t, fresh)
		res := mustSearch(t, x, Search{Text: "needle", Tapes: named(tapesOf(t, fresh)...), NoFold: true})
		if len(res.Hits) != want {
			t.Fatalf("after a kill of %s: %d hits, want %d", mode, len(res.Hits), want)
		}
		if list := warned.take(); len(list) > 0 {
			t.Errorf("after a kill of %s: got the warnings %v, want none", mode, list)
		}
		wantSound(t, s.IndexFile())
	}
	t.Logf("%d processes were killed in their first step", firstStep)
	wantEqual(t, "after all kills", s.IndexFile(), rebuilt(t, s))
	x := testIndex(t, s)
	if _, err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNoScratch(t, s)
}

// writingElsewhere begins a transaction as another process would, so large that a part of it is already in the
// file and readers need the journal. end rolls it back.
func writingElsewhere(t *testing.T, path string) (end func()) {
	t.Helper()
	d, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"PRAGMA cache_size = 1", "BEGIN IMMEDIATE", `INSERT INTO entries_fts_data (id, block)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT 1000000 + i, zeroblob(4000) FROM n`} {
		if err := d.Script(q); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(path + "-journal") {
		t.Fatal("the transaction has no journal: the test shows nothing")
	}
	return func() {
		if err := d.Script("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReplacedWhileOpen: while a process has the index open, another replaces it, and a third writes to the new
// file. SQLite finds a journal by name, and the process must not apply the new file's journal to the old file.
func TestReplacedWhileOpen(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	mustAppend(t, tp, repo.Message("user", "one needle"))
	q := Search{Text: "needle", Tapes: named(tp)}
	x := testIndex(t, s)
	wantIDs(t, "before", mustSearch(t, x, q).Hits, 2)

	other := testIndex(t, s)
	if _, err := other.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := writingElsewhere(t, s.IndexFile())
	done := make(chan *Result)
	go func() {
		defer close(done)
		if res, err := x.Search(t.Context(), q); err != nil {
			t.Error(err)
		} else {
			done <- res
		}
	}()
	var res *Result
	select {
	case res = <-done:
	case <-time.After(300 * time.Millisecond): // it waits for the transaction to end
	}
	if !exists(s.IndexFile() + "-journal") {
		t.Error("a reader removed the journal of the process that writes")
	}
	end()
	if res == nil {
		res = <-done
	}
	if res != nil {
		wantIDs(t, "while another process writes", res.Hits, 2)
	}
	wantSound(t, s.IndexFile())
}
