package repo_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// queryCase is a conformance case, in the form that other implementations read, too.
type queryCase struct {
	Name    string
	Entries []caseEntry
	Query   caseQuery
	Expect  caseExpect
}

type caseEntry struct {
	Ref, Kind, Date string
	Payload, Meta   json.RawMessage
}

type caseQuery struct {
	AfterLast     bool `json:"after_last"`
	After         string
	Between       []string
	Since, Until  string
	Kinds         []string
	Limit         *int
	SkipBootstrap bool `json:"skip_bootstrap"`
}

type caseExpect struct {
	Refs  []string
	Error string
}

// bootstrap is the name that expectations use for a tape's first anchor.
const bootstrap = "session/start"

// record makes the tape of a case; an anchor among the entries is a handoff. It returns the names that
// the case gives its entries, by id.
func (c queryCase) record(t *testing.T, tp *repo.Tape) map[int64]string {
	t.Helper()
	refs := map[int64]string{1: bootstrap}
	for _, e := range c.Entries {
		if e.Kind == repo.KindAnchor {
			var payload struct {
				Name  string
				State json.RawMessage
			}
			if err := json.Unmarshal(e.Payload, &payload); err != nil {
				t.Fatal(err)
			}
			h, err := tp.Handoff(t.Context(), repo.Anchor{Name: payload.Name, State: payload.State, Meta: e.Meta, Date: e.Date})
			if err != nil {
				t.Fatal(err)
			}
			refs[h.Entry] = e.Ref
			continue
		}
		refs[storetest.Append(t, tp, repo.Draft{Kind: e.Kind, Payload: e.Payload, Meta: e.Meta, Date: e.Date})[0].ID] = e.Ref
	}
	return refs
}

// query converts the case's query to one of this package.
func (c queryCase) query(now time.Time) (repo.Query, error) {
	q := repo.Query{After: c.Query.After, Kinds: c.Query.Kinds, Limit: c.Query.Limit, SkipFirst: c.Query.SkipBootstrap}
	if c.Query.AfterLast {
		q.After = repo.Latest
	}
	if len(c.Query.Between) == 2 {
		q.From, q.To = c.Query.Between[0], c.Query.Between[1]
	}
	var err error
	if c.Query.Since != "" {
		if q.Since, err = repo.ParseSince(c.Query.Since, now); err != nil {
			return q, err
		}
	}
	if c.Query.Until != "" {
		q.Until, err = repo.ParseUntil(c.Query.Until, now)
	}
	return q, err
}

func (c queryCase) run(t *testing.T) {
	t.Helper()
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	refs := c.record(t, tp)
	for _, state := range []string{"from the files", "from the commit"} {
		q, err := c.query(time.Now())
		var got []repo.Entry
		if err == nil {
			got, err = storetest.Collect(t.Context(), tp, q)
		}
		class := map[string]error{"not_found": repo.ErrNotFound, "usage": repo.ErrInvalid}[c.Expect.Error]
		switch {
		case c.Expect.Error == "" && err != nil:
			t.Fatalf("%s: %v", state, err)
		case c.Expect.Error != "":
			if class == nil || !errors.Is(err, class) {
				t.Fatalf("%s: got %d entries and the error %v, want %s", state, len(got), err, c.Expect.Error)
			}
			if missing := c.Query.After; missing != "" && !strings.Contains(err.Error(), missing) {
				t.Errorf("the error does not name %q: %v", missing, err)
			}
		default:
			names := []string{}
			for _, e := range got {
				names = append(names, refs[e.ID])
			}
			if !slices.Equal(names, append([]string{}, c.Expect.Refs...)) {
				t.Errorf("%s: got %v, want %v", state, names, c.Expect.Refs)
			}
		}
		// The second time, the tape has no working tree.
		storetest.Checkpoint(t, tp)
		storetest.Git(t, tp.Store().Dir(), "checkout", "--quiet", "--detach")
	}
}

// TestConformance runs the shared cases, if they are beside the project.
func TestConformance(t *testing.T) {
	file := filepath.Join("..", "..", "shared", "conformance", "cases.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the shared cases are not here (%v); TestQueries has the project's own", err)
	}
	var all struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, raw := range all.Cases {
		var head struct{ Name string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		group, _, _ := strings.Cut(head.Name, "/")
		if group != "query" {
			continue // cmd/internal/cli runs them all, as commands
		}
		ran++
		t.Run(head.Name, func(t *testing.T) {
			var c queryCase
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			c.run(t)
		})
	}
	if ran == 0 {
		t.Errorf("%s has no query cases", file)
	}
}

// script describes a tape: words are messages, "call:x" is a tool call, "event:x" an event, "#x" a
// handoff to x. A word may end with "@date".
func script(words string) []caseEntry {
	var out []caseEntry
	for word := range strings.FieldsSeq(words) {
		ref, date, _ := strings.Cut(word, "@")
		e := caseEntry{Ref: ref, Date: date, Kind: repo.KindMessage, Payload: repo.Message("user", ref).Payload}
		if name, ok := strings.CutPrefix(ref, "#"); ok {
			name, _, _ = strings.Cut(name, "/") // #a/2 is another anchor named a
			e.Kind, e.Payload = repo.KindAnchor, json.RawMessage(`{"name":"`+name+`"}`)
		} else if kind, name, ok := strings.Cut(ref, ":"); ok {
			e.Kind, e.Payload = map[string]string{"call": repo.KindToolCall, "event": repo.KindEvent, "x": "custom.kind"}[kind], json.RawMessage(`{"calls":[],"name":"`+name+`"}`)
		}
		out = append(out, e)
	}
	return out
}

// TestQueries tests the promises of TestConformance with cases of this project.
func TestQueries(t *testing.T) {
	const day = "call@2026-05-01T23:59:59.999999Z"
	phases := "hello #plan think decide #build code"
	repeated := "m0 #a m1 #b m2 #a/2 m3 #b/2 m4"
	dated := "w@2026-05-01T00:00:00Z x@2026-05-01T23:59:59.999999Z y@2026-05-02T00:00:00Z z@2026-05-02T09:00:00+09:00"
	for name, c := range map[string]struct {
		tape  string
		query caseQuery
		want  string // refs, or an error class with a ! in front
	}{
		"everything begins with the first anchor":   {phases, caseQuery{}, "session/start hello #plan think decide #build code"},
		"the first anchor can be left out":          {phases, caseQuery{SkipBootstrap: true}, "hello #plan think decide #build code"},
		"other anchors are not left out":            {"#session", caseQuery{SkipBootstrap: true}, "#session"},
		"kinds can leave out the first anchor":      {phases, caseQuery{Kinds: []string{"message"}}, "hello think decide code"},
		"after the last anchor":                     {phases, caseQuery{AfterLast: true}, "code"},
		"nothing is after the last anchor":          {"hello #plan", caseQuery{AfterLast: true}, ""},
		"after the last anchor of a new tape":       {"hello", caseQuery{AfterLast: true}, "hello"},
		"behind an anchor, itself left out":         {phases, caseQuery{After: "plan"}, "think decide #build code"},
		"after the first anchor":                    {phases, caseQuery{After: "session/start"}, "hello #plan think decide #build code"},
		"after the latest of a name":                {repeated, caseQuery{After: "a"}, "m3 #b/2 m4"},
		"after an anchor that does not exist":       {phases, caseQuery{After: "ship"}, "!not_found"},
		"names are compared whole":                  {phases, caseQuery{After: "pla"}, "!not_found"},
		"names are compared with case":              {phases, caseQuery{After: "Plan"}, "!not_found"},
		"between two anchors":                       {phases, caseQuery{Between: []string{"plan", "build"}}, "think decide"},
		"nothing is between neighbours":             {"#a #b m", caseQuery{Between: []string{"a", "b"}}, ""},
		"between the latest and the first after it": {repeated, caseQuery{Between: []string{"a", "b"}}, "m3"},
		"between an anchor and an earlier one":      {phases, caseQuery{Between: []string{"build", "plan"}}, "!not_found"},
		"between an anchor and itself":              {phases, caseQuery{Between: []string{"plan", "plan"}}, "!not_found"},
		"between, with an unknown start":            {phases, caseQuery{Between: []string{"none", "plan"}}, "!not_found"},
		"between, with an unknown end":              {phases, caseQuery{Between: []string{"plan", "none"}}, "!not_found"},
		"an anchor in between is an entry":          {"#a m1 #b m2 #c m3", caseQuery{Between: []string{"a", "c"}}, "m1 #b m2"},
		"one kind":                                  {"call:1 m event:2 call:3", caseQuery{Kinds: []string{"tool_call"}}, "call:1 call:3"},
		"several kinds keep the order":              {"call:1 m event:2 call:3", caseQuery{Kinds: []string{"event", "tool_call"}}, "call:1 event:2 call:3"},
		"a kind of one's own":                       {"m x:1 m2", caseQuery{Kinds: []string{"custom.kind"}}, "x:1"},
		"a kind that no entry has":                  {phases, caseQuery{Kinds: []string{"none"}}, ""},
		"anchors alone":                             {phases, caseQuery{Kinds: []string{"anchor"}}, "session/start #plan #build"},
		"a limit":                                   {phases, caseQuery{Limit: repo.N(2)}, "session/start hello"},
		"a limit of zero":                           {phases, caseQuery{Limit: repo.N(0)}, ""},
		"a limit beyond the end":                    {phases, caseQuery{AfterLast: true, Limit: repo.N(99)}, "code"},
		"a negative limit":                          {phases, caseQuery{Limit: repo.N(-1)}, "!usage"},
		"the limit comes last":                      {"#a call:1 m1 m2 m3", caseQuery{After: "a", Kinds: []string{"message"}, Limit: repo.N(2)}, "m1 m2"},
		"a bare end date lasts the day":             {dated, caseQuery{Until: "2026-05-01", Kinds: []string{"message"}}, "w x"},
		"both ends are included":                    {dated, caseQuery{Since: "2026-05-02T00:00:00Z", Until: "2026-05-02T00:00:00Z"}, "y z"},
		"zones are compared as moments":             {dated, caseQuery{Since: "2026-05-02T02:00:00+02:00", Until: "2026-05-01T20:00:00-04:00"}, "y z"},
		"one microsecond late":                      {dated, caseQuery{Since: "2026-05-02T00:00:00.000001Z", Until: "2026-05-03"}, ""},
		"dates the wrong way round":                 {dated, caseQuery{Since: "2026-05-03", Until: "2026-05-01"}, "!usage"},
		"a start that is not a date":                {dated, caseQuery{Since: "soon"}, "!usage"},
		"an end that is not a date":                 {dated, caseQuery{Until: "2026-02-30"}, "!usage"},
		"dates work after an anchor":                {"a1 #p " + day + " m@2026-05-02T10:00:00Z", caseQuery{After: "p", Since: "2026-05-02", Until: "2026-05-02"}, "m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := queryCase{Entries: script(c.tape), Query: c.query, Expect: caseExpect{Refs: strings.Fields(c.want)}}
			if class, ok := strings.CutPrefix(c.want, "!"); ok {
				one.Expect = caseExpect{Error: class}
			}
			one.run(t)
		})
	}
}
