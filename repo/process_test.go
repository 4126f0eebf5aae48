package repo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"testing"
	"time"
)

// The test binary is also the program of the processes that tests start.
// testkit.HelperEnv names what the process does, helperDir where, helperArg how much of it.
const (
	helperDir = "TAPE_TEST_DIR"
	helperArg = "TAPE_TEST_ARG"
)

// runHelper writes to the tape main until it is killed or has done its share. Each line
// that it prints was acknowledged: "entry ID TEXT", or "anchor ID NAME".
func runHelper(mode string) {
	if strings.HasPrefix(mode, "fork-") {
		runForkHelper(mode)
		return
	}
	if mode == "scarce" {
		runScarce()
		return
	}
	err := func() error {
		ctx := context.Background()
		s, err := Open(ctx, os.Getenv(helperDir), &Options{Warn: func(m string) { fmt.Fprintln(os.Stderr, "warning:", m) }})
		if err != nil {
			return err
		}
		tp, err := s.Tape(ctx, "main")
		if err != nil {
			return err
		}
		share, err := strconv.Atoi(os.Getenv(helperArg))
		if err != nil {
			return err
		}
		h := &helper{ctx: ctx, t: tp, label: fmt.Sprintf("p%d-%d", os.Getpid(), time.Now().UnixNano())}
		for i := 0; share == 0 || i < share; i++ {
			if err := h.step(mode, i); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		fmt.Fprintln(os.Stdout, "failed")
	}
}

type helper struct {
	ctx   context.Context
	t     *Tape
	label string
}

func (h *helper) step(mode string, i int) error {
	name := fmt.Sprintf("%s/%d", h.label, i)
	if mode == "mixed" {
		mode = [...]string{"append", "append", "append", "artifact", "append", "append", "append", "handoff"}[i%8]
	}
	switch mode {
	case "append":
		e, err := h.t.Append(h.ctx, nil, Message("user", name))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "artifact":
		a, err := h.t.AddArtifact(h.ctx, Artifact{MIMEType: "text/plain"}, strings.NewReader("the content of "+name))
		if err != nil {
			return err
		}
		d := Draft{Kind: KindMessage, Payload: fmt.Appendf(nil, `{"role":"user","content":%q,"artifact":%s}`, name, a.Reference())}
		e, err := h.t.Append(h.ctx, nil, d)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "batch":
		// Three classes, and every few batches a file is filled.
		drafts := make([]Draft, batchSize)
		for n := range drafts {
			label := fmt.Sprintf("%s#%d", name, n)
			switch n % 3 {
			case 0:
				drafts[n] = Draft{Kind: KindMessage, Payload: jsonl.AppendString([]byte(`{"role":"user","pad":"`+strings.Repeat("y", 20_000)+`","content":`), label)}
				drafts[n].Payload = append(drafts[n].Payload, '}')
			case 1:
				drafts[n] = Draft{Kind: KindToolCall, Payload: append(jsonl.AppendString([]byte(`{"calls":[],"content":`), label), '}')}
			case 2:
				drafts[n] = Draft{Kind: KindEvent, Payload: append(jsonl.AppendString([]byte(`{"name":"n","content":`), label), '}')}
			}
		}
		entries, err := h.t.Append(h.ctx, nil, drafts...)
		if err != nil {
			return err
		}
		var b strings.Builder
		for n, e := range entries {
			fmt.Fprintf(&b, "entry %d %s#%d\n", e.ID, name, n)
		}
		fmt.Fprint(os.Stdout, b.String())
	case "handoff":
		made, err := h.t.Handoff(h.ctx, Anchor{Name: name})
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "anchor", made.Entry, name)
	default:
		return fmt.Errorf("no helper %q", mode)
	}
	return nil
}

const batchSize = 12

// process is a running helper and what it has acknowledged so far.
type process struct {
	cmd   *exec.Cmd
	acked map[int64]string // entry id to "kind text"
	done  chan struct{}    // closed when its output has ended
	first chan struct{}    // closed at the first acknowledgement
	fault string
	errs  strings.Builder
}

func start(t testing.TB, dir, mode string, share int) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), acked: map[int64]string{}, done: make(chan struct{}), first: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+mode, helperDir+"="+dir, helperArg+"="+strconv.Itoa(share))
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a torn line was not acknowledged
			}
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			id, text, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				p.fault = "unexpected output: " + line
				continue
			}
			if len(p.acked) == 0 {
				close(p.first)
			}
			if before, twice := p.acked[n]; twice {
				p.fault = fmt.Sprintf("id %d was given to %q and to %q", n, before, text)
			}
			p.acked[n] = kind + " " + text
		}
	}()
	return p
}

// end waits for a process that goes by itself.
func (p *process) end(t testing.TB) {
	t.Helper()
	<-p.done
	if err := p.cmd.Wait(); err != nil || p.fault != "" {
		t.Errorf("helper: %v, %s\n%s", err, p.fault, p.errs.String())
	}
}

// textOf gives an entry as the helpers acknowledge it.
func textOf(e Entry) string {
	if e.Kind == KindAnchor {
		return "anchor " + e.Anchor
	}
	return "entry " + jsonl.GetString(e.Payload, "content")
}

// wantAll fails unless ids are contiguous and all acknowledged entries are there.
func wantAll(t testing.TB, entries []Entry, acked map[int64]string) {
	t.Helper()
	seen := map[string]bool{}
	for i, e := range entries {
		if e.ID != int64(i+1) {
			t.Fatalf("entry %d has the id %d", i+1, e.ID)
		}
		if text := textOf(e); seen[text] {
			t.Errorf("%q is there twice", text)
		} else {
			seen[text] = true
		}
	}
	for id, text := range acked {
		if id > int64(len(entries)) {
			t.Errorf("lost: id %d (%s) was acknowledged, the tape ends at %d", id, text, len(entries))
		} else if got := textOf(entries[id-1]); got != text {
			t.Errorf("id %d was acknowledged as %q and holds %q", id, text, got)
		}
	}
}

// wantWhole fails when a part of a batch is there.
func wantWhole(t testing.TB, entries []Entry) {
	t.Helper()
	for i := 0; i < len(entries); i++ {
		name, number, ok := strings.Cut(textOf(entries[i]), "#")
		if !ok {
			continue
		}
		for n := range batchSize {
			if i+n >= len(entries) || textOf(entries[i+n]) != fmt.Sprintf("%s#%d", name, n) {
				t.Fatalf("the batch %s is there in part: at id %d is its %s", name, i+1, number)
			}
		}
		i += batchSize - 1
	}
}

// TestSoakKill kills writers with SIGKILL at random moments. What they acknowledged is
// there, batches are whole, and nobody has to repair anything.
func TestSoakKill(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for _, mode := range []string{"append", "batch", "handoff"} {
		s := testStore(t, nil)
		acked := map[int64]string{}
		kills, useful := testkit.Size(4, 100), 0
		for range kills {
			p := start(t, s.Dir(), mode, 0)
			select {
			case <-p.first:
			case <-p.done: // reported below
			case <-time.After(30 * time.Second):
			}
			time.Sleep(time.Duration(rng.ExpFloat64() * float64(15*time.Millisecond)))
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatalf("%s: the helper ended by itself: %v\n%s", mode, err, p.errs.String())
			}
			<-p.done
			_ = p.cmd.Wait() // says that it was killed
			if p.fault != "" {
				t.Fatal(p.fault)
			}
			for id, text := range p.acked {
				if before, twice := acked[id]; twice {
					t.Fatalf("id %d was given to %q and to %q", id, before, text)
				}
				acked[id] = text
			}
			useful += min(1, len(p.acked))

			// Readers first, before any writer could put things right; then writers.
			tp := openTape(t, reopen(t, s.Dir()), "main")
			before := entriesOf(t, tp, Query{})
			wantAll(t, before, acked)
			wantWhole(t, before)
			if rng.IntN(4) == 0 || testkit.Soak() {
				verified(t, s.Dir())
				after := entriesOf(t, tp, Query{})
				if len(after) != len(before) {
					t.Errorf("%d entries before verify, %d after it", len(before), len(after))
				}
			}
			if t.Failed() {
				t.Fatalf("after a kill of %s; the process said: %s", mode, p.errs.String())
			}
		}
		t.Logf("%s: %d kills, %d of them after an acknowledgement, %d entries acknowledged", mode, kills, useful, len(acked))
		if useful < kills/2 {
			t.Errorf("%s: only %d of %d processes got as far as writing", mode, useful, kills)
		}
		tp := openTape(t, s, "main")
		mustAppend(t, tp, Message("user", "after all kills"))
		mustHandoff(t, tp, "after all kills")
		wantClean(t, s.Dir())
		wantTags(t, tp)
	}
}

// wantTags fails unless every phase has its tag.
func wantTags(t testing.TB, tp *Tape) {
	t.Helper()
	phases, err := tp.Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range phases {
		if p.Tag == "" || p.Commit == "" {
			t.Errorf("phase %d %s has no tag", p.Seq, p.Name)
		}
	}
}

// background runs f again and again until the returned function is called.
func background(f func() error) (stop func() error) {
	quit, result := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-quit:
				result <- nil
				return
			default:
				err = f()
			}
		}
		result <- err
	}()
	return sync.OnceValue(func() error { close(quit); return <-result })
}

// TestSoakConcurrent has many processes write to one tape, beside git's housekeeping and
// readers, and all of it comes out in order.
func TestSoakConcurrent(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	const processes = 8
	share := testkit.Size(10, 200)
	gitLoop := func(args func(n int) []string) func() error {
		n := 0
		return func() error {
			n++
			out, err := exec.Command("git", append([]string{"-C", s.Dir()}, args(n)...)...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("git %v: %w\n%s", args(n), err, out)
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		}
	}
	head := runGit(t, s.Dir(), "rev-parse", "HEAD")
	var reads atomic.Int64
	loops := map[string]func() error{
		"gc":         background(gitLoop(func(int) []string { return []string{"gc", "--quiet"} })),
		"pack-refs":  background(gitLoop(func(int) []string { return []string{"pack-refs", "--all"} })),
		"update-ref": background(gitLoop(func(n int) []string { return []string{"update-ref", fmt.Sprintf("refs/heads/by-hand-%d", n%5), head} })),
		"readers": background(func() error {
			reads.Add(1)
			return readPrefix(t.Context(), s.Dir())
		}),
	}
	var all []*process
	for range processes {
		all = append(all, start(t, s.Dir(), "mixed", share))
	}
	acked := map[int64]string{}
	for _, p := range all {
		p.end(t)
		for id, text := range p.acked {
			if before, twice := acked[id]; twice {
				t.Errorf("id %d was given to %q and to %q", id, before, text)
			}
			acked[id] = text
		}
	}
	// On a slow machine the writers may be done first; the readers go on beside gc.
	for deadline := time.Now().Add(20 * time.Second); reads.Load() < 3 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	for name, stop := range loops {
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(acked) != processes*share {
		t.Errorf("%d of %d entries were acknowledged", len(acked), processes*share)
	}
	tp := openTape(t, s, "main")
	entries := entriesOf(t, tp, Query{})
	if len(entries) != 1+processes*share {
		t.Errorf("the tape has %d entries, want %d", len(entries), 1+processes*share)
	}
	wantAll(t, entries, acked)
	wantTags(t, tp)
	mustCheckpoint(t, tp)
	wantClean(t, s.Dir())
	t.Logf("%d reads beside %d writes", reads.Load(), len(acked))
	if reads.Load() < 3 {
		t.Errorf("only %d reads while others wrote", reads.Load())
	}
}

// readPrefix reads a tape that others write to: whatever is there has no gap, and what
// was there before is there still.
func readPrefix(ctx context.Context, dir string) error {
	s, err := Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	tp, err := s.Tape(ctx, "main")
	if err != nil {
		return err
	}
	seen := 0
	for range 5 {
		entries, err := collect(ctx, tp, Query{})
		if err != nil {
			return err
		}
		for i, e := range entries {
			if e.ID != int64(i+1) {
				return fmt.Errorf("entry %d has the id %d", i+1, e.ID)
			}
		}
		if len(entries) < seen {
			return fmt.Errorf("there were %d entries, now %d", seen, len(entries))
		}
		seen = len(entries)
		if _, err := tp.Phases(ctx); err != nil {
			return err
		}
		if info, err := tp.Info(ctx); err != nil || info.Entries < int64(seen) {
			return errors.Join(err, fmt.Errorf("info counts %d entries, there are %d", info.Entries, seen))
		}
	}
	return nil
}

// TestBatchIsNotSeenInPart has readers look on while batches and handoffs are written.
func TestSoakBatchIsNotSeenInPart(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	readers := make([]func() error, 2)
	for i := range readers {
		readers[i] = background(func() error {
			entries, err := collect(t.Context(), tp, Query{})
			if err != nil {
				return err
			}
			// Batches of three and an anchor: a state between calls has 1 + 4n entries.
			if len(entries)%4 != 1 {
				return fmt.Errorf("a reader saw %d entries", len(entries))
			}
			return nil
		})
	}
	for i := range testkit.Size(10, 600) {
		_, err := tp.Update(t.Context(), func(tx *Tx) error {
			for range 3 {
				if _, err := tx.AppendEntry(t.Context(), Message("user", strings.Repeat("z", rand.IntN(2000)))); err != nil {
					return err
				}
			}
			_, err := tx.Handoff(t.Context(), Anchor{Name: strconv.Itoa(i)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, stop := range readers {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestPruneBetweenCalls has git throw away every object that no ref reaches: what was
// written ahead of a commit is written again.
func TestPruneBetweenCalls(t *testing.T) {
	t.Parallel()
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	prune := func() { runGit(t, s.Dir(), "gc", "--quiet", "--prune=now") }
	mustAppend(t, tp, big(layout.SealSize, "fills the first file "))
	mustAppend(t, tp, Message("user", "opens the second"))
	loose := func() int {
		files, err := filepath.Glob(filepath.Join(s.Dir(), ".git", "objects", "??", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if loose() == 0 {
		t.Fatal("nothing to prune: the test misses its point")
	}
	prune()
	mustHandoff(t, tp, "after a prune")
	prune()
	var batch []Draft
	for i := range 12 {
		batch = append(batch, big(60_000, strconv.Itoa(i)))
	}
	mustAppend(t, tp, batch...)
	prune()
	mustCheckpoint(t, tp)
	prune()
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	prune()
	if _, _, err := tp.Restore(t.Context(), Latest); err != nil {
		t.Fatal(err)
	}
	prune()
	if got := len(entriesOf(t, tp, Query{})); got != 1+2+1+12 {
		t.Errorf("%d entries, want 16", got)
	}
	wantClean(t, s.Dir())
}
