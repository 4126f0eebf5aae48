package reports

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/report"
)

func shown(t *testing.T, by index.By, asJSON bool, rows ...report.Row) string {
	t.Helper()
	out := &bytes.Buffer{}
	s := &stdio.Streams{Stdout: out, Stderr: out, Out: bufio.NewWriter(out), JSON: asJSON, Getenv: func(string) string { return "" }}
	if err := ShowStats(s, rows, by, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func row(key string, calls int64, cost float64, unpriced ...string) report.Row {
	w := index.Work{Key: key, Sessions: 2, Turns: 3, Calls: calls, Active: 90 * time.Second, Tokens: map[string]index.Tokens{"opus": {Input: 1200, Output: 50, CacheRead: 7}}}
	return report.Row{Work: w, Cost: cost, Priced: cost > 0, Unpriced: unpriced}
}

// TestTable: empty columns are left out, and models without a price are named.
func TestTable(t *testing.T) {
	got := shown(t, index.ByProject, false, row("shop", 0, 1.5, "gemini"), row("", 0, 0))
	lines := strings.Split(got, "\n")
	if head := strings.Fields(lines[0]); strings.Join(head, " ") != "PROJECT SESSIONS TURNS ACTIVE INPUT CACHED OUTPUT COST" {
		t.Errorf("the columns are %v; want all but CALLS and FAILED", head)
	}
	for _, want := range []string{"shop ", "(unknown) ", " 2m ", "1.2\u00a0k", "without the cost of gemini, for which no price is known"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := shown(t, index.ByProject, false); got != "No matching sessions.\n" {
		t.Errorf("without rows it shows %q", got)
	}
}

// TestSums: without groups, a line for each sum; nothing at all is zeros, not an error.
func TestSums(t *testing.T) {
	r := row("", 12, 0)
	r.Failed = 2
	if got := shown(t, index.ByNothing, false, r); !strings.Contains(got, "12, of which 2 failed") || strings.Contains(got, "cost") {
		t.Errorf("got\n%s", got)
	}
	if got := shown(t, index.ByNothing, false); !strings.Contains(got, "none") {
		t.Errorf("got\n%s", got)
	}
	want := `{"by":"shop","sessions":2,"turns":3,"active_s":90,"input_tokens":1200,"output_tokens":50,"cache_read_tokens":7,"cache_write_tokens":0,"cost":0.25,"calls":1,"failed":0,"unpriced":["gemini"]}` + "\n"
	if got := shown(t, index.ByProject, true, row("shop", 1, 0.25, "gemini")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFitting: on a narrow screen the least important columns go first, and one always stays.
func TestFitting(t *testing.T) {
	rows := []report.Row{row("shop", 5, 0)}
	all := columnsOf(rows, index.ByProject)
	last := len(all)
	for width := widthOf(all, rows); width > 0; width-- {
		left := fitting(columnsOf(rows, index.ByProject), rows, width)
		if len(left) > last || len(left) == 0 || len(left) > 1 && widthOf(left, rows) > width {
			t.Fatalf("%d columns at %d cells", len(left), width)
		}
		last = len(left)
	}
	if left := fitting(all, rows, 1); left[0].head != "SESSIONS" {
		t.Errorf("%s stays, want SESSIONS", left[0].head)
	}
}
