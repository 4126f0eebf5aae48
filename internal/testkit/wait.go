package testkit

import (
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// Tests wait for other processes and goroutines with these. Those that need only a clock use testing/synctest instead.

// Eventually waits until is returns true. It returns false when that takes longer than a minute.
func Eventually(is func() bool) bool {
	for end := time.Now().Add(time.Minute); !is(); Pause(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Until is like Eventually, but ends the test after a minute. what says what the test waits for.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !Eventually(is) {
		t.Fatalf("waited a minute for %s", what)
	}
}

// Pause is the only sleep in tests outside of synctest. It is for other processes: to poll one, or to
// kill one in the middle of its work.
func Pause(d time.Duration) { time.Sleep(d) }

// AtSomeTime pauses for less than most, so that a kill hits a process at a random point.
func AtSomeTime(rnd *rand.Rand, most time.Duration) { Pause(time.Duration(rnd.Int64N(int64(most)))) }

// Forever blocks in a helper process until it is killed.
func Forever() {
	// With a handler of signals, the runtime does not take the wait for a deadlock. Every platform has SIGHUP.
	killed := make(chan os.Signal, 1)
	signal.Notify(killed, syscall.SIGHUP)
	<-killed
}
