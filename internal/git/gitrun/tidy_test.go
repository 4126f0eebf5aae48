package gitrun

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// Where each session adds a pack and nobody runs gc, there are never many packs. A reader that had the
// repository open can go on, and objects that no ref names yet stay.
func TestTidy(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	packs := func() int {
		list, err := filepath.Glob(filepath.Join(ObjectsDir(r), "pack", "*.pack"))
		j.OK(err)
		return len(list)
	}
	most := 0
	var added []gitstore.Hash
	for i := range 3 * manyPacks {
		b := r.NewPack()
		h := b.Put(gitstore.KindBlob, fmt.Appendf(nil, "session %d", i))
		j.OK(b.Flush(ctx))
		b.Discard()
		added = append(added, h)
		j.OK(Tidy(ctx, r))
		most = max(most, packs())
	}
	if most != manyPacks {
		t.Errorf("%d packs at a time, not %d, of %d that were made", most, manyPacks, len(added))
	}
	for _, reader := range []*gitstore.Repo{r, open(j, nil)} {
		for i, h := range added {
			if raw, err := reader.Blob(h); err != nil || string(raw) != fmt.Sprintf("session %d", i) {
				t.Fatalf("object %d is %q, %v", i, raw, err)
			}
		}
	}
	j.Fsck()
	if left := leftovers(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// While a gc runs, Tidy leaves the packs to it.
func TestTidyBesideGC(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	for i := range manyPacks + 1 {
		b := r.NewPack()
		b.Put(gitstore.KindBlob, fmt.Appendf(nil, "%d", i))
		j.OK(b.Flush(ctx))
		b.Discard()
	}
	j.OK(r.Locks().GuardedOnce(ctx, guard(r), 0, func() error { return Tidy(ctx, r) }))
}
