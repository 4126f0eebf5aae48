package sharing

import (
	"reflect"
	"testing"

	"tape/repo"
)

// The bounds of an export are whole phases.
func TestExportBounds(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     repo.Query
	}{
		{"", "", repo.Query{}},
		{"a", "a", repo.Query{Phase: "a"}},
		{"", "b", repo.Query{Phase: "b"}}, // only the last phase
		{"a", "", repo.Query{From: "a", To: repo.Latest, Inclusive: true}},
		{"a", "b", repo.Query{From: "a", To: "b", Inclusive: true}},
	} {
		o := &Export{From: c.from, To: c.to}
		if got := o.bounds(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("from %q to %q: %+v, not %+v", c.from, c.to, got, c.want)
		}
	}
}
