package db_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tape/internal/serve/team/db"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/testkit/teamtest"
)

// TestDated: a wrong clock puts no entry far into the future, and an entry without a date is the oldest.
func TestDated(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		date time.Time
		ok   bool
		want time.Time
	}{
		{now.Add(-time.Hour), true, now.Add(-time.Hour)},
		{now.AddDate(0, 0, 20), true, now.AddDate(0, 0, 20)},
		{now.AddDate(50, 0, 0), true, now},
		{time.Time{}, false, time.Unix(0, 0).UTC()},
		{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), true, time.Unix(0, 0).UTC()},
	} {
		if got := db.Dated(c.date, c.ok, now); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.date, got, c.want)
		}
	}
}

// TestAddress: the error for an address that cannot be used is one line, without the password.
func TestAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://%", "postgres://u:swordfish@127.0.0.1:1/d?connect_timeout=1"} {
		_, err := db.Open(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "swordfish") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v, want one line without the password", address, err)
		}
	}
}

func exec(t *testing.T, address, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestSchema: an empty database gets the tables once, and one of an older version gets new tables and keeps its
// tokens. A database of a newer version or of another program is left as it is.
func TestSchema(t *testing.T) {
	t.Parallel()
	address := teamtest.Address(t)
	d, err := db.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Use(t.Context()); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("an empty database is used: %v, want ErrNotFound", err)
	}
	for _, want := range []string{"made the tables", ""} {
		if did, err := d.Prepare(t.Context()); err != nil || did != want {
			t.Errorf("Prepare says %q (%v), want %q", did, err, want)
		}
	}
	now := time.Now()
	token, err := d.AddToken(t.Context(), "ada", []string{"shop"}, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	exec(t, address, `UPDATE tape_team SET version = 0; INSERT INTO remotes (name) OVERRIDING SYSTEM VALUE SELECT 'x' WHERE false`)
	if did, err := d.Prepare(t.Context()); err != nil || !strings.Contains(did, "filled again") {
		t.Errorf("of an older version: Prepare says %q (%v), want that it is filled again", did, err)
	}
	if got, err := d.TokenOf(t.Context(), token, now); err != nil || got.Name != "ada" {
		t.Errorf("the token is gone: %+v, %v", got, err)
	}
	exec(t, address, `UPDATE tape_team SET version = 99`)
	if _, err := d.Prepare(t.Context()); !errors.Is(err, layout.ErrConflict) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("of a newer version: %v, want ErrConflict", err)
	}
	other := teamtest.Address(t)
	exec(t, other, `CREATE TABLE mine (a int)`)
	o, err := db.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Prepare(t.Context()); !errors.Is(err, layout.ErrConflict) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("of another program: %v, want ErrConflict", err)
	}
}

// TestTokens: a token is valid until it expires or is revoked.
func TestTokens(t *testing.T) {
	t.Parallel()
	address := teamtest.Address(t)
	d := teamtest.OpenAt(t, address)
	now := time.Now().Truncate(time.Second)
	token, err := d.AddToken(t.Context(), "ada", []string{"shop", "leads"}, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddToken(t.Context(), "ada", []string{"shop"}, now, now.Add(time.Hour)); !errors.Is(err, layout.ErrConflict) {
		t.Errorf("a second token with the name: %v, want ErrConflict", err)
	}
	if got, err := d.TokenOf(t.Context(), token, now); err != nil || len(got.Groups) != 2 {
		t.Errorf("the token is %+v (%v), want two groups", got, err)
	}
	for _, wrong := range []string{"", "x", token + "x", "tape_team_"} {
		if _, err := d.TokenOf(t.Context(), wrong, now); !errors.Is(err, db.ErrToken) {
			t.Errorf("the wrong token %q: %v, want ErrToken", wrong, err)
		}
	}
	if _, err := d.TokenOf(t.Context(), token, now.Add(time.Hour)); !errors.Is(err, db.ErrToken) {
		t.Errorf("expired: %v, want ErrToken", err)
	}
	if err := d.Revoke(t.Context(), "ada", now); err != nil {
		t.Fatal(err)
	}
	if _, err := d.TokenOf(t.Context(), token, now); !errors.Is(err, db.ErrToken) {
		t.Errorf("revoked: %v, want ErrToken", err)
	}
	if err := d.Revoke(t.Context(), "ada", now); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("revoked twice: %v, want ErrNotFound", err)
	}
	if list, err := d.Tokens(t.Context()); err != nil || len(list) != 1 || list[0].Revoked == nil || list[0].Used == nil {
		t.Errorf("the tokens are %+v (%v), want one, used and revoked", list, err)
	}
}

// TestLogins: a login of a browser goes on until it ends, and is no token.
func TestLogins(t *testing.T) {
	t.Parallel()
	d := teamtest.OpenAt(t, teamtest.Address(t))
	now := time.Now().Truncate(time.Second)
	has := func(id string, at time.Time) bool {
		t.Helper()
		ok, err := d.HasLogin(t.Context(), id, at)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for _, id := range []string{"one", "two"} {
		if err := d.AddLogin(t.Context(), id, "ada", nil, now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.EndLogin(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Tokens(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("the tokens are %+v (%v), want none", list, err)
	}
	if !has("one", now) || has("one", now.Add(2*time.Hour)) || has("two", now) || has("three", now) {
		t.Error("a login goes on that is over, or the other way round")
	}
	if err := d.AddLogin(t.Context(), "four", "ada", nil, now.Add(2*time.Hour), now.Add(3*time.Hour)); err != nil || has("one", now) {
		t.Errorf("a login that was over is still kept (%v)", err)
	}
}

// TestTyped: of a search that is typed letter by letter, only the longest text is recorded.
func TestTyped(t *testing.T) {
	t.Parallel()
	address := teamtest.Address(t)
	d := teamtest.OpenAt(t, address)
	for _, s := range []struct{ who, text string }{
		{"ada", ""}, {"ada", "s"}, {"bob", "salary"}, {"ada", "secr"}, {"ada", "secret%"}, {"ada", "sec"}, {"eve", "a\x00b" + strings.Repeat("x", 5000)}, {"ada", "pause"}, {"ada", "pause then"},
	} {
		if err := d.AuditTyped(t.Context(), s.who, s.text, strings.ReplaceAll(s.text, "secret", "[x]")); err != nil {
			t.Fatal(err)
		}
		if s.text == "pause" { // a while ago
			exec(t, address, `UPDATE audit SET date = date - interval '1 minute'`)
		}
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var got string
	err = conn.QueryRow(t.Context(), `SELECT string_agg(who || ' ' || resource, ', ' ORDER BY who, resource COLLATE "C") FROM audit`).Scan(&got)
	if want := "ada [x]%, ada pause, ada pause then, ada sec, bob salary, eve a\uFFFDb" + strings.Repeat("x", 500-5) + "…"; err != nil || got != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// TestSecondWall: a query without the set of remotes gets no rows, even for the owner of the tables.
func TestSecondWall(t *testing.T) {
	t.Parallel()
	address := teamtest.Address(t)
	d := teamtest.OpenAt(t, address)
	w, err := d.Writer(t.Context(), "shop", true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	id, err := w.NewID(t.Context())
	if err == nil {
		err = c.Add(t.Context(), id, []db.Row{{ID: 1, Date: at, Kind: "message", Text: "needle", Line: "{}", Words: []string{"needle"}}})
	}
	if err == nil {
		err = c.Put(t.Context(), db.Tape{ID: id, Ref: "refs/heads/tape/main", Name: "main", Authors: []string{}, Entries: 1, Oldest: at, Newest: at})
	}
	if err == nil {
		err = c.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for range 2 { // the second time as after a worker that was killed before it made the index
		if err := w.Done(t.Context(), at, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), `DROP INDEX entries_202611_words`); err != nil {
			t.Errorf("the words have no index: %v", err)
		}
	}
	for set, want := range map[string]int{"": 0, "{}": 0, "{12345}": 0, "{1}": 1} {
		if _, err := conn.Exec(t.Context(), `SELECT set_config('tape.remotes', $1, false)`, set); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"remotes", "tapes", "entries", "months", "tape_find('''needle''', NULL, NULL, NULL, 10)"} {
			var n int
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != want {
				t.Errorf("with the set %q, %s has %d rows, want %d (%v)", set, table, n, want, err)
			}
		}
	}
	// Lists leave out the tape that comes with a workspace, while nothing is on it.
	shop, err := d.View(t.Context(), []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range []bool{true, false} {
		if list, err := shop.Sessions(t.Context(), db.Choice{Listed: listed, Most: 10}); err != nil || (len(list) == 0) != listed {
			t.Errorf("with Listed %v, the sessions are %v (%v)", listed, list, err)
		}
	}
	all, err := shop.Totals(t.Context())
	if err != nil || len(all.Months) == 0 {
		t.Fatalf("no months: %v", err)
	}
	for _, newest := range []int{0, 5} {
		found, err := shop.Best(t.Context(), db.Question{Words: "'needle'", Most: 10, Newest: newest, Months: all.Months[:1]})
		if err != nil || len(found) == 0 {
			t.Errorf("the best of one month, compared with the newest %d (0: all), are %v (%v)", newest, found, err)
		}
	}
	for _, names := range [][]string{nil, {"bank"}} {
		v, err := d.View(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		found, err := v.Find(t.Context(), db.Question{Words: "'needle'", Most: 10})
		if err != nil || len(found) > 0 {
			t.Errorf("a view of the remotes %v finds %v (%v), want nothing", names, found, err)
		}
		best, err := v.Best(t.Context(), db.Question{Words: "'needle'", Most: 10, Months: all.Months})
		if err != nil || len(best) > 0 {
			t.Errorf("the best for a view of the remotes %v are %v (%v), want nothing", names, best, err)
		}
		if counted, err := v.Count(t.Context(), all.Months, []string{"'needle'"}, 10); err != nil || counted[0].Found > 0 {
			t.Errorf("a view of the remotes %v counts %v (%v), want nothing", names, counted, err)
		}
	}
}

// TestWhole: subagents are left out if the remote has the tape of their session, whatever its name.
func TestWhole(t *testing.T) {
	t.Parallel()
	d := teamtest.Open(t)
	for remote, names := range map[string][]string{
		"shop": {"main", "main/agent-a", "Fix the Cart", "Fix the Cart/agent-b", "x-12345678", "x-12345678/agent-c", "gone/agent-d"},
		"bank": {"gone", "Fix the Cart/agent-b"},
	} {
		w, err := d.Writer(t.Context(), remote, true)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		c, err := w.Begin(t.Context())
		for _, name := range names {
			var id int64
			if err == nil {
				id, err = w.NewID(t.Context())
			}
			if err == nil {
				err = c.Put(t.Context(), db.Tape{ID: id, Ref: layout.BranchPrefix + layout.TapeSlug(name), Name: name, Authors: []string{}})
			}
		}
		if err == nil {
			err = c.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := d.View(t.Context(), []string{"shop", "bank"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := v.Sessions(t.Context(), db.Choice{Whole: true, Most: 20})
	var got []string
	for _, s := range list {
		got = append(got, s.Remote+" "+s.Name)
	}
	slices.Sort(got)
	if want := "bank Fix the Cart/agent-b, bank gone, shop Fix the Cart, shop gone/agent-d, shop main, shop x-12345678"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("the sessions are %s (%v), want %s", strings.Join(got, ", "), err, want)
	}
}

// TestStarred: sessions can be chosen by their stars and tags. A title that says the same is none.
func TestStarred(t *testing.T) {
	t.Parallel()
	d := teamtest.Open(t)
	w, err := d.Writer(t.Context(), "shop", true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	v, err := d.View(t.Context(), []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := v.Facets(t.Context()); err != nil || f.Stars {
		t.Errorf("no session has a star: %v, %v", f.Stars, err)
	}
	c, err := w.Begin(t.Context())
	for _, facts := range []about.Tape{{Title: "liked", Starred: true, Tags: []string{"a]b", `q"<uote`}}, {Title: `"starred":true,"tags":["plain"]`}, {Title: "plain", Tags: []string{"wip"}}} {
		var id int64
		if err == nil {
			id, err = w.NewID(t.Context())
		}
		raw, jsonErr := json.Marshal(facts)
		if err = cmp.Or(err, jsonErr); err == nil {
			name := fmt.Sprint("s", id)
			err = c.Put(t.Context(), db.Tape{ID: id, Ref: layout.BranchPrefix + name, Name: name, Title: facts.Title, Authors: []string{}, About: string(raw)})
		}
	}
	if err == nil {
		err = c.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err = d.View(t.Context(), []string{"shop"}); err != nil {
		t.Fatal(err)
	}
	choice := db.Choice{Starred: true, Most: 20}
	list, err := v.Sessions(t.Context(), choice)
	n, countErr := v.CountSessions(t.Context(), choice)
	f, facetsErr := v.Facets(t.Context())
	if err := cmp.Or(err, countErr, facetsErr); err != nil || len(list) != 1 || n != 1 || list[0].Title != "liked" || !f.Stars {
		t.Errorf("with a star: %v, %d, %v, %v; want one session", list, n, f.Stars, err)
	}
	if want := []string{"a]b", `q"<uote`, "wip"}; !slices.Equal(f.Tags, want) {
		t.Errorf("the tags are %q, want %q", f.Tags, want)
	}
	for tag, want := range map[string]int{"a]b": 1, `q"<uote`: 1, "wip": 1, "#WIP": 1, "plain": 0, "b": 0} {
		if n, err := v.CountSessions(t.Context(), db.Choice{Tag: tag}); err != nil || n != want {
			t.Errorf("%d sessions have the tag %q (%v), want %d", n, tag, err, want)
		}
	}
}

// TestCount: how many entries have a word that very many have is an estimate, also if one month has enough of them.
func TestCount(t *testing.T) {
	t.Parallel()
	d := teamtest.Open(t)
	w, err := d.Writer(t.Context(), "shop", true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	at := time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC)
	c, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.NewID(t.Context())
	var rows []db.Row
	for i := range int64(900) {
		row := db.Row{ID: i + 1, Date: at, Kind: "message", Text: strings.Repeat("some text ", 30), Line: "{}", Words: []string{"all"}}
		if i >= 600 {
			row.Date = at.AddDate(0, -1, 0)
		}
		if i%3 == 0 {
			row.Words = append(row.Words, "third")
		}
		if i%300 == 0 {
			row.Words = append(row.Words, "rare")
		}
		rows = append(rows, row)
	}
	if err == nil {
		err = c.Add(t.Context(), id, rows)
	}
	if err == nil {
		err = c.Put(t.Context(), db.Tape{ID: id, Ref: "refs/heads/tape/main", Name: "main", Authors: []string{}, Entries: 900, Oldest: at.AddDate(0, -1, 0), Newest: at})
	}
	if err == nil {
		err = c.Commit(t.Context())
	}
	if err == nil {
		err = w.Done(t.Context(), at, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.View(t.Context(), []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.Totals(t.Context())
	if err != nil || all.Entries != 900 || len(all.Months) != 2 {
		t.Fatalf("the totals are %+v (%v), want 900 entries in two months", all, err)
	}
	const most = 50
	got, err := v.Count(t.Context(), all.Months, []string{"'third'", "'rare'", "'none'", "'third' & 'all'"}, most)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []db.Counted{{Found: most, Among: 150}, {Found: 3, Among: 900}, {Found: 0, Among: 900}, {Found: most, Among: 150}} {
		if got[i].Found != want.Found || max(got[i].Among, want.Among)-min(got[i].Among, want.Among) > 50 {
			t.Errorf("count %d is %+v, want about %+v", i, got[i], want)
		}
	}
}
