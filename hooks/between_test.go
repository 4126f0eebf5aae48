package hooks_test

import (
	"testing"

	"tape/hooks"
)

func TestBlankLineBetweenSteps(t *testing.T) {
	for _, c := range [][3]string{{"a", "b", "\n\n"}, {"a\n", "b", "\n"}, {"a", "\nb", "\n"}, {"a\n\n", "b", ""}, {"a\n\n\n", "\nb", ""}, {"", "b", ""}, {"a", "", ""}} {
		if got := hooks.Between(c[0], c[1]); got != c[2] {
			t.Errorf("between %q and %q: got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
