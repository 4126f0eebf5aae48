package writer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestFullDisk fills a disk with single entries, batches, handoffs and checkpoints. The call that finds no room says
// so and leaves nothing behind; when there is room again, the next call works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	changes := map[string]func(tp *repo.Tape) (int, error){
		"append": func(tp *repo.Tape) (int, error) {
			_, err := tp.Append(t.Context(), nil, storetest.Big(40_000, "one "))
			return 1, err
		},
		"batch": func(tp *repo.Tape) (int, error) {
			_, err := tp.Append(t.Context(), nil, storetest.Big(90_000, "a"), repo.Event("b", nil), storetest.Big(90_000, "c"), storetest.Big(90_000, "d"), storetest.Big(90_000, "e"))
			return 5, err
		},
		"handoff": func(tp *repo.Tape) (int, error) {
			_, err := tp.Handoff(t.Context(), repo.Anchor{Name: "next", Summary: strings.Repeat("s", 30_000)})
			if err != nil {
				return 0, err
			}
			_, err = tp.Append(t.Context(), nil, storetest.Big(60_000, "after it "))
			if err != nil {
				return 1, err // the handoff itself succeeded
			}
			return 2, nil
		},
		"checkpoint": func(tp *repo.Tape) (int, error) {
			if _, err := tp.Append(t.Context(), nil, storetest.Big(60_000, "uncommitted ")); err != nil {
				return 0, err
			}
			_, _, err := tp.Checkpoint(t.Context())
			return 1, err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			disk := testkit.SmallDisk(t, 2<<20)
			dir := filepath.Join(disk, "ws")
			s, _, err := repo.Init(t.Context(), dir, nil)
			storetest.Must(t, err)
			ballast := filepath.Join(disk, "ballast")
			storetest.WriteFile(t, ballast, make([]byte, 500<<10))
			tp := storetest.Tape(t, s, "")
			want, full := 1, 0
			for full < 3 {
				n, err := change(tp)
				if err == nil {
					want += n
					continue
				}
				full++
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("the error does not say that the disk is full: %v", err)
				}
				got := len(storetest.Entries(t, storetest.Tape(t, storetest.Reopen(t, dir), ""), repo.Query{}))
				switch name {
				case "handoff", "checkpoint": // two calls: the first may have succeeded
					if got != want && got != want+1 {
						t.Fatalf("%d entries after the disk was full, want %d or one more", got, want)
					}
					want = got
				default:
					if got != want {
						t.Fatalf("%d entries after the disk was full, want %d", got, want)
					}
				}
			}
			if want < 5 {
				t.Fatalf("the disk was full after %d entries: too early to show anything", want)
			}
			// A small entry may still fit; then room is made.
			storetest.Must(t, os.Remove(ballast))
			n, err := change(tp)
			if err != nil {
				t.Fatalf("with room again: %v", err)
			}
			if got := len(storetest.Entries(t, tp, repo.Query{})); got != want+n {
				t.Errorf("%d entries with room again, want %d", got, want+n)
			}
			storetest.Healthy(t, dir)
		})
	}
}
