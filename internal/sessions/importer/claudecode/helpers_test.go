package claudecode_test

import (
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}
