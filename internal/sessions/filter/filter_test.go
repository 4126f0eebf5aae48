package filter_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/filter"
	"tape/internal/store/snapshot"
	"tape/repo"
)

func now() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600)) }

// TestQuery: every filter gets into the query. The error for an invalid one begins with the name that the filter has on
// the command line.
func TestQuery(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, now().Location()) }
	for _, c := range []struct {
		given filter.Params
		want  repo.Query
		err   string
	}{
		{},
		{given: filter.Params{Kinds: []string{"message", "my.kind"}}, want: repo.Query{Kinds: []string{"message", "my.kind"}}},
		{given: filter.Params{Roles: []string{"user", "moderator"}}, want: repo.Query{Roles: []string{"user", "moderator"}}},
		{given: filter.Params{Authors: []string{"ada", "bob@x"}}, want: repo.Query{Authors: []string{"ada", "bob@x"}}},
		{given: filter.Params{Authors: []string{""}}, err: "--author: a name is empty"},
		{given: filter.Params{Since: "2d"}, want: repo.Query{Since: now().AddDate(0, 0, -2)}},
		{given: filter.Params{Since: "yesterday", Until: "yesterday"}, want: repo.Query{Since: day(19), Until: day(20).Add(-time.Microsecond)}},
		{given: filter.Params{Until: "2026-11-20T09:30:00Z"}, want: repo.Query{Until: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}},
		{given: filter.Params{Kinds: []string{"mesage"}}, err: `--kind: there is no kind "mesage"`},
		{given: filter.Params{Roles: []string{"asistant"}}, err: `--role: there is no role "asistant"`},
		{given: filter.Params{Since: "soon"}, err: `--since: "soon" is not a date`},
		{given: filter.Params{Until: "never"}, err: `--until: "never" is not a date`},
		{given: filter.Params{Since: "today", Until: "yesterday"}, err: "--since and --until: the range of dates is empty"},
	} {
		got, err := c.given.Query(filter.AsFlag, now())
		switch {
		case c.err != "":
			if !errors.Is(err, repo.ErrInvalid) || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%+v: error %v, want %s", c.given, err, c.err)
			}
		case err != nil || !got.Since.Equal(c.want.Since) || !got.Until.Equal(c.want.Until):
			t.Errorf("%+v: %+v, %v; want %+v", c.given, got, err, c.want)
		default:
			got.Since, got.Until = c.want.Since, c.want.Until
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v: %+v, want %+v", c.given, got, c.want)
			}
		}
		if given := !reflect.DeepEqual(c.given, filter.Params{}); c.given.Any() != given {
			t.Errorf("%+v: Any is %v, want %v", c.given, c.given.Any(), given)
		}
	}
}

// TestNames: each interface has its own names of parameters.
func TestNames(t *testing.T) {
	t.Parallel()
	for want, named := range map[string]filter.NameFunc{"--kind --since": filter.AsFlag, "kind since": filter.InURL, "kinds since": filter.InJSON} {
		if got := named("kinds") + " " + named("since"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFromURL: a list may have several values, and an empty parameter is no filter.
func TestFromURL(t *testing.T) {
	t.Parallel()
	v, err := url.ParseQuery("kind=message&kind=event&role=&author=ada&since=2d&until=")
	if p := filter.FromURL(v); err != nil || !slices.Equal(p.Kinds, []string{"message", "event"}) || len(p.Roles) > 0 || !slices.Equal(p.Authors, []string{"ada"}) || p.Since != "2d" || p.Until != "" {
		t.Errorf("%+v, %v; want two kinds, the author ada and since 2d", p, err)
	}
}

// TestFields: every filter can be given as JSON, in a URL, or as a flag, which sets it by its pointer. It gets into the
// query. Unless it is a date, it is a property of entries.
func TestFields(t *testing.T) {
	t.Parallel()
	lists := 0
	for _, f := range filter.Fields() {
		value, given := `"2026-11-20"`, "2026-11-20"
		if f.List != nil {
			lists++
			value, given = `["x"]`, "x"
		}
		var fromJSON, fromFlags filter.Params
		if err := json.Unmarshal([]byte(`{"`+f.Name+`":`+value+`}`), &fromJSON); err != nil {
			t.Fatal(err)
		}
		if f.List != nil {
			*f.List(&fromFlags) = []string{given}
		} else {
			*f.Date(&fromFlags) = given
		}
		fromURL := filter.FromURL(url.Values{filter.InURL(f.Name): {given}})
		q, err := fromJSON.Query(filter.InJSON, now())
		if !reflect.DeepEqual(fromJSON, fromURL) || !reflect.DeepEqual(fromJSON, fromFlags) || !fromJSON.Any() || err != nil || reflect.DeepEqual(q, repo.Query{}) {
			t.Errorf("%s: from JSON %+v, from a URL %+v, from flags %+v, want them equal; the query is %+v, %v", f.Name, fromJSON, fromURL, fromFlags, q, err)
		}
		sent := filter.ToURL(q)
		again, err := filter.FromURL(sent).Query(filter.InURL, now())
		if len(sent) != 1 || err != nil || !reflect.DeepEqual(filter.ToURL(again), sent) {
			t.Errorf("%s: sent as %v, and read as %v, %v", f.Name, sent, filter.ToURL(again), err)
		}
		if !json.Valid([]byte("{" + filter.Schema(filter.InJSON, f.Name) + "}")) {
			t.Errorf("the schema of %s is not JSON: %s", f.Name, filter.Schema(filter.InJSON, f.Name))
		}
	}
	if lists != len(snapshot.Properties) {
		t.Errorf("%d filters that are lists, want one for each of the %d properties of entries", lists, len(snapshot.Properties))
	}
}

// TestNumbers: Capped keeps a number within its bounds, and Count refuses a negative one.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{-1: 20, 0: 20, 1: 1, 50: 50, 51: 50} {
		if got := filter.Capped(n, 20, 50); got != want {
			t.Errorf("Capped(%d) is %d, want %d", n, got, want)
		}
	}
	if n, err := filter.Count("--limit", nil); n != nil || err != nil {
		t.Errorf("Count of nil: %v, %v; want nil", n, err)
	}
	if n, err := filter.Count("--limit", repo.N(0)); err != nil || *n != 0 {
		t.Errorf("Count of 0: error %v, want 0", err)
	}
	if _, err := filter.Count("--limit", repo.N(-1)); !errors.Is(err, repo.ErrInvalid) || err.Error() != "--limit must not be negative" {
		t.Errorf("Count of -1: error %v", err)
	}
}

// TestOrder: an order is newest or relevance, and any other is refused.
func TestOrder(t *testing.T) {
	t.Parallel()
	if newest, err := filter.Order("--sort", "newest"); err != nil || !newest {
		t.Errorf("newest: %t, %v; want true", newest, err)
	}
	if newest, err := filter.Order("--sort", "relevance"); err != nil || newest {
		t.Errorf("relevance: %t, %v; want false", newest, err)
	}
	if _, err := filter.Order("--sort", "age"); !errors.Is(err, repo.ErrInvalid) || err.Error() != `--sort is relevance or newest, not "age"` {
		t.Errorf("age: error %v", err)
	}
}
