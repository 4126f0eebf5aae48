package audit_test

import (
	"testing"

	"tape/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }
