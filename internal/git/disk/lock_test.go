package disk

//tape:race: processes and goroutines take turns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
)

const (
	contenderEnv = "TAPE_TEST_LOCK_DIR"
	rounds       = 40
)

// contend takes the lock many times, increments a counter in a file that nothing else protects, and
// removes the lock file every other time.
func contend(dir string) error {
	var d *FS
	for i := range rounds {
		l, err := d.Lock(context.Background(), filepath.Join(dir, "x.lock"), time.Minute)
		if err != nil {
			return err
		}
		inside, err := os.OpenFile(filepath.Join(dir, "inside"), os.O_CREATE|os.O_EXCL, FilePerm)
		if err != nil {
			return err // somebody else holds it too
		}
		count, err := os.ReadFile(filepath.Join(dir, "count"))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(count))
		if err != nil {
			return err
		}
		err = errors.Join(os.WriteFile(filepath.Join(dir, "count"), []byte(strconv.Itoa(n+1)), FilePerm),
			inside.Close(), os.Remove(inside.Name()))
		if i%2 == 0 {
			err = errors.Join(err, l.Remove())
		} else {
			err = errors.Join(err, l.Unlock())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A lock file that is removed and created again still lets only one in at a time.
func TestLockRemove(t *testing.T) {
	if dir := os.Getenv(contenderEnv); dir != "" {
		if err := contend(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0"), FilePerm); err != nil {
		t.Fatal(err)
	}
	const processes, goroutines = 5, 5
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestLockRemove$")
			cmd.Env = append(os.Environ(), contenderEnv+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for range goroutines {
		wg.Go(func() {
			if err := contend(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	count, err := os.ReadFile(filepath.Join(dir, "count"))
	if want := strconv.Itoa((processes + goroutines) * rounds); err != nil || string(count) != want {
		t.Errorf("counted %s, not %s: %v", count, want, err)
	}
}

// The holder can remove the lock file; a waiter then gets the lock of the next file, and a failed
// removal releases the lock too.
func TestLockRemoveWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	broken := &FS{}
	first, err := broken.Lock(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Lock(t.Context(), path, time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Fatalf("the lock is held, and taking it again gives %v, not ErrLocked", err)
	}
	got := make(chan *Lock)
	go func() {
		l, err := broken.Lock(context.Background(), path, time.Minute)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	testkit.Pause(5 * time.Millisecond)
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if _, err := broken.Lock(t.Context(), path, time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Errorf("the lock of the next file is held, and taking it again gives %v, not ErrLocked", err)
	}
	boom := errors.New("boom")
	broken.Fault = func(op Op, _ string) error {
		if op == OpRemove {
			return boom
		}
		return nil
	}
	if err := second.Remove(); !errors.Is(err, boom) {
		t.Errorf("the removal fails, and Remove returns %v", err)
	}
	third, err := broken.Lock(t.Context(), path, 0)
	if err != nil {
		t.Fatalf("the lock is still held after a failed removal: %v", err)
	}
	if err := third.Unlock(); err != nil {
		t.Error(err)
	}
}
