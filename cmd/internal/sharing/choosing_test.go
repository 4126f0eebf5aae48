package sharing

import (
	"slices"
	"testing"
)

// An answer is numbers and ranges, or a word for all or none; anything else is refused.
func TestChoose(t *testing.T) {
	for answer, want := range map[string][]int{"2": {2}, "1 3-5": {1, 3, 4, 5}, "4,2, 2": {4, 2}, "": nil, "none": nil} {
		if got, all, err := choose(answer, 5); !slices.Equal(got, want) || all || err != nil {
			t.Errorf("%q chooses %v, want %v (all %v, %v)", answer, got, want, all, err)
		}
	}
	if _, all, err := choose("All", 5); !all || err != nil {
		t.Errorf("\"All\" does not choose all: %v, %v", all, err)
	}
	for _, answer := range []string{"0", "6", "3-2", "2-6", "x", "1-", "-1"} {
		if _, _, err := choose(answer, 5); err == nil {
			t.Errorf("the answer %q is accepted", answer)
		}
	}
}
