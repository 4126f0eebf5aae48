package repo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// TestBytesSurvive: what the program does not know of a payload stays as it was spelt,
// through files, commits, and a clone by git.
func TestBytesSurvive(t *testing.T) {
	payloads := []string{
		`{"role":"user","content":"x","n":1.0}`, `{"n":1e400}`, `{"n":-0}`, `{"n":-0.0E+00}`, `{"n":123456789012345678901234567890}`,
		`{"future":{"deep":[1,[2,{"x":null}]]},"role":"user"}`, `{"dup":1,"dup":2}`, `{"":"empty key"}`,
		`{"s":"tab\tnewline\nquote\"backslash\\slash/"}`, `{"s":"\u2028\u2029"}`, `{"s":"<script>&amp;"}`, `{"s":"\u0000"}`,
		`{"s":"阶段 é 🙂"}`, `{"s":"\ud83d\ude42"}`, `{"s":"lone \ud83d half"}`, `{}`,
	}
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	for i, p := range payloads {
		payloads[i] = strings.Replace(`{"role":"user","content":"",`+p[1:], ",}", "}", 1)
		storetest.Append(t, tp, repo.Draft{Kind: repo.KindMessage, Payload: []byte(payloads[i]), Meta: []byte(`{"x":1.50}`)})
	}
	var batch []repo.Draft
	for _, p := range payloads {
		batch = append(batch, repo.Draft{Kind: "odd", Payload: []byte(p)})
	}
	storetest.Append(t, tp, batch...)
	check := func(what string, tp *repo.Tape) {
		t.Helper()
		got := storetest.Entries(t, tp, repo.Query{SkipFirst: true, Limit: repo.N(2 * len(payloads))})
		if len(got) != 2*len(payloads) {
			t.Fatalf("%s: %d entries", what, len(got))
		}
		for i, e := range got {
			want := payloads[i%len(payloads)]
			if unescaped(t, e.Payload) != unescaped(t, []byte(want)) {
				t.Errorf("%s: the payload %s became %s", what, want, e.Payload)
			}
			if !json.Valid(e.Raw) || !bytes.HasPrefix(e.Raw, fmt.Appendf(nil, `{"id":%d,"kind":"`, i+2)) {
				t.Errorf("%s: the line is %s", what, e.Raw)
			}
			if i < len(payloads) && string(e.Meta) != `{"x":1.50}` {
				t.Errorf("%s: the meta became %s", what, e.Meta)
			}
		}
	}
	check("from the files", tp)
	before := storetest.Lines(storetest.Entries(t, tp, repo.Query{}))
	storetest.Handoff(t, tp, "next")
	storetest.Git(t, s.Dir(), "gc", "--quiet")
	dir := filepath.Join(t.TempDir(), "clone")
	storetest.Git(t, s.Dir(), "clone", "--quiet", "--no-checkout", s.Dir(), dir)
	storetest.Git(t, dir, "checkout", "--quiet", "--detach")
	storetest.Mkdir(t, dir, ".git", "tape")
	there := storetest.Tape(t, storetest.Reopen(t, dir), "main")
	check("from a clone's commit", there)
	for i, line := range storetest.Lines(storetest.Entries(t, there, repo.Query{Limit: repo.N(len(before))})) {
		if line != before[i] {
			t.Errorf("line %d became %s, was %s", i+1, line, before[i])
		}
	}

	// And a line that is taken over as it is, unknown members and odd order included.
	again := storetest.Tape(t, storetest.New(t, nil), "")
	odd := `{"kind":"message","x":1.0,"id":2,"payload":{"role":"user","content":"\u00e9"},"date":"2026-01-01T00:00:00Z"}`
	d, err := layout.StoredLine([]byte(odd))
	if err != nil {
		t.Fatal(err)
	}
	if e := storetest.Append(t, again, d)[0]; string(e.Raw) != odd {
		t.Errorf("the line became %s", e.Raw)
	}
	if got := storetest.Entries(t, again, repo.Query{Tail: repo.N(1)}); len(got) != 1 || string(got[0].Raw) != odd {
		t.Errorf("the line is read as %s", storetest.Lines(got))
	}
	e := storetest.Append(t, again, d)[0]
	if !bytes.Contains(e.Raw, []byte(`"x":1.0`)) || e.ID != 3 {
		t.Errorf("renumbered it became %s", e.Raw)
	}
}

// unescaped replaces what may be written as itself in UTF-8: lines are stored so.
func unescaped(t *testing.T, raw []byte) string {
	t.Helper()
	var b strings.Builder
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return b.String()
		}
		fmt.Fprintf(&b, "%T %v|", tok, tok)
	}
}

// TestRefusedEntries: what cannot be stored is refused, and nothing is written.
func TestRefusedEntries(t *testing.T) {
	s := storetest.New(t, nil)
	if err := s.SetSetting("max_line", "2048"); err != nil {
		t.Fatal(err)
	}
	tp := storetest.Tape(t, s, "")
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for name, d := range map[string]repo.Draft{
		"no kind":           {Payload: []byte(`{}`)},
		"no payload":        {Kind: "event"},
		"payload an array":  {Kind: "event", Payload: []byte(`[]`)},
		"payload a string":  {Kind: "event", Payload: []byte(`"x"`)},
		"payload cut off":   {Kind: "event", Payload: []byte(`{"a":1`)},
		"payload and more":  {Kind: "event", Payload: []byte(`{} {}`)},
		"payload not UTF-8": {Kind: "event", Payload: []byte("{\"a\":\"\xff\"}")},
		"payload too deep":  {Kind: "event", Payload: []byte(deep)},
		"kind not UTF-8":    {Kind: "\xff", Payload: []byte(`{}`)},
		"meta an array":     {Kind: "event", Payload: []byte(`{"name":"x"}`), Meta: []byte(`[]`)},
		"meta not UTF-8":    {Kind: "event", Payload: []byte(`{"name":"x"}`), Meta: []byte("{\"\xff\":1}")},
		"no date":           {Kind: "event", Payload: []byte(`{"name":"x"}`), Date: "soon"},
		"too long":          storetest.Big(3000, ""),
		"an anchor":         {Kind: repo.KindAnchor, Payload: []byte(`{"name":"x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			before := storetest.EntryFiles(t, s.Dir())
			_, err := tp.Append(t.Context(), nil, d)
			storetest.WantIs(t, err, repo.ErrInvalid)
			_, err = tp.Append(t.Context(), nil, repo.Message("user", "fine"), d, repo.Message("user", "fine"))
			storetest.WantIs(t, err, repo.ErrInvalid)
			if storetest.EntryFiles(t, s.Dir()) != before {
				t.Error("something was written")
			}
		})
	}
	for name, a := range map[string]repo.Anchor{
		"state an array": {Name: "x", State: []byte(`[]`)},
		"state cut off":  {Name: "x", State: []byte(`{"a"`)},
		"two summaries":  {Name: "x", State: []byte(`{"summary":"a"}`), Summary: "b"},
		"not UTF-8":      {Name: "x", Summary: "\xff"},
		"too long":       {Name: "x", Summary: strings.Repeat("s", 3000)},
		"no date":        {Name: "x", Date: "2026-13-01"},
	} {
		t.Run("handoff: "+name, func(t *testing.T) {
			before := storetest.EntryFiles(t, s.Dir())
			_, err := tp.Handoff(t.Context(), a)
			storetest.WantIs(t, err, repo.ErrInvalid)
			if storetest.EntryFiles(t, s.Dir()) != before {
				t.Error("something was written")
			}
		})
	}
	if e := storetest.Append(t, tp, repo.Message("user", "after all that")); e[0].ID != 2 {
		t.Errorf("the next id is %d", e[0].ID)
	}
}

// TestAssertAnchor: an append for another phase than the open one writes nothing.
func TestAssertAnchor(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	storetest.Handoff(t, tp, "plan/a")
	for _, anchor := range []string{"plan/a", "002", "002_plan-a"} {
		if _, err := tp.Append(t.Context(), &repo.AppendOptions{Anchor: anchor}, repo.Message("user", "x")); err != nil {
			t.Errorf("%s: %v", anchor, err)
		}
	}
	for _, anchor := range []string{"session/start", "plan", "001", "003"} {
		for _, drafts := range [][]repo.Draft{{repo.Message("user", "x")}, {repo.Message("user", "x"), repo.Message("user", "y")}} {
			_, err := tp.Append(t.Context(), &repo.AppendOptions{Anchor: anchor}, drafts...)
			storetest.WantIs(t, err, repo.ErrConflict)
		}
	}
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 5 {
		t.Errorf("%d entries, want 5", got)
	}
}

// TestCancelled: a call whose context is over changes nothing.
func TestCancelled(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tp.Append(ctx, nil, repo.Message("user", "a"), repo.Message("user", "b"))
	storetest.WantIs(t, err, context.Canceled)
	_, err = tp.Handoff(ctx, repo.Anchor{Name: "x"})
	storetest.WantIs(t, err, context.Canceled)
	_, err = storetest.Collect(ctx, tp, repo.Query{})
	storetest.WantIs(t, err, context.Canceled)
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 1 {
		t.Errorf("%d entries, want 1", got)
	}
}

// TestBusy: who cannot get the lock in time says so.
func TestBusy(t *testing.T) {
	s := storetest.New(t, nil)
	tx, err := writer.Begin(t.Context(), storetest.InnerTape(storetest.Tape(t, s, "")))
	if err != nil {
		t.Fatal(err)
	}
	impatient, err := repo.Open(t.Context(), s.Dir(), &repo.Options{LockWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = storetest.Tape(t, impatient, "").Append(t.Context(), nil, repo.Message("user", "x"))
	storetest.WantIs(t, err, repo.ErrBusy)
	if len(repo.Hints(err)) == 0 {
		t.Error("no hint")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, storetest.Tape(t, impatient, ""), repo.Message("user", "x"))
}

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
		since, err := repo.ParseSince(text, now)
		until, err2 := repo.ParseUntil(text, now)
		if want == "" {
			if !errors.Is(err, repo.ErrInvalid) || !errors.Is(err2, repo.ErrInvalid) {
				t.Errorf("%q is read as %v and %v (%v, %v)", text, since, until, err, err2)
			}
			continue
		}
		from, to, ok := strings.Cut(want, " ")
		if !ok {
			to = from
		}
		if err != nil || err2 != nil || since.UTC().Format(time.RFC3339Nano) != from || until.UTC().Format(time.RFC3339Nano) != to {
			t.Errorf("%q is read as %v and %v (%v, %v)", text, since, until, err, err2)
		}
	}
}

// Dates without a zone are in that of the user, days and weeks too, whatever the clocks do.
func TestDatesInZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	now := time.Date(2026, 3, 29, 23, 30, 0, 0, time.UTC) // there it is Monday, half past one
	for text, want := range map[string]string{
		"today":                "2026-03-29T22:00:00Z 2026-03-30T21:59:59.999999Z",
		"yesterday":            "2026-03-28T23:00:00Z 2026-03-29T21:59:59.999999Z", // of 23 hours
		"monday":               "2026-03-29T22:00:00Z 2026-03-30T21:59:59.999999Z",
		"last week":            "2026-03-22T23:00:00Z 2026-03-29T21:59:59.999999Z",
		"2026-01-20":           "2026-01-19T23:00:00Z 2026-01-20T22:59:59.999999Z",
		"2026-01":              "2025-12-31T23:00:00Z 2026-01-31T22:59:59.999999Z",
		"2026-01-20 09:30":     "2026-01-20T08:30:00Z 2026-01-20T08:30:00Z",
		"2026-01-20T09:30:00Z": "2026-01-20T09:30:00Z 2026-01-20T09:30:00Z",
		"1d":                   "2026-03-29T00:30:00Z 2026-03-29T00:30:00Z", // at the same time of the day
	} {
		since, err := repo.ParseSince(text, now.In(berlin))
		until, err2 := repo.ParseUntil(text, now.In(berlin))
		if got := since.UTC().Format(time.RFC3339Nano) + " " + until.UTC().Format(time.RFC3339Nano); err != nil || err2 != nil || got != want {
			t.Errorf("%q is read as %s, not %s (%v, %v)", text, got, want, err, err2)
		}
	}
}

// TestCommitPolicy: commits come where the setting says.
func TestCommitPolicy(t *testing.T) {
	for policy, want := range map[string]string{
		"handoff": "start: main",
		"turn":    "start: main|checkpoint: 2 entries|checkpoint: 2 entries",
		"3":       "start: main|checkpoint: 3 entries",
		"1":       "start: main" + strings.Repeat("|checkpoint: 1 entry", 5),
	} {
		t.Run(policy, func(t *testing.T) {
			s := storetest.New(t, nil)
			if err := s.SetSetting("commit", policy); err != nil {
				t.Fatal(err)
			}
			tp := storetest.Tape(t, storetest.Reopen(t, s.Dir()), "")
			for i, role := range []string{"user", "assistant", "user", "assistant", "user"} {
				storetest.Append(t, tp, repo.Message(role, fmt.Sprint(i)))
			}
			got := strings.ReplaceAll(storetest.Git(t, s.Dir(), "log", "--reverse", "--format=%s", "tape/main"), "\n", "|")
			if got != want {
				t.Errorf("the commits are %s, want %s", got, want)
			}
		})
	}
}
