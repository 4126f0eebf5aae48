package find

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/index"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/sync"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/testkit/teamtest"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

var vocabulary = strings.Fields(`0381a524da4c363a02ecd2ee720d8b641b187af9 timeout retry connection reset cache redis fork merge 数据库连接 超时 parseHTTP2 snake_case main.go error test branch anchor
	handoff deploy config server client the of and is a in it to for with on at file line code build run go git 42 0.4.3 café naïve`)

// said returns a random text. The first words of the vocabulary are rare in it, those in the middle common.
func said(r *rand.Rand) string {
	var words []string
	for range 1 + r.IntN(12) {
		words = append(words, vocabulary[int(float64(len(vocabulary))*r.Float64()*(0.4+0.6*r.Float64()))])
	}
	return strings.Join(words, " ")
}

// corpus fills a workspace with random sessions of half a year, pushes it, and syncs a database. Each of the
// remotes is that workspace under a name of its own.
func corpus(t *testing.T, r *rand.Rand, entries int, remotes ...string) (*repo.Store, *db.DB) {
	t.Helper()
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s := storetest.New(t, &repo.InitOptions{Options: repo.Options{Now: func() time.Time { return begin }}})
	remote := filepath.Join(t.TempDir(), "remote.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", remote).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	storetest.Must(t, s.AddRemote(t.Context(), "origin", remote))
	kinds := []func(string) repo.Draft{
		func(text string) repo.Draft { return repo.Message("user", text) },
		func(text string) repo.Draft { return repo.Message("assistant", text) },
		func(text string) repo.Draft {
			return repo.Draft{Kind: repo.KindToolResult, Payload: fmt.Appendf(nil, `{"results":[%q]}`, text)}
		},
		func(text string) repo.Draft { return repo.Event("note", fmt.Appendf(nil, `{"text":%q}`, text)) },
	}
	const tapes = 6
	for i := range tapes {
		tp, err := s.CreateTape(t.Context(), fmt.Sprintf("tape-%d", i))
		storetest.Must(t, err)
		at := begin.Add(time.Duration(r.IntN(30*24)) * time.Hour)
		var drafts []repo.Draft
		for range entries / tapes {
			at = at.Add(time.Duration(1+r.IntN(100*24*3600*tapes/entries)) * time.Second) // a date in the future becomes another one
			d := kinds[r.IntN(len(kinds))](said(r))
			d.Date = at.Format(time.RFC3339)
			drafts = append(drafts, d)
		}
		storetest.Append(t, tp, drafts...)
	}
	_, err := s.Push(t.Context(), "origin", nil)
	storetest.Must(t, err)
	d := teamtest.Open(t)
	c := &config.Config{Cache: t.TempDir()}
	for _, name := range remotes {
		c.Remotes = append(c.Remotes, config.Remote{Name: name, URL: remote, Groups: []string{name}})
	}
	err = sync.Once(t.Context(), sync.Options{Config: c, DB: d, Wait: true, Now: time.Now}, func(res sync.Result) { storetest.Must(t, res.Err) })
	storetest.Must(t, err)
	return s, d
}

// TestAgree: for the same sessions, the first ten hits of a search in the workspace and in the database agree.
func TestAgree(t *testing.T) {
	t.Parallel()
	r := testkit.Random(t)
	s, d := corpus(t, r, testkit.Size(2400, 30000), "shop")
	v, err := d.View(t.Context(), []string{"shop"})
	storetest.Must(t, err)
	x := index.New(s, nil)
	defer x.Close()
	phrases := []string{"0381a524", "deploy 0381a524", "main.go OR to", "main.go OR it", "main.go OR deploy", `"of the" OR error`} // the weight of a phrase depends on the number of all that is found
	ask := func() string {
		if n := len(phrases); n > 0 {
			defer func() { phrases = phrases[1:] }()
			return phrases[0]
		}
		w := func() string { return vocabulary[r.IntN(len(vocabulary))] }
		slip := func() string { // a word with a letter too many
			word := []rune(w())
			return string(word[:len(word)-1]) + "x" + string(word[len(word)-1:])
		}
		return [...]func() string{
			slip, func() string { return slip() + " " + w() }, func() string { return "timeoutserver cachex " + w() }, func() string { return "HTTP2 snake " + slip() },
			w, w, func() string { return w() + " " + w() }, func() string { return w() + " OR " + w() }, func() string { return w() + " -" + w() },
			func() string { return w() + " in June 2026" }, func() string { return w() + " " + w() + " on 20 June 2026" },
			func() string { return `"` + w() + " " + w() + `"` }, func() string { return w()[:1] + "*" }, func() string { return w() + " " + w() + " " + w() },
		}[r.IntN(14)]()
	}
	for range testkit.Size(60, 600) {
		q := index.Search{Text: ask(), Exact: r.IntN(4) == 0, Newest: r.IntN(4) == 0, Query: repo.Query{Limit: repo.N(10)}}
		switch r.IntN(6) {
		case 0:
			q.Query.Kinds = []string{repo.KindMessage}
		case 1:
			q.Query.Roles = []string{"user"}
		case 2:
			q.Query.Since = time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
		}
		local, err := x.Search(t.Context(), q)
		storetest.Must(t, err)
		team, err := Search(t.Context(), v, q, nil)
		storetest.Must(t, err)
		var want, got []string
		for _, h := range local.Hits {
			want = append(want, fmt.Sprintf("%s@%d", h.Tape, h.ID))
		}
		for _, h := range team.Hits {
			got = append(got, fmt.Sprintf("%s@%d", h.Tape, h.ID))
		}
		if team.Some != local.Some || team.Instead != local.Instead {
			t.Errorf("%q: the team answers %q (some %v), the workspace %q (%v)", q.Text, team.Instead, team.Some, local.Instead, local.Some)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q newest %v, %+v:\nteam  %v\nlocal %v (%d matches)", q.Text, q.Newest, q.Query.Kinds, got, want, local.Matches)
		}
	}
}

// TestGroups: whatever a user asks for, every hit, session and entry is of a remote that the user sees, and the
// answers are the same as if the other remotes did not exist.
func TestGroups(t *testing.T) {
	t.Parallel()
	r := testkit.Random(t)
	_, d := corpus(t, r, 600, "shop", "bank", "mill")
	_, alone := corpus(t, rand.New(rand.NewPCG(1, 1)), 6, "other")
	none, err := alone.View(t.Context(), []string{"shop"})
	storetest.Must(t, err)
	if list, err := none.Sessions(t.Context(), db.Choice{Most: 10}); err != nil || len(list) > 0 {
		t.Errorf("a view of a remote that does not exist has the sessions %v (%v)", list, err)
	}
	for range testkit.Size(40, 400) {
		var seen []string
		for _, name := range []string{"shop", "bank", "mill"} {
			if r.IntN(2) == 0 {
				seen = append(seen, name)
			}
		}
		v, err := d.View(t.Context(), seen)
		storetest.Must(t, err)
		res, err := Search(t.Context(), v, index.Search{Text: vocabulary[r.IntN(len(vocabulary))], Newest: r.IntN(2) == 0}, nil)
		storetest.Must(t, err)
		for _, h := range res.Hits {
			if !slices.Contains(seen, h.Workspace) {
				t.Fatalf("a user of %v gets the hit @%d of %s", seen, h.ID, h.Workspace)
			}
		}
		list, err := v.Sessions(t.Context(), db.Choice{Most: 100, Forks: true})
		storetest.Must(t, err)
		sums, err := v.Totals(t.Context())
		storetest.Must(t, err)
		total := int64(0)
		for _, s := range list {
			if total += s.Entries; !slices.Contains(seen, s.Remote) {
				t.Fatalf("a user of %v sees the session %s of %s", seen, s.Name, s.Remote)
			}
		}
		if sums.Entries != total {
			t.Errorf("for a user of %v, the totals have %d entries, the sessions %d", seen, sums.Entries, total)
		}
		lists(t, v, list)
		all, err := d.View(t.Context(), []string{"shop", "bank", "mill"})
		storetest.Must(t, err)
		sessions, err := all.Sessions(t.Context(), db.Choice{Most: 100})
		storetest.Must(t, err)
		for _, s := range sessions { // the user asks for each session, also those that only others see
			n := 0
			storetest.Must(t, v.Entries(t.Context(), s, db.Range{Most: 10}, func(db.Stored) bool { n++; return true }))
			inside, err := v.Containing(t.Context(), s, "", 10)
			storetest.Must(t, err)
			n += len(inside)
			first := map[db.Key]time.Time{}
			storetest.Must(t, all.Entries(t.Context(), s, db.Range{Most: 1}, func(e db.Stored) bool { first[e.Key] = e.Date; return true }))
			rows, err := v.Read(t.Context(), first)
			storetest.Must(t, err)
			byID, err := v.ByID(t.Context(), []int64{s.ID})
			storetest.Must(t, err)
			if got, want := n > 0 && len(rows) == 1 && len(byID) == 1, slices.Contains(seen, s.Remote); got != want || !want && n+len(rows)+len(byID) > 0 {
				t.Fatalf("a user of %v gets %d entries, %d rows and %d sessions of %s", seen, n, len(rows), len(byID), s.Remote)
			}
		}
	}
}

// lists compares the answers for pages about sessions with the list of all sessions.
func lists(t *testing.T, v *db.View, all []db.Session) {
	t.Helper()
	n, err := v.CountSessions(t.Context(), db.Choice{Forks: true})
	storetest.Must(t, err)
	days, err := v.Days(t.Context(), time.Unix(0, 0).UTC())
	storetest.Must(t, err)
	sum := 0
	for _, k := range days {
		sum += k
	}
	facets, err := v.Facets(t.Context())
	storetest.Must(t, err)
	if want := min(1, len(all)); n != len(all) || sum != len(all) || len(facets.People) != want {
		t.Errorf("of %d sessions, %d are counted, %d by day; the people are %v, want %d", len(all), n, sum, facets.People, want)
	}
	for _, who := range facets.People {
		if mine, err := v.Sessions(t.Context(), db.Choice{Author: who, Forks: true, Skip: 1, Most: 1000}); err != nil || len(mine) != len(all)-1 {
			t.Errorf("of %d sessions, %d of %s come after the first one (%v)", len(all), len(mine), who, err)
		}
	}
}
