package comparison_test

import (
	"math/rand/v2"
	"testing"

	"tape/internal/show/comparison"
)

// Each side keeps all of its turns, once and in their order, and equal prompts stay beside each other.
func TestBeside(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var rows []comparison.Row
		var left, right []*comparison.Turn
		for range rnd.IntN(12) {
			var row comparison.Row
			side := rnd.IntN(3) // 0: only the left, 1: only the right, 2: both
			if side != 1 {
				row.Left = &comparison.Turn{}
				left = append(left, row.Left)
			}
			if side != 0 {
				row.Right = &comparison.Turn{}
				right = append(right, row.Right)
			}
			rows = append(rows, row)
		}
		same := 0
		for _, p := range comparison.Beside(rows) {
			if p.Left != nil {
				if len(left) == 0 || p.Left != left[0] {
					t.Fatalf("seed %d: the left turns are not in order", seed)
				}
				left = left[1:]
			}
			if p.Right != nil {
				if len(right) == 0 || p.Right != right[0] {
					t.Fatalf("seed %d: the right turns are not in order", seed)
				}
				right = right[1:]
			}
			if p.SamePrompt {
				same++
			}
		}
		for _, r := range rows {
			if r.Left != nil && r.Right != nil {
				same--
			}
		}
		if len(left)+len(right) > 0 || same != 0 {
			t.Fatalf("seed %d: %d and %d turns are missing, %d pairs too many", seed, len(left), len(right), same)
		}
	}
}
