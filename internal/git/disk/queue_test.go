package disk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit"
)

// First come, first served. A process that gives up, or is killed, does not block the others.
func TestQueue(t *testing.T) {
	d, dir := &FS{}, filepath.Join(t.TempDir(), "turns")
	tickets := func() string {
		list, _ := filepath.Glob(filepath.Join(dir, "[0-9]*"))
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
		return strings.Join(list, " ")
	}
	first, err := d.Queue(t.Context(), dir, false, func(int) { t.Error("the first process waits") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Queue(t.Context(), dir, true, nil); !errors.Is(err, ErrLocked) || tickets() != "1" {
		t.Errorf("with nowait: %v, and the tickets are %s; want ErrLocked and ticket 1", err, tickets())
	}
	order := make(chan string, 3)
	wait := func(ctx context.Context, name string) {
		said := make(chan int, 2)
		go func() {
			leave, err := d.Queue(ctx, dir, false, func(pid int) { said <- pid })
			if err != nil {
				name = err.Error()
			}
			order <- name
			if err == nil {
				leave()
			}
		}()
		if pid := <-said; pid != os.Getpid() {
			t.Errorf("%s waits for process %d, not %d", name, pid, os.Getpid())
		}
	}
	givesUp, cancel := context.WithCancel(t.Context())
	wait(t.Context(), "second")
	wait(givesUp, "third")
	wait(t.Context(), "fourth")
	cancel()
	if got := <-order; got != context.Canceled.Error() {
		t.Errorf("the process that gave up got %q", got)
	}
	first()
	if a, b := <-order, <-order; a != "second" || b != "fourth" {
		t.Errorf("the order is %s, %s; want second, fourth", a, b)
	}
}

func TestQueueAfterKill(t *testing.T) {
	const helper = "TEST_QUEUE_DIR"
	if dir := os.Getenv(helper); dir != "" {
		if _, err := (&FS{}).Queue(t.Context(), dir, false, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("mine\n")
		testkit.Forever()
	}
	dir := filepath.Join(t.TempDir(), "turns")
	cmd := exec.Command(os.Args[0], "-test.run=^TestQueueAfterKill$")
	cmd.Env = append(os.Environ(), helper+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	waited := 0
	leave, err := (&FS{}).Queue(t.Context(), dir, false, func(pid int) {
		waited = pid
		_ = cmd.Process.Kill()
	})
	if err != nil || waited != cmd.Process.Pid {
		t.Fatalf("%v, waited for %d and not %d", err, waited, cmd.Process.Pid)
	}
	leave()
	_ = cmd.Wait()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left in the folder: %v, %v; want only desk", list, err)
	}
}
