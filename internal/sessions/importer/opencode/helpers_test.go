package opencode_test

import (
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

var imp = formattest.Importer{Read: importer.Read, Describe: importer.Describe, Detect: importer.Detect}
