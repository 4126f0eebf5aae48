package cli

import (
	"strings"
	"testing"
	"time"

	"tape/internal/show/export"
)

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
