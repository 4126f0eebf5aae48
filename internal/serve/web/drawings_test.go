package web

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"tape/internal/show/outline"
)

// parsed fails the test unless a drawing is well-formed and has neither scripts, styles nor NaN or Inf.
func parsed(t *testing.T, drawing template.HTML) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(drawing)))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, drawing)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "script" || start.Name.Local == "style" {
			t.Errorf("a drawing has %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("a drawing has %s=%q", a.Name.Local, a.Value)
			}
		}
	}
}

// TestDrawings: hostile titles and links stay text, and odd values stay numbers.
func TestDrawings(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	day := time.Date(2026, 2, 26, 0, 0, 0, 0, time.UTC)
	var days []drawnDay
	for i := range 380 {
		days = append(days, drawnDay{Date: day.AddDate(0, 0, i), Value: float64(i % 7), Title: evil, Link: "/?day=" + evil})
	}
	calendar := calendarSVG(days, evil)
	parsed(t, calendar)
	if n := strings.Count(string(calendar), "<rect"); n != 380 {
		t.Errorf("the calendar has %d days, not 380", n)
	}
	parsed(t, daysSVG(days, evil, "3 h"))
	parsed(t, barSVG(2, 3))
	parsed(t, barSVG(math.NaN(), -1))
	s := outline.Strip{Bins: make([]outline.Bin, outline.Bins), Marks: []outline.Mark{{Entry: 3, Sign: outline.Prompt, At: 0.2}, {Entry: 9, Sign: outline.Handoff, At: 1}},
		Pauses: []outline.Pause{{At: 0.5, Long: time.Hour}}}
	s.Bins[7] = outline.Bin{Entry: 4, Calls: 3, Errors: 1}
	strip := stripSVG(s, func(int64) string { return "/t/" + evil })
	parsed(t, strip)
	for _, want := range []string{"3 calls, 1 failed", "a pause of 1 h", `data-go="3"`, `data-go="9"`, `class="bad"`} {
		if !strings.Contains(strings.ReplaceAll(string(strip), "\u00a0", " "), want) {
			t.Errorf("the strip lacks %q: %s", want, strip)
		}
	}
	for _, empty := range []template.HTML{calendarSVG(nil, ""), daysSVG(nil, "", ""), stripSVG(outline.Strip{}, nil),
		stripSVG(outline.Strip{Bins: make([]outline.Bin, outline.Bins), Marks: []outline.Mark{{Entry: 3, Sign: outline.Prompt}}}, nil)} {
		if empty != "" {
			t.Errorf("without days or calls, the drawing is not empty: %s", empty)
		}
	}
}
