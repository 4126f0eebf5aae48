package cli

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tape/internal/show/export"
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
		{"", "b", repo.Query{Phase: "b"}}, // the last of them
		{"a", "", repo.Query{From: "a", To: repo.Latest, Inclusive: true}},
		{"a", "b", repo.Query{From: "a", To: "b", Inclusive: true}},
	} {
		o := &exportOptions{from: c.from, to: c.to}
		if got := o.bounds(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("from %q to %q: %+v, not %+v", c.from, c.to, got, c.want)
		}
	}
}

// The help tells of every format.
func TestExportHelp(t *testing.T) {
	a, out, _ := testApp(time.Now())
	if code := Run(t.Context(), a, []string{"export", "--help"}); code != exitOK {
		t.Fatal(code)
	}
	for _, f := range export.Formats() {
		if !strings.Contains(out.String(), "\n  "+f.Name+" ") {
			t.Errorf("nothing about %s", f.Name)
		}
	}
}
