package writer_test

import (
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// runHelper is what the processes do that the tests start.
func runHelper(mode string) {
	if mode == "scarce" {
		runScarce()
		return
	}
	storetest.RunWriter(mode)
}
