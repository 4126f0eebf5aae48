package writer_test

//tape:race: goroutines write and read side by side

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
	"time"
)

// wantAll fails unless ids are contiguous and all acknowledged entries exist.
func wantAll(t testing.TB, entries []repo.Entry, acked map[int64]string) {
	t.Helper()
	seen := map[string]bool{}
	for i, e := range entries {
		if e.ID != int64(i+1) {
			t.Fatalf("entry %d has the id %d", i+1, e.ID)
		}
		if text := storetest.TextOf(e); seen[text] {
			t.Errorf("the tape has %q twice", text)
		} else {
			seen[text] = true
		}
	}
	for id, text := range acked {
		if id > int64(len(entries)) {
			t.Errorf("lost: id %d (%s) was acknowledged, the tape ends at %d", id, text, len(entries))
		} else if got := storetest.TextOf(entries[id-1]); got != text {
			t.Errorf("id %d was acknowledged as %q and holds %q", id, text, got)
		}
	}
}

// wantWhole fails if only a part of a batch exists.
func wantWhole(t testing.TB, entries []repo.Entry) {
	t.Helper()
	for i := 0; i < len(entries); i++ {
		name, number, ok := strings.Cut(storetest.TextOf(entries[i]), "#")
		if !ok {
			continue
		}
		for n := range batchSize {
			if i+n >= len(entries) || storetest.TextOf(entries[i+n]) != fmt.Sprintf("%s#%d", name, n) {
				t.Fatalf("the batch %s is incomplete from id %d on, where its entry %s is", name, i+1, number)
			}
		}
		i += batchSize - 1
	}
}

// TestSoakKill kills writers with SIGKILL at random moments. What they acknowledged exists, batches are complete, and
// nothing needs a repair.
func TestSoakKill(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for _, mode := range []string{"append", "batch", "handoff"} {
		s := storetest.New(t, nil)
		acked := map[int64]string{}
		kills, useful := testkit.Size(4, 100), 0
		for range kills {
			p := storetest.Start(t, s.Dir(), mode, 0)
			select {
			case <-p.First:
			case <-p.Done: // reported below
			case <-time.After(30 * time.Second):
			}
			testkit.Pause(time.Duration(rng.ExpFloat64() * float64(15*time.Millisecond)))
			if err := p.Cmd.Process.Kill(); err != nil {
				t.Fatalf("%s: the helper ended by itself: %v\n%s", mode, err, p.Errs.String())
			}
			<-p.Done
			_ = p.Cmd.Wait() // returns that it was killed
			if p.Fault != "" {
				t.Fatal(p.Fault)
			}
			for id, text := range p.Acked {
				if before, twice := acked[id]; twice {
					t.Fatalf("id %d was given to %q and to %q", id, before, text)
				}
				acked[id] = text
			}
			useful += min(1, len(p.Acked))

			// Readers first, before a writer could repair anything; then writers.
			tp := storetest.Tape(t, storetest.Reopen(t, s.Dir()), "main")
			before := storetest.Entries(t, tp, repo.Query{})
			wantAll(t, before, acked)
			wantWhole(t, before)
			if rng.IntN(4) == 0 || testkit.Soak() {
				storetest.Healthy(t, s.Dir())
				after := storetest.Entries(t, tp, repo.Query{})
				if len(after) != len(before) {
					t.Errorf("%d entries before verify, %d after it", len(before), len(after))
				}
			}
			if t.Failed() {
				t.Fatalf("after a kill of %s; the process said: %s", mode, p.Errs.String())
			}
		}
		t.Logf("%s: %d kills, %d of them after an acknowledgement, %d entries acknowledged", mode, kills, useful, len(acked))
		if useful < kills/2 {
			t.Errorf("%s: only %d of %d processes got as far as writing", mode, useful, kills)
		}
		tp := storetest.Tape(t, s, "main")
		storetest.Append(t, tp, repo.Message("user", "after all kills"))
		storetest.Handoff(t, tp, "after all kills")
		storetest.WantClean(t, s.Dir())
		storetest.WantTags(t, tp)
	}
}

// Many processes write to one tape, beside readers and git's housekeeping, and all entries come out in order.
func TestSoakConcurrent(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
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
			testkit.Pause(10 * time.Millisecond)
			return nil
		}
	}
	head := storetest.Git(t, s.Dir(), "rev-parse", "HEAD")
	var reads atomic.Int64
	loops := map[string]func() error{
		"gc":         storetest.Background(gitLoop(func(int) []string { return []string{"gc", "--quiet"} })),
		"pack-refs":  storetest.Background(gitLoop(func(int) []string { return []string{"pack-refs", "--all"} })),
		"update-ref": storetest.Background(gitLoop(func(n int) []string { return []string{"update-ref", fmt.Sprintf("refs/heads/by-hand-%d", n%5), head} })),
		"readers": storetest.Background(func() error {
			reads.Add(1)
			return readPrefix(t.Context(), s.Dir())
		}),
	}
	var all []*storetest.Process
	for range processes {
		all = append(all, storetest.Start(t, s.Dir(), "mixed", share))
	}
	acked := map[int64]string{}
	for _, p := range all {
		p.End(t)
		for id, text := range p.Acked {
			if before, twice := acked[id]; twice {
				t.Errorf("id %d was given to %q and to %q", id, before, text)
			}
			acked[id] = text
		}
	}
	// On a slow machine the writers may end first; the readers go on beside gc.
	testkit.Eventually(func() bool { return reads.Load() >= 3 })
	for name, stop := range loops {
		if err := stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(acked) != processes*share {
		t.Errorf("%d of %d entries were acknowledged", len(acked), processes*share)
	}
	tp := storetest.Tape(t, s, "main")
	entries := storetest.Entries(t, tp, repo.Query{})
	if len(entries) != 1+processes*share {
		t.Errorf("the tape has %d entries, want %d", len(entries), 1+processes*share)
	}
	wantAll(t, entries, acked)
	storetest.WantTags(t, tp)
	storetest.Checkpoint(t, tp)
	storetest.WantClean(t, s.Dir())
	t.Logf("%d reads beside %d writes", reads.Load(), len(acked))
	if reads.Load() < 3 {
		t.Errorf("only %d reads while others wrote", reads.Load())
	}
}

// readPrefix reads a tape that others write to. It fails if ids have gaps, or if a later read has fewer entries.
func readPrefix(ctx context.Context, dir string) error {
	s, err := repo.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	tp, err := s.Tape(ctx, "main")
	if err != nil {
		return err
	}
	seen := 0
	for range 5 {
		entries, err := storetest.Collect(ctx, tp, repo.Query{})
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

// Readers never see a part of a batch or handoff.
func TestSoakBatchIsNotSeenInPart(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	readers := make([]func() error, 2)
	for i := range readers {
		readers[i] = storetest.Background(func() error {
			entries, err := storetest.Collect(t.Context(), tp, repo.Query{})
			if err != nil {
				return err
			}
			// Batches of three and an anchor: a state between calls has 1 + 4n entries.
			if len(entries)%4 != 1 {
				return fmt.Errorf("a reader saw %d entries, want 1+4n", len(entries))
			}
			return nil
		})
	}
	for i := range testkit.Size(10, 600) {
		_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
			for range 3 {
				if _, err := tx.AppendEntry(t.Context(), repo.Message("user", strings.Repeat("z", rand.IntN(2000)))); err != nil {
					return err
				}
			}
			_, err := tx.Handoff(t.Context(), repo.Anchor{Name: strconv.Itoa(i)})
			return err
		})
		storetest.Must(t, err)
	}
	for _, stop := range readers {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// Git deletes every unreachable object between calls: blobs that were written ahead of a commit are written again.
func TestPruneBetweenCalls(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	prune := func() { storetest.Git(t, s.Dir(), "gc", "--quiet", "--prune=now") }
	storetest.Append(t, tp, storetest.Big(layout.SealSize, "fills the first file "))
	storetest.Append(t, tp, repo.Message("user", "opens the second"))
	loose := func() int {
		files, err := filepath.Glob(filepath.Join(s.Dir(), ".git", "objects", "??", "*"))
		storetest.Must(t, err)
		return len(files)
	}
	if loose() == 0 {
		t.Fatal("nothing to prune: the test misses its point")
	}
	prune()
	storetest.Handoff(t, tp, "after a prune")
	prune()
	var batch []repo.Draft
	for i := range 12 {
		batch = append(batch, storetest.Big(60_000, strconv.Itoa(i)))
	}
	storetest.Append(t, tp, batch...)
	prune()
	storetest.Checkpoint(t, tp)
	prune()
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	prune()
	if _, _, err := tp.Restore(t.Context(), repo.Latest); err != nil {
		t.Fatal(err)
	}
	prune()
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 1+2+1+12 {
		t.Errorf("%d entries, want 16", got)
	}
	storetest.WantClean(t, s.Dir())
}

// runWriter writes to the tape main until it is killed or done. Each line that it prints was acknowledged: "entry ID
// TEXT", or "anchor ID NAME".
func runWriter(mode string) {
	err := func() error {
		ctx := context.Background()
		s, err := repo.Open(ctx, os.Getenv(storetest.HelperDir), &repo.Options{Warn: func(m string) { fmt.Fprintln(os.Stderr, "warning:", m) }})
		if err != nil {
			return err
		}
		tp, err := s.Tape(ctx, "main")
		if err != nil {
			return err
		}
		share, err := strconv.Atoi(os.Getenv(storetest.HelperArg))
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
	t     *repo.Tape
	label string
}

func (h *helper) step(mode string, i int) error {
	name := fmt.Sprintf("%s/%d", h.label, i)
	if mode == "mixed" {
		mode = [...]string{"append", "append", "append", "artifact", "append", "append", "append", "handoff"}[i%8]
	}
	switch mode {
	case "append":
		e, err := h.t.Append(h.ctx, nil, repo.Message("user", name))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "artifact":
		a, err := h.t.AddArtifact(h.ctx, repo.Artifact{MIMEType: "text/plain"}, strings.NewReader("the content of "+name))
		if err != nil {
			return err
		}
		d := repo.Draft{Kind: repo.KindMessage, Payload: fmt.Appendf(nil, `{"role":"user","content":%q,"artifact":%s}`, name, a.Reference())}
		e, err := h.t.Append(h.ctx, nil, d)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "batch":
		// Three classes, and every few batches fill a file.
		drafts := make([]repo.Draft, batchSize)
		for n := range drafts {
			label := fmt.Sprintf("%s#%d", name, n)
			switch n % 3 {
			case 0:
				drafts[n] = repo.Draft{Kind: repo.KindMessage, Payload: jsonl.AppendString([]byte(`{"role":"user","pad":"`+strings.Repeat("y", 20_000)+`","content":`), label)}
				drafts[n].Payload = append(drafts[n].Payload, '}')
			case 1:
				drafts[n] = repo.Draft{Kind: repo.KindToolCall, Payload: append(jsonl.AppendString([]byte(`{"calls":[],"content":`), label), '}')}
			case 2:
				drafts[n] = repo.Draft{Kind: repo.KindEvent, Payload: append(jsonl.AppendString([]byte(`{"name":"n","content":`), label), '}')}
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
		made, err := h.t.Handoff(h.ctx, repo.Anchor{Name: name})
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "anchor", made.Entry, name)
	default:
		return fmt.Errorf("unknown mode %q of the helper process", mode)
	}
	return nil
}

// batchSize is how many entries a helper in mode batch appends together.
const batchSize = 12
