// Package testkit has what tests of several packages share: an environment that does not depend on the machine,
// helper processes, random seeds, sizes of tests, and small or lossy disks.
package testkit

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// HelperEnv is set when a test starts its own binary as a helper process. Its value is the helper's task.
const HelperEnv = "TAPE_TEST_HELPER"

// homeEnv passes the TAPE_HOME of a test to its helpers.
const homeEnv = "TAPE_TEST_HOME"

// WithHome runs the tests of a package that needs no more of [Main], with a TAPE_HOME of their own: workspaces leave notes
// there, and those of tests do not belong to the user's.
func WithHome(run func() int) int {
	dir, err := os.MkdirTemp("", "tape-home-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TAPE_HOME", dir); err != nil {
		panic(err)
	}
	return run()
}

// Main is the body of a TestMain. It makes the tests independent of the machine's git settings, sets the variables of
// env, and runs the tests. In a helper process it calls helper instead, which may be nil if the tests start none.
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
		set("GORACE", "atexit_sleep_ms=0") // otherwise each helper takes a second to exit
	}
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" && !Soak() {
		set("TMPDIR", dir) // faster for thousands of syncs; the long runs use the real disk
	}
	m.Run()
}

// Parallel lets n parallel tests of a package run at once. Call it before the tests run, in a package whose tests mostly
// wait.
func Parallel(n int) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Soak reports whether these are the long runs of make soak.
func Soak() bool { return os.Getenv("TAPE_SOAK") != "" }

// Size returns how many cases a test tries: few, or all in the long runs.
func Size(few, all int) int {
	if Soak() {
		return all
	}
	return few
}

// Random returns a random source. It logs the seed, which TAPE_SEED can set.
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

// Clock always returns the same time, so that the same changes make the same commits.
func Clock() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 123456000, time.UTC) }
