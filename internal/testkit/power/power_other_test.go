//go:build !linux && extra

package power

import "testing"

func TestPower(t *testing.T) { t.Skip("skipped: the power of a disk can be cut on Linux only") }
