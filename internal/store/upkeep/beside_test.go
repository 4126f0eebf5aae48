package upkeep_test

//tape:race: tapes are written while housekeeping takes away

import (
	"fmt"
	"os/exec"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// Handoffs, forks and merges lose nothing while somebody prunes unreachable objects over and over, although their objects
// are unreachable until the branch moves.
func TestWritersBesidePrune(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	runs := 0
	stop := storetest.Background(func() error {
		// git gc fails if a working tree is removed at that moment.
		if exec.Command("git", "-C", s.Dir(), "gc", "-q", "--prune=now").Run() == nil {
			runs++
		}
		testkit.Pause(20 * time.Millisecond)
		return nil
	})
	rounds := testkit.Size(8, 400)
	for i := range rounds {
		storetest.Append(t, main, repo.Message("user", fmt.Sprint(i)))
		storetest.Handoff(t, main, fmt.Sprint("phase ", i))
		fork, err := main.Fork(t.Context(), fmt.Sprint("f", i))
		storetest.Must(t, err)
		storetest.Append(t, fork, repo.Message("user", "in the fork"))
		storetest.Merge(t, fork, join.Options{})
	}
	storetest.Must(t, stop())
	t.Logf("%d rounds beside %d times git gc", rounds, runs)
}
