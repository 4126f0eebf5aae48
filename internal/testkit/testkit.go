// Package testkit is what tests of several packages share: an environment that does not
// depend on the machine, processes beside a test, extents, seeds and small disks.
package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// HelperEnv names what a test binary is to do when it runs beside a test, as one of the
// processes that the test starts.
const HelperEnv = "TAPE_TEST_HELPER"

// homeEnv tells helpers the TAPE_HOME of their test.
const homeEnv = "TAPE_TEST_HOME"

// Main is for a TestMain. It makes the tests independent of the machine's git settings,
// and runs them, or the helper if HelperEnv says so; nil if the tests start no such processes.
func Main(m *testing.M, env map[string]string, helper func(mode string)) {
	set := func(key, value string) {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	set("GIT_CONFIG_GLOBAL", os.DevNull)
	set("GIT_CONFIG_NOSYSTEM", "1")
	set("TAPE_AUTHOR", "Test <test@example.org>")
	set("LC_ALL", "C")
	for key, value := range env {
		set(key, value)
	}
	for _, key := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "TAPE_WORKSPACE"} {
		if err := os.Unsetenv(key); err != nil {
			panic(err)
		}
	}
	home := os.Getenv(homeEnv)
	if home == "" {
		dir, err := os.MkdirTemp("", "tape-home-*")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		home = dir
		set(homeEnv, home)
	}
	set("TAPE_HOME", home)
	if mode := os.Getenv(HelperEnv); mode != "" {
		helper(mode)
		return
	}
	if os.Getenv("GORACE") == "" {
		set("GORACE", "atexit_sleep_ms=0") // or each process beside a test ends a second late
	}
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" && !Soak() {
		set("TMPDIR", dir) // thousands of syncs; only the long runs wait for a real disk
	}
	m.Run()
}

// Soak reports whether the long runs are asked for.
func Soak() bool { return os.Getenv("TAPE_SOAK") != "" }

// Size picks the extent of a test: few, or with TAPE_SOAK all.
func Size(few, all int) int {
	if Soak() {
		return all
	}
	return few
}

// Random gives a source whose seed is printed, and can be set with TAPE_SEED.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("TAPE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("TAPE_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("seed: TAPE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Clock is a time that stands still, so that a repeated change gives the same commits.
func Clock() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 123456000, time.UTC) }
