package writer_test

import (
	"tape/internal/testkit"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// runHelper is what the processes do that the tests start.
func runHelper(mode string) {
	if mode == "scarce" {
		runScarce()
		return
	}
	runWriter(mode)
}
