package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/testkit/gitjudge"
)

// Git accepts the pack of a batch, and so do we, whatever the sizes of its objects.
func TestPack(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	b := r.NewPack()
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[Hash][]byte{}
	for _, size := range []int{0, 1, 15, 16, 17, 2047, 2048, 300_000, 3 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(rng.IntN(40))
		}
		want[b.Put(KindBlob, slices.Clone(data))] = data
	}
	h := putCommit(b, 1)
	if putCommit(b, 1) != h {
		t.Error("the same commit, put twice, has two ids")
	}
	j.OK(b.Flush(ctx))
	j.OK(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/x", New: h}))
	j.OK(b.Finish(ctx))
	for h, data := range want {
		if got, err := r.Blob(h); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d of %d bytes, %v", h, len(got), len(data), err)
		}
	}
	packs, _ := filepath.Glob(filepath.Join(j.GitDir, "objects", "pack", "*.idx"))
	if len(packs) != 1 {
		t.Fatalf("there are %d packs, not 1", len(packs))
	}
	j.Git("verify-pack", packs[0])
	j.Fsck()
	if left := leftTemp(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	j.OK(r.NewPack().Flush(ctx)) // an empty one
}

// Earlier states of a file that grows cost almost nothing in a pack, and git reads each of them, also if two files have
// some states in common.
func TestPackGrown(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	b := r.NewPack()
	rng := rand.New(rand.NewPCG(3, 4))
	whole := make([]byte, 300_000)
	for i := range whole {
		whole[i] = byte(rng.Uint32())
	}
	want := map[Hash][]byte{}
	grow := func(data []byte, sizes ...int) (last Hash) {
		for _, size := range sizes {
			last = b.PutGrown(last, slices.Clone(data[:size]))
			want[last] = data[:size]
		}
		return last
	}
	b.Release(grow(whole, 1, 100, 0x1ffff, 0x20000, 299_000, 300_000))
	other := slices.Concat(whole[:100], whole[:50])
	grow(other, 100, 150)
	grow(whole, 50, 100, 200)
	h := putCommit(b, 1)
	j.OK(b.Flush(ctx))
	j.OK(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/x", New: h}))
	j.OK(b.Finish(ctx))
	for h, data := range want {
		if got, err := r.Blob(h); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d of %d bytes, %v", h, len(got), len(data), err)
		}
		if got := j.Git("cat-file", "-s", h.String()); strings.TrimSpace(got) != fmt.Sprint(len(data)) {
			t.Errorf("git: %s has %s bytes, not %d", h, got, len(data))
		}
	}
	packs, _ := filepath.Glob(filepath.Join(j.GitDir, "objects", "pack", "*.pack"))
	if st, err := os.Stat(packs[0]); err != nil || st.Size() > 310_000 {
		t.Errorf("the pack has %d bytes, %v", st.Size(), err)
	}
	j.Git("verify-pack", packs[0])
	j.Fsck()
}

// A pack that a git gc deleted, because no ref named its objects yet, is restored.
func TestPackFinishRestores(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	b := r.NewPack()
	h := putCommit(b, 7)
	j.OK(b.Flush(ctx))
	j.Git("repack", "-a", "-d")
	j.Git("prune", "--expire=now")
	if _, err := open(j, nil).Commit(h); !errors.Is(err, ErrNotFound) {
		t.Fatalf("git has left the commit: %v", err)
	}
	j.OK(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/x", New: h}))
	j.OK(b.Finish(ctx))
	j.Fsck()
	if left := leftTemp(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A pack is complete or missing, whichever operation fails, and nothing is left over.
func TestPackFaults(t *testing.T) {
	errFault := errors.New("fault")
	for n := int64(1); ; n++ {
		j := gitjudge.New(t)
		var seen atomic.Int64
		b := open(j, &disk.FS{Fault: func(disk.Op, string) error {
			if seen.Add(1) == n {
				return errFault
			}
			return nil
		}}).NewPack()
		h := putCommit(b, 1)
		err := b.Flush(context.Background())
		if err == nil {
			b.Discard() // after an error, Flush has done that
		}
		if _, got := open(j, nil).Commit(h); err == nil && got != nil {
			t.Errorf("operation %d failed, Flush returned no error, and the commit is missing: %v", n, got)
		}
		j.Git("fsck", "--strict")
		left := leftTemp(j)
		if seen.Load() < n {
			if err != nil || len(left) > 0 {
				t.Errorf("without a fault: %v, left: %v", err, left)
			}
			return
		}
		if len(left) > 1 { // the removal failed
			t.Errorf("operation %d: left: %v", n, left)
		}
	}
}
