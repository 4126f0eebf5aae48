package host

import (
	"net/url"
	"strings"
	"testing"

	"tape/internal/serve/front"
)

// Numbers are capped, and a number that is missing or too small becomes the default.
func TestNumbersAreCapped(t *testing.T) {
	for text, want := range map[string]int64{"": 50, "0": 50, "-3": 50, "7": 7, "101": 100, "99999999999999999999": 100, "-99999999999999999999": 50} {
		got, err := numberOf(func(string) string { return text }, "limit", 50, 100)
		if err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	if _, err := numberOf(func(string) string { return "seven" }, "limit", 50, 100); err == nil || !strings.Contains(err.Error(), "limit is not a number") {
		t.Errorf("a word gives the error %v, want that limit is not a number", err)
	}
}

// A page goes forward from after_cursor, and contradictions are refused.
func TestPageParameters(t *testing.T) {
	s := front.Signer{Key: make([]byte, 32)}
	cursor := s.At("q", front.Position{ID: 7})
	for query, want := range map[string]string{
		"":                                  "",
		"after_cursor=" + cursor:            "",
		"before_cursor=x&after_cursor=y":    "exclude each other",
		"direction=up":                      "forward or backward",
		"direction=backward&after_cursor=y": "contradict each other",
		"after_cursor=" + s.At("other", front.Position{ID: 7}): "does not belong to this query",
	} {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parsePage(v.Get, s, "q")
		if want == "" && (err != nil || p.Limit != 50 || p.Forward != (query != "") || p.Forward && p.At.ID != 7) {
			t.Errorf("%q gives %+v (%v), want 50 entries, forward from 7 with a cursor", query, p, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q gives the error %v, want %q", query, err, want)
		}
	}
}
