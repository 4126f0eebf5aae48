package layout_test

import (
	"errors"
	"strings"
	"tape/internal/store/layout"
	"testing"
	"time"
)

func TestDates(t *testing.T) {
	now := time.Date(2026, 3, 31, 14, 30, 15, 500_000_000, time.UTC)
	for text, want := range map[string]string{
		"2026-11-20":                      "2026-11-20T00:00:00Z 2026-11-20T23:59:59.999999Z",
		" 2026-11-20 ":                    "2026-11-20T00:00:00Z 2026-11-20T23:59:59.999999Z",
		"2026-11-20T09:30:00Z":            "2026-11-20T09:30:00Z",
		"2026-11-20T09:30:00.123456Z":     "2026-11-20T09:30:00.123456Z",
		"2026-11-20T09:30:00+02:00":       "2026-11-20T07:30:00Z",
		"2026-11-20T09:30:00":             "2026-11-20T09:30:00Z",
		"2026-11-20 09:30":                "2026-11-20T09:30:00Z",
		"2026-11-20T09:30":                "2026-11-20T09:30:00Z",
		"now":                             "2026-03-31T14:30:15.5Z",
		"today":                           "2026-03-31T00:00:00Z 2026-03-31T23:59:59.999999Z",
		"Yesterday":                       "2026-03-30T00:00:00Z 2026-03-30T23:59:59.999999Z",
		"2 days ago":                      "2026-03-29T14:30:15.5Z",
		"2.days.ago":                      "2026-03-29T14:30:15.5Z",
		"1 hour ago":                      "2026-03-31T13:30:15.5Z",
		"90 seconds ago":                  "2026-03-31T14:28:45.5Z",
		"5 MINUTES AGO":                   "2026-03-31T14:25:15.5Z",
		"2 weeks ago":                     "2026-03-17T14:30:15.5Z",
		"1 year ago":                      "2025-03-31T14:30:15.5Z",
		"2024-02-29":                      "2024-02-29T00:00:00Z 2024-02-29T23:59:59.999999Z",
		"2026-01":                         "2026-01-01T00:00:00Z 2026-01-31T23:59:59.999999Z",
		"2025":                            "2025-01-01T00:00:00Z 2025-12-31T23:59:59.999999Z",
		"3d":                              "2026-03-28T14:30:15.5Z",
		"2h":                              "2026-03-31T12:30:15.5Z",
		"30m":                             "2026-03-31T14:00:15.5Z",
		"1w":                              "2026-03-24T14:30:15.5Z",
		"tuesday":                         "2026-03-31T00:00:00Z 2026-03-31T23:59:59.999999Z",
		"last tuesday":                    "2026-03-24T00:00:00Z 2026-03-24T23:59:59.999999Z",
		"Monday":                          "2026-03-30T00:00:00Z 2026-03-30T23:59:59.999999Z",
		"wed":                             "2026-03-25T00:00:00Z 2026-03-25T23:59:59.999999Z",
		"this week":                       "2026-03-30T00:00:00Z 2026-04-05T23:59:59.999999Z",
		"last week":                       "2026-03-23T00:00:00Z 2026-03-29T23:59:59.999999Z",
		"last month":                      "2026-02-01T00:00:00Z 2026-02-28T23:59:59.999999Z",
		"last year":                       "2025-01-01T00:00:00Z 2025-12-31T23:59:59.999999Z",
		"last today":                      "",
		"week":                            "",
		"d":                               "",
		"3":                               "",
		"3dd":                             "",
		"-3d":                             "",
		"2026-13":                         "",
		"2026-02-29":                      "",
		"2026-13-01":                      "",
		"":                                "",
		"soon":                            "",
		"ago":                             "",
		"-1 days ago":                     "",
		"2 fortnights ago":                "",
		"99999999999999999999 days ago":   "",
		"2026-11-20T25:00:00Z":            "",
		"20261120":                        "",
		"2026-11-20T09:30:00Z; rm -rf /":  "",
		"2026-11-20T09:30:00+02:00+03:00": "",
	} {
		since, err := layout.ParseSince(text, now)
		until, err2 := layout.ParseUntil(text, now)
		if want == "" {
			if !errors.Is(err, layout.ErrInvalid) || !errors.Is(err2, layout.ErrInvalid) {
				t.Errorf("%q is not refused, but read as %v and %v (%v, %v)", text, since, until, err, err2)
			}
			continue
		}
		from, to, ok := strings.Cut(want, " ")
		if !ok {
			to = from
		}
		if err != nil || err2 != nil || since.UTC().Format(time.RFC3339Nano) != from || until.UTC().Format(time.RFC3339Nano) != to {
			t.Errorf("%q is read as %v and %v, not as %s (%v, %v)", text, since, until, want, err, err2)
		}
	}
}

// Dates without a zone are in the user's zone, and so are days and weeks, even when clocks change.
func TestDatesInZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	now := time.Date(2026, 3, 29, 23, 30, 0, 0, time.UTC) // half past one on Monday in that zone
	for text, want := range map[string]string{
		"today":                "2026-03-29T22:00:00Z 2026-03-30T21:59:59.999999Z",
		"yesterday":            "2026-03-28T23:00:00Z 2026-03-29T21:59:59.999999Z", // a day of 23 hours
		"monday":               "2026-03-29T22:00:00Z 2026-03-30T21:59:59.999999Z",
		"last week":            "2026-03-22T23:00:00Z 2026-03-29T21:59:59.999999Z",
		"2026-01-20":           "2026-01-19T23:00:00Z 2026-01-20T22:59:59.999999Z",
		"2026-01":              "2025-12-31T23:00:00Z 2026-01-31T22:59:59.999999Z",
		"2026-01-20 09:30":     "2026-01-20T08:30:00Z 2026-01-20T08:30:00Z",
		"2026-01-20T09:30:00Z": "2026-01-20T09:30:00Z 2026-01-20T09:30:00Z",
		"1d":                   "2026-03-29T00:30:00Z 2026-03-29T00:30:00Z", // the same time of day
	} {
		since, err := layout.ParseSince(text, now.In(berlin))
		until, err2 := layout.ParseUntil(text, now.In(berlin))
		if got := since.UTC().Format(time.RFC3339Nano) + " " + until.UTC().Format(time.RFC3339Nano); err != nil || err2 != nil || got != want {
			t.Errorf("%q is read as %s, not %s (%v, %v)", text, got, want, err, err2)
		}
	}
}

// TestTimeIn: words that name a time are found among others.
func TestTimeIn(t *testing.T) {
	now := time.Date(2026, 11, 30, 14, 30, 0, 0, time.UTC) // a Monday
	for text, want := range map[string]string{
		"what did we change on 2026-07-10?": "2026-07-10 2026-07-11 2026-07-10", "what did we do last week": "2026-11-23 2026-11-30 last week",
		"Yesterday, the deploy": "2026-11-29 2026-11-30 Yesterday", "the tuesday meeting": "2026-11-24 2026-11-25 tuesday",
		"the fix of 12 March":              "2026-03-12 2026-03-13 12 March",
		"on March 12th, 2025 we decided":   "2025-03-12 2025-03-13 March 12th 2025",
		"who broke it on the 3rd of May?":  "2026-05-03 2026-05-04 3rd of May",
		"what broke in March?":             "2026-03-01 2026-04-01 March",
		"what broke in December":           "2025-12-01 2026-01-01 December",
		"Was war am 12. März 2026 kaputt?": "2026-03-12 2026-03-13 12 März 2026", "Was war im Mai": "2026-05-01 2026-06-01 Mai",
		"el fallo del 5 de marzo de 2026": "2026-03-05 2026-03-06 5 de marzo de 2026", "am 12.3.2026 gebaut": "2026-03-12 2026-03-13 12.3.2026",
		"the plan of July 2025":            "2025-07-01 2025-08-01 July 2025",
		"what we did 3 days ago":           "2026-11-27 2026-11-28 3 days ago",
		"the bug two weeks ago":            "2026-11-13 2026-11-20 two weeks ago",
		"a month ago the build was slow":   "2026-10-15 2026-11-15 a month ago",
		"the week of November 12 in short": "2026-11-09 2026-11-16 November 12",
		"yesterday":                        "", "last week": "", "now it works": "", "the last word of this page": "",
		"version 2026-13-40 of it": "", "the sun": "", "3d models": "", "": "", "it may fail": "", "march on": "", "the mar file": "",
		"what broke on Friday 12 March": "2026-03-12 2026-03-13 Friday 12 March", "what broke on Friday": "2026-11-27 2026-11-28 Friday",
		"the last week of March 2026": "2026-03-01 2026-04-01 March 2026", "yesterday's deploy": "2026-11-29 2026-11-30 yesterday",
		"the top 10 may fail": "", "it may 2 times fail": "", "the bug of 10 may in short": "2026-05-10 2026-05-11 10 may", "bug 10 may": "2026-05-10 2026-05-11 10 may",
		"logs may 2026 here": "2026-05-01 2026-06-01 may 2026", "10 May deploy": "2026-05-10 2026-05-11 10 May", "long ago, 100000 years ago": "", "since 0001-01-01": "",
		strings.Repeat("12 ", 64) + "March": "",
		`why "last week"?`:                  "", `what is "yesterday" in this`: "",
		"may 32 items": "", "February 30 it was": "", "long ago it was": "", "port 8080 in use": "",
	} {
		from, next, named := layout.TimeIn(text, now)
		got := ""
		if named != "" {
			got = from.Format(time.DateOnly) + " " + next.Format(time.DateOnly) + " " + named
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
