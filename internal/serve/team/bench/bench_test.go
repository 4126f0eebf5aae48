//go:build extra

package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tape/internal/serve/team/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/serve/team/sync"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/testkit/teamtest"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// env is the environment variable with the numbers of entries to measure with.
const env = "TAPE_BENCH_TEAM"

const (
	perTape  = 2000 // entries of a tape
	perEntry = 40   // words of an entry, most of them common ones
	months   = 24
	searches = 100 // of each kind of word
)

// TestBench prints a table for each number of entries.
func TestBench(t *testing.T) {
	sizes := strings.Fields(os.Getenv(env))
	if len(sizes) == 0 {
		t.Skip("make bench-team runs this: it takes minutes")
	}
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		storetest.Must(t, err)
		t.Run(size, func(t *testing.T) { measure(t, n) })
	}
}

// word is the word of a rank: the lower, the more entries have it.
func word(rank int) string {
	const parts = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu"
	out := ""
	for n := rank + 400; n > 0; n /= 20 {
		out += parts[n%20*3 : n%20*3+2]
	}
	return out
}

// kinds are the words that are searched for, by rank: each word of a query is from a range of its own. The table says
// how often the first word of the first query occurs.
var kinds = []struct {
	name  string
	ranks [][2]int
}{{"rare word", [][2]int{{150_000, 160_000}}}, {"usual word", [][2]int{{2_000, 4_000}}}, {"very common word", [][2]int{{1, 6}}},
	{"five words", [][2]int{{5, 50}, {50, 500}, {500, 5_000}, {5_000, 50_000}, {2_000, 4_000}}},
	{"five common words", [][2]int{{1, 20}, {20, 40}, {40, 60}, {60, 80}, {80, 100}}}}

// query returns the query number i of a kind, of so many.
func query(ranks [][2]int, i, of int) string {
	var words []string
	for n, r := range ranks {
		words = append(words, word(r[0]+(i*(n+1)%of)*(r[1]-r[0])/of))
	}
	return strings.Join(words, " ")
}

type bench struct {
	*testing.T
	store   *repo.Store
	db      *db.DB
	options sync.Options
	conn    *pgx.Conn
	site    *httptest.Server
	token   string
}

func measure(t *testing.T, entries int) {
	b := &bench{T: t}
	b.fill(entries)
	b.report("sync from empty", b.sync(entries/perTape, entries), entries)
	one, err := b.store.Tape(t.Context(), "t-0")
	storetest.Must(t, err)
	storetest.Append(t, one, repo.Message("user", "needle"))
	_, _, err = one.Checkpoint(t.Context())
	storetest.Must(t, err)
	_, err = b.store.Push(t.Context(), "origin", nil)
	storetest.Must(t, err)
	b.report("sync, one tape changed", b.sync(1, 1), 0)
	b.report(fmt.Sprintf("sync, nothing changed in %d tapes", entries/perTape), b.sync(0, 0), 0)
	b.serve()
	b.others()
	for _, k := range kinds {
		var queries []string
		for i := range searches {
			queries = append(queries, query(k.ranks, i, searches))
		}
		found, first := 0, word(k.ranks[0][0])
		storetest.Must(t, b.conn.QueryRow(t.Context(), `SELECT count(*) FROM plain WHERE words @@ plainto_tsquery('simple', $1)`, first).Scan(&found))
		b.Logf("%s: %d entries have %q", k.name, found, first)
		b.times(k.name+", tape over HTTP", queries, b.ask)
		b.times(k.name+", ILIKE with trigrams, newest ten", queries[:10], b.sql(`SELECT remote, tape, id, left(text, 300) FROM plain WHERE text ILIKE '%' || $1 || '%' ORDER BY date DESC LIMIT 10`))
		b.times(k.name+", ts_rank, best ten", queries[:10], b.sql(`SELECT remote, tape, id, left(text, 300) FROM plain, plainto_tsquery('simple', $1) q WHERE words @@ q ORDER BY ts_rank(words, q) DESC, date DESC LIMIT 10`))
	}
	b.together()
}

// fill makes a workspace with about this many entries, spread over the months.
func (b *bench) fill(entries int) {
	dir, err := os.MkdirTemp("", "team-bench")
	storetest.Must(b, err)
	b.Cleanup(func() { os.RemoveAll(dir) })
	b.store, _, err = repo.Init(b.Context(), filepath.Join(dir, "workspace"), nil)
	storetest.Must(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	ranks := rand.NewZipf(r, 1.07, 3, 200_000)
	begin := time.Now().AddDate(0, -months, 0)
	kinds := []func(string) repo.Draft{
		func(s string) repo.Draft { return repo.Message("user", s) },
		func(s string) repo.Draft { return repo.Message("assistant", s) },
		func(s string) repo.Draft {
			return repo.Draft{Kind: repo.KindToolResult, Payload: fmt.Appendf(nil, `{"results":[%q]}`, s)}
		},
	}
	for i := range entries / perTape {
		t, err := b.store.CreateTape(b.Context(), fmt.Sprintf("t-%d", i))
		storetest.Must(b, err)
		var drafts []repo.Draft
		for j := range perTape - 1 {
			words := make([]string, perEntry)
			for k := range words {
				words[k] = word(int(ranks.Uint64()))
			}
			d := kinds[r.IntN(len(kinds))](strings.Join(words, " "))
			d.Date = begin.Add(time.Since(begin) / time.Duration(entries/perTape) * time.Duration(i)).Add(time.Duration(j) * time.Minute).UTC().Format(time.RFC3339)
			drafts = append(drafts, d)
		}
		_, err = t.Append(b.Context(), nil, drafts...)
		storetest.Must(b, err)
		_, _, err = t.Checkpoint(b.Context())
		storetest.Must(b, err)
	}
	remote := filepath.Join(dir, "remote.git") // as a git host has it
	storetest.Git(b, dir, "init", "-q", "--bare", remote)
	storetest.Must(b, b.store.AddRemote(b.Context(), "origin", remote))
	_, err = b.store.Push(b.Context(), "origin", nil)
	storetest.Must(b, err)
	c := &config.Config{URL: "http://127.0.0.1", Cache: filepath.Join(dir, "mirrors"), Auth: config.Auth{Kind: config.Tokens},
		Remotes: []config.Remote{{Name: "shop", URL: remote, Groups: []string{"shop"}}}}
	address := teamtest.Address(b)
	b.db = teamtest.OpenAt(b, address)
	b.conn, err = pgx.Connect(b.Context(), address)
	storetest.Must(b, err)
	b.Cleanup(func() { b.conn.Close(context.WithoutCancel(b.Context())) })
	b.options = sync.Options{Config: c, DB: b.db, Wait: true, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// sync syncs the remote, and returns how long that took. tapes and entries are the least that must have changed.
func (b *bench) sync(tapes, entries int) time.Duration {
	began := time.Now()
	err := sync.Once(b.Context(), b.options, func(res sync.Result) {
		storetest.Must(b, res.Err)
		if res.Tapes < tapes || int(res.Entries) < entries {
			b.Fatalf("the sync is %+v, want at least %d tapes and %d entries", res, tapes, entries)
		}
	})
	storetest.Must(b, err)
	return time.Since(began)
}

func (b *bench) report(what string, took time.Duration, entries int) {
	rate := ""
	if entries > 0 {
		rate = fmt.Sprintf(", %.0f entries a second", float64(entries)/took.Seconds())
	}
	fmt.Printf("| %s | %.2f s%s |\n", what, took.Seconds(), rate)
}

type store struct{ *db.DB }

func (s store) Source(ctx context.Context, remotes []string) (find.Source, error) {
	return s.View(ctx, remotes)
}

func (b *bench) serve() {
	var err error
	b.token, err = b.db.AddToken(b.Context(), "ada", []string{"shop"}, time.Now(), time.Now().AddDate(1, 0, 0))
	storetest.Must(b, err)
	// A server allows one person a few searches a second. Its clock runs ahead, so that nobody waits.
	var calls atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(calls.Add(1)) * time.Second) }
	b.site = httptest.NewUnstartedServer(nil)
	b.site.Config.Handler, err = api.New(api.Options{Config: b.options.Config, Store: store{b.db}, Now: now, Log: b.options.Log}, b.site.Listener.Addr().String())
	storetest.Must(b, err)
	b.site.Start()
	b.Cleanup(b.site.Close)
}

// others makes a table with the same rows, for the searches that PostgreSQL itself offers.
func (b *bench) others() {
	began := time.Now()
	for _, sql := range []string{
		`SELECT set_config('tape.remotes', '{1}', false), set_config('maintenance_work_mem', '64MB', false)`,
		`CREATE EXTENSION IF NOT EXISTS pg_trgm`,
		`CREATE TABLE plain AS SELECT remote, tape, id, date, text, to_tsvector('simple', text) AS words FROM entries`,
		`CREATE INDEX ON plain USING gin (words)`,
		`CREATE INDEX ON plain USING gin (text gin_trgm_ops)`,
		`CREATE INDEX ON plain (date DESC)`,
		`ANALYZE plain`,
	} {
		_, err := b.conn.Exec(b.Context(), sql)
		storetest.Must(b, err)
	}
	b.Logf("the other indexes: %v", time.Since(began))
}

func (b *bench) ask(q string) error {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.site.URL+"/v1/search?limit=10&q="+url.QueryEscape(q), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", res.StatusCode, body)
	}
	return err
}

func (b *bench) sql(sql string) func(string) error {
	return func(q string) error {
		rows, err := b.conn.Query(b.Context(), sql, q)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return rows.Err()
	}
}

// times asks each query, after a few to warm up, and prints how long they took.
func (b *bench) times(what string, queries []string, ask func(string) error) {
	for _, q := range queries[:3] {
		storetest.Must(b, ask(q))
	}
	var took []time.Duration
	for _, q := range queries {
		began := time.Now()
		storetest.Must(b, ask(q))
		took = append(took, time.Since(began))
	}
	p50, p95 := percentiles(took)
	fmt.Printf("| %s | p50 %.1f ms, p95 %.1f ms |\n", what, p50, p95)
}

func percentiles(took []time.Duration) (p50, p95 float64) {
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return ms(took[len(took)/2]), ms(took[len(took)*95/100])
}

// together has 20 people search at once.
func (b *bench) together() {
	const people, each = 20, 30
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = people
	var mu stdsync.Mutex
	var took []time.Duration
	var all stdsync.WaitGroup
	began := time.Now()
	for who := range people {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(who), 1))
			for i := range each {
				k := kinds[i%len(kinds)]
				since := time.Now()
				err := b.ask(query(k.ranks, r.IntN(searches), searches))
				mu.Lock()
				took = append(took, time.Since(since))
				if mu.Unlock(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	rate := float64(len(took)) / time.Since(began).Seconds()
	p50, p95 := percentiles(took)
	fmt.Printf("| 20 people at once | %.0f searches a second, p50 %.1f ms, p95 %.1f ms |\n", rate, p50, p95)
}
