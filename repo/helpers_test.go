package repo_test

import (
	"strings"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// runHelper is what the processes do that the tests start.
func runHelper(mode string) {
	if strings.HasPrefix(mode, "fork-") {
		runForkHelper(mode)
		return
	}
	storetest.RunWriter(mode)
}
