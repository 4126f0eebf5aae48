package audit_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// incomingStore makes a workspace with a tape of about the given size and number of handoffs, packed as after a
// fetch.
func incomingStore(t testing.TB, bytes, handoffs int) *repo.Store {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	tp := storetest.Tape(t, s, "main")
	words := strings.Fields("the store opens its branch and reads every phase before an anchor is written so that nothing is lost when it stops")
	rng := rand.New(rand.NewPCG(1, 2))
	prose := func() string {
		var b strings.Builder
		for b.Len() < 900 {
			fmt.Fprintf(&b, "%s %x ", words[rng.IntN(len(words))], rng.IntN(1<<20))
		}
		return b.String()
	}
	for i := range handoffs {
		var drafts []repo.Draft
		for n := 0; n < bytes/handoffs; n += 1100 {
			drafts = append(drafts, repo.Message("user", prose()))
		}
		storetest.Append(t, tp, drafts...)
		storetest.Handoff(t, tp, fmt.Sprintf("phase-%d", i))
	}
	storetest.Git(t, s.Dir(), "gc", "-q")
	return storetest.Reopen(t, s.Dir())
}

// BenchmarkIncoming is the cost of checking a tape in a clone.
func BenchmarkIncoming(b *testing.B) {
	sizes := []struct{ bytes, handoffs int }{{4 << 20, 20}, {1 << 20, 1000}}
	if testkit.Soak() {
		sizes = append(sizes, struct{ bytes, handoffs int }{400 << 20, 100}, struct{ bytes, handoffs int }{10 << 20, 10_000})
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dMB-%d", size.bytes>>20, size.handoffs), func(b *testing.B) {
			s := incomingStore(b, size.bytes, size.handoffs)
			tp := storetest.Tape(b, s, "main")
			head, err := storetest.InnerTape(tp).Head()
			storetest.Must(b, err)
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				s := storetest.Reopen(b, s.Dir())
				storetest.Must(b, audit.NewIncomingCheck(storetest.Inner(s)).Check(b.Context(), layout.Incoming{Ref: storetest.InnerTape(tp).Ref(), New: head}))
			}
		})
	}
}
