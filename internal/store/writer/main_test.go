package writer_test

import (
	"tape/internal/testkit"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// runHelper runs what the tests start as processes.
func runHelper(mode string) {
	if mode == "scarce" {
		runScarce()
		return
	}
	runWriter(mode)
}
