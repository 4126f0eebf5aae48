package cli

import (
	"strings"
	"testing"
	"time"

	"tape/internal/show/export"
)

// The help of tape export lists every format.
func TestExportHelp(t *testing.T) {
	a, out, _ := testApp(time.Now())
	if code := Run(t.Context(), a, []string{"export", "--help"}); code != exitOK {
		t.Fatalf("exit %d, want %d", code, exitOK)
	}
	for _, f := range export.Formats() {
		if !strings.Contains(out.String(), "\n  "+f.Name+" ") {
			t.Errorf("the help does not list the format %s", f.Name)
		}
	}
}
