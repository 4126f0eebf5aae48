package writer_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// TestOpenFiles appends while the process repeatedly cannot open more files. The tape has each acknowledged entry
// once, and each failed one at most once.
func TestOpenFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no ulimit")
	}
	t.Parallel()
	s := storetest.New(t, nil)
	self, err := os.Executable()
	storetest.Must(t, err)
	cmd := exec.Command("sh", "-c", "ulimit -n 48; exec \"$0\"", self)
	cmd.Env = append(os.Environ(), testkit.HelperEnv+"=scarce", storetest.HelperDir+"="+s.Dir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	storetest.Must(t, err)
	there := map[string]int{}
	for _, text := range storetest.Said(t, storetest.Tape(t, s, "main")) {
		there[text]++
	}
	acked, failed := 0, 0
	for line := range strings.Lines(string(out)) {
		text, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if n := there[text]; n > 1 || said == "acknowledged" && n != 1 {
			t.Errorf("the tape has %s %d times; its append was %s", text, n, said)
		}
		if said == "acknowledged" {
			acked++
		} else {
			failed++
		}
	}
	t.Logf("%d were acknowledged, %d failed", acked, failed)
	if acked == 0 || failed == 0 {
		t.Errorf("%d appends were acknowledged, %d failed: want some of each", acked, failed)
	}
}

// runScarce prints for each append whether it was acknowledged.
func runScarce() {
	s, err := repo.Open(context.Background(), os.Getenv(storetest.HelperDir), nil)
	if err != nil {
		panic(err)
	}
	tp, err := s.Tape(context.Background(), "main")
	if err != nil {
		panic(err)
	}
	go takeFiles()
	for i := range 4000 {
		text, said := fmt.Sprint("entry-", i), "acknowledged"
		if _, err := tp.Append(context.Background(), nil, repo.Message("user", text)); err != nil {
			said = "failed: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintln(os.Stdout, text, said)
	}
}

// takeFiles opens almost as many files as the process may open, and now and then as many.
func takeFiles() {
	const few = 4
	for taken := []*os.File{}; ; {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			taken = append(taken, f)
		}
		for began := time.Now(); time.Since(began) < 20*time.Microsecond; {
			runtime.Gosched()
		}
		keep := max(0, len(taken)-few)
		for _, f := range taken[keep:] {
			_ = f.Close()
		}
		taken = taken[:keep]
		for began := time.Now(); time.Since(began) < 60*time.Microsecond; {
			runtime.Gosched()
		}
	}
}
