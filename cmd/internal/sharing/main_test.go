package sharing

import (
	"os"
	"testing"

	"tape/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.WithHome(m.Run)) }
