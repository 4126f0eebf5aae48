package index

//tape:race: processes and goroutines share the file

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/testkit"
	"tape/repo"
)

// After a power cut or a kill while a working tree is written, search finds the entries that log shows, even
// before another command completes the tree.
func TestSearchAfterCutCheckout(t *testing.T) {
	s := testStore(t)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, repo.Message("user", "long ago there was a needle"), repo.Event("needle", nil))
	mustHandoff(t, tp, "second")
	mustAppend(t, tp, repo.Message("user", "and another needle"))
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, tp, repo.Message("user", "short"))
	mustHandoff(t, tp, "other")

	cuts := 0
	for n := int64(1); ; n += int64(testkit.Size(3, 1)) {
		dir := filepath.Join(t.TempDir(), "ws")
		if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
			t.Fatal(err)
		}
		var seen atomic.Int64
		cut := errors.New("cut off")
		faulty, err := repo.Open(t.Context(), dir, &repo.Options{Fs: &disk.FS{Fault: func(disk.Op, string) error {
			if seen.Add(1) >= n {
				return cut
			}
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = openTape(t, faulty, "main").Restore(t.Context(), "latest")
		if seen.Load() < n {
			break
		}
		for _, how := range []How{Words, Substring} {
			after, _ := reopen(t, dir)
			tp := openTape(t, after, "main")
			want, err := collect(t.Context(), tp, repo.Query{})
			if err != nil {
				t.Fatalf("cut off before operation %d, log fails: %v", n, err)
			}
			res, err := testIndex(t, after).Search(t.Context(), Search{Text: "needle", How: how, Tapes: named(tp), Context: 1})
			if err != nil {
				t.Fatalf("cut off before operation %d, search fails: %v", n, err)
			}
			if has := len(want) > 3; has != (len(res.Hits) > 0) {
				t.Errorf("cut off before operation %d, log shows %d entries, and search finds %d hits, want hits: %v", n, len(want), len(res.Hits), has)
			} else if has {
				cuts++
			}
		}
	}
	if cuts == 0 {
		t.Error("no cut came after the branch had moved: the test shows nothing")
	}
}

// While git is in the middle of a merge, search finds the entries that log shows, whatever git has written to
// the files.
func TestSearchDuringMerge(t *testing.T) {
	s := testStore(t)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, repo.Message("user", "before"))
	x := mustFork(t, tp, "x", "")
	mustAppend(t, x, repo.Message("user", "a long text of the fork"))
	mustAppend(t, tp, repo.Message("user", "needle"))
	for _, one := range []*repo.Tape{tp, x} {
		if _, _, err := one.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_ = exec.Command("git", "-C", s.Dir(), "-c", "merge.tape.driver=git merge-file %A %O %B", "merge", x.Branch()).Run()
	defer runGit(t, s.Dir(), "merge", "--abort")
	for _, how := range []How{Words, Substring} {
		res := mustSearch(t, testIndex(t, s), Search{Text: "needle", How: how, Tapes: named(tp)})
		wantIDs(t, "during a merge", res.Hits, 3)
	}
}

// A search in several tapes leaves out tapes that disappear meanwhile.
func TestSearchWhileForksClose(t *testing.T) {
	s := testStore(t)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, repo.Message("user", "needle"))
	x := mustFork(t, tp, "gone", "")
	mustAppend(t, x, repo.Message("user", "a needle of the fork"))
	all := everything(t, s)
	ix := testIndex(t, s)
	wantIDs(t, "before", mustSearch(t, ix, Search{Text: "needle", Tapes: named(all...)}).Hits, 2, 3)
	if err := x.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, how := range []How{Words, Substring} {
		wantIDs(t, "the fork is closed", mustSearch(t, ix, Search{Text: "needle", How: how, Tapes: named(all...), Context: 1}).Hits, 2)
	}
	if _, err := ix.Search(t.Context(), Search{Text: "needle", Tapes: named(x)}); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("searching a discarded fork: got %v, want ErrNotFound", err)
	}

	stop := make(chan struct{})
	var forking sync.WaitGroup
	forking.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			f, err := tp.ForkAt(t.Context(), fmt.Sprint("x", n), "")
			if err == nil {
				_, err = f.Append(t.Context(), nil, repo.Message("user", fmt.Sprint("needle ", n)))
			}
			if err == nil {
				err = f.Discard(t.Context())
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	other, _ := reopen(t, s.Dir())
	ix = testIndex(t, other)
	for n := range testkit.Size(60, 1000) {
		mustSearch(t, ix, Search{Text: "needle", How: How(n % 2), Tapes: named(everything(t, other)...), Context: n % 3})
	}
	close(stop)
	forking.Wait()
}
