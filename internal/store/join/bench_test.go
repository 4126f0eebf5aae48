package join_test

import (
	"fmt"
	"strings"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// The cost of a fork, ten entries and a merge must not depend on the length of the tape, whether in one long
// phase or in many short ones.
func BenchmarkForkMerge(b *testing.B) {
	for _, size := range []struct{ entries, phases int }{{1_000, 1}, {1_000_000, 1}, {1_000_000, 1_000}} {
		b.Run(fmt.Sprintf("%d-in-%d", size.entries, size.phases), func(b *testing.B) {
			s, _, err := repo.Init(b.Context(), b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			m := storetest.Tape(b, s, "main")
			line := []byte(`{"kind":"message","payload":{"role":"user","content":"` + strings.Repeat("lorem ipsum ", 30) + `"}}`)
			if _, err := m.Update(b.Context(), func(tx *repo.Tx) error {
				for i := range size.entries {
					if err := tx.AppendLine(b.Context(), line); err != nil {
						return err
					}
					if i%(size.entries/size.phases) == 0 {
						if _, err := tx.Handoff(b.Context(), repo.Anchor{Name: "p"}); err != nil {
							return err
						}
					}
				}
				return tx.Checkpoint(b.Context())
			}); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				f, err := m.Fork(b.Context(), "x")
				if err != nil {
					b.Fatal(err)
				}
				for range 10 {
					storetest.Append(b, f, repo.Message("user", "in the fork"))
				}
				if _, err := join.Merge(b.Context(), storetest.InnerTape(f), join.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
