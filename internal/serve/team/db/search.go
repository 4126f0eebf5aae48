package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tape/internal/store/relevance"
)

// Totals are sums over all entries of a view.
type Totals struct {
	Entries, Bytes int64
	Newest         time.Time // the date of the newest entry; zero: there is none
	Months         []Month   // those with entries, the newest first
}

// Month is a partition.
type Month struct {
	Part    string
	Begin   time.Time
	Entries int64 // of the view
	Pages   int64 // of the partition, when PostgreSQL counted them last
}

// Totals returns the sums over all entries of the view.
func (v *View) Totals(ctx context.Context) (t Totals, err error) {
	err = v.ask(ctx, `SELECT part, month, sum(entries)::bigint, sum(bytes)::bigint, (SELECT relpages FROM pg_class WHERE oid = to_regclass(part))::bigint,
		(SELECT max(newest) FROM tapes WHERE remote = ANY ($1)) FROM months WHERE remote = ANY ($1) AND entries > 0 GROUP BY part, month ORDER BY month DESC`, func(r pgx.Rows) error {
		var m Month
		var bytes int64
		var newest *time.Time
		err := r.Scan(&m.Part, &m.Begin, &m.Entries, &bytes, &m.Pages, &newest)
		t.Entries, t.Bytes, t.Months = t.Entries+m.Entries, t.Bytes+bytes, append(t.Months, m)
		if newest != nil {
			t.Newest = newest.UTC()
		}
		return err
	})
	return t, err
}

// Question says which entries to find. Words is a tsquery of PostgreSQL.
type Question struct {
	Words        string    // "" means all entries
	Units        []Unit    // by which Best judges entries
	Tapes        []int64   // nil means all
	Since, Until time.Time // zero means all
	Most         int       // how many at most
	Also         string    // for Best: a tsquery that is compared with the entries that have Words, not looked up; "" for none
	Newest       int       // Best compares only so many that have the words, the newest; 0 means all
	Months       []Month   // of Totals
}

// Unit is a tsquery with the weight that it gives to an entry. An entry that also matches Often gets More.
type Unit struct {
	Words  string
	Weight float64
	Often  string // "" for none
	More   float64
}

// Key names an entry.
type Key struct {
	Remote   int32
	Tape, ID int64
}

// Found is an entry that has the words.
type Found struct {
	Key
	Date  time.Time
	Kind  string
	Sign  int64   // equal for entries that say nearly the same
	Bytes int     // length of the line in git
	Sum   float64 // from Best: of the weights of the units that it matches
}

// Find returns entries that have the words, the newest first.
func (v *View) Find(ctx context.Context, q Question) (out []Found, err error) {
	err = v.ask(ctx, `SELECT remote, tape, id, date, kind, sign, bytes FROM tape_find($2, $3, $4, $5, $6) WHERE remote = ANY ($1)`, func(r pgx.Rows) error {
		var f Found
		err := r.Scan(&f.Remote, &f.Tape, &f.ID, &f.Date, &f.Kind, &f.Sign, &f.Bytes)
		out = append(out, f)
		return err
	}, q.Words, q.Tapes, orNull(q.Since), orNull(q.Until), q.Most)
	return out, err
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Plans for a search in all months. Planning takes much longer than such a search, so that a connection plans it once, for all
// words: PostgreSQL then uses the index of words. With the ids of sessions, it depends on them which index is best.
const (
	planOnce   = "force_generic_plan"
	planAnyway = "force_custom_plan"
)

// inMonths runs a query with entries of months, the newest month first. In it, %s stands for the columns, the number of the
// month in the list, and "where" holds for them; it may go on with an order. The partitions themselves are read: under row
// security, PostgreSQL uses no index of words. So they are compared with the same set of remotes, too.
func (v *View) inMonths(ctx context.Context, plan string, months []Month, sql, columns, where string, each func(r pgx.Rows) error, args ...any) error {
	if len(months) == 0 {
		return nil
	}
	parts := make([]string, len(months))
	for i, m := range months {
		parts[i] = fmt.Sprintf("(SELECT %s, %d AS month FROM %s e WHERE e.remote = ANY ($1) AND e.remote = ANY ((SELECT tape_seen())::int[]) AND %s)", columns, i, pgx.Identifier{m.Part}.Sanitize(), where)
	}
	settings := []string{"tape.remotes", setOf(v.ids), "tape.all", "off", "plan_cache_mode", plan, "jit", "off", "max_parallel_workers_per_gather", "0"}
	return inWords(v.db.query(ctx, settings, fmt.Sprintf(sql, strings.Join(parts, " UNION ALL ")), append([]any{v.ids}, args...), each))
}

// sumOf adds the weights of the units that an entry x matches, as SQL. Each unit is a term of its own: a subquery over the
// units takes longer for an entry than reading it. So that a connection plans few queries, there may be more terms than
// units; without a unit, a term is 0.
func sumOf(units int) string {
	terms := 1
	for terms < units {
		terms *= 2
	}
	sum := "0::float8"
	for i := range terms {
		sum += fmt.Sprintf(" + CASE WHEN x.words @@ (SELECT ($3::text[])[%[1]d]::tsquery) THEN ($4::float8[])[%[1]d] + CASE WHEN x.words @@ (SELECT ($5::text[])[%[1]d]::tsquery) THEN ($6::float8[])[%[1]d] ELSE 0 END ELSE 0 END", i+1)
	}
	return sum
}

// Best returns the entries that have the words with the greatest sums: of the weights of the units that they match, times
// the weight of their kind. Of those with the same sum, the newest come first.
func (v *View) Best(ctx context.Context, q Question) (out []Found, err error) {
	var kinds []string
	var factors []float64
	for _, k := range relevance.ByWeight {
		for _, name := range k.Names {
			kinds, factors = append(kinds, name), append(factors, k.Weight)
		}
	}
	var months []Month
	for _, m := range q.Months {
		if (q.Since.IsZero() || m.Begin.AddDate(0, 1, 0).After(q.Since)) && (q.Until.IsZero() || m.Part == oldPart || !m.Begin.After(q.Until)) {
			months = append(months, m)
		}
	}
	words, often := []string{}, []*string{}
	weights, more := []float64{}, []float64{}
	for _, u := range q.Units {
		words, weights, often, more = append(words, u.Words), append(weights, u.Weight), append(often, &u.Often), append(more, u.More)
		if u.Often == "" {
			often[len(often)-1] = nil
		}
	}
	plan := planOnce
	if q.Tapes != nil {
		plan = planAnyway
	}
	has := "e.words @@ $2::tsquery"
	if q.Words == "" {
		has = "$2 = ''"
	}
	where := has + ` AND ($10::bigint[] IS NULL OR e.tape = ANY ($10)) AND ($11::timestamptz IS NULL OR e.date >= $11) AND ($12::timestamptz IS NULL OR e.date <= $12)
		AND (e.words @@ nullif($14, '')::tsquery) IS NOT FALSE`
	from := "%s"
	if q.Newest > 0 { // An older month is read only if the newer ones have too few. To order by e.date alone, PostgreSQL might read the index of dates.
		newest := fmt.Sprintf(" LIMIT %d", q.Newest)
		where, from = where+" ORDER BY e.date + '0'::interval DESC, e.id DESC"+newest, "SELECT * FROM (%s) a"+newest
	}
	err = v.inMonths(ctx, plan, months, `SELECT * FROM (SELECT remote, tape, id, date, kind, sign, bytes,
			(`+sumOf(len(words))+`) * coalesce(($8::float8[])[array_position($7::text[], kind)], $9) AS sum
		FROM (`+from+`) x) y ORDER BY sum DESC, date DESC, tape, id DESC LIMIT $13`, "e.remote, e.tape, e.id, e.date, e.kind, e.sign, e.bytes, e.words", where,
		func(r pgx.Rows) error {
			var f Found
			err := r.Scan(&f.Remote, &f.Tape, &f.ID, &f.Date, &f.Kind, &f.Sign, &f.Bytes, &f.Sum)
			f.Sum /= relevance.KindWeight(f.Kind)
			out = append(out, f)
			return err
		}, q.Words, words, weights, often, more, kinds, factors, relevance.OtherWeight, q.Tapes, orNull(q.Since), orNull(q.Until), q.Most, q.Also)
	return out, err
}

// Counted says how many entries match a tsquery.
type Counted struct {
	Found int64
	Among int64 // how many entries were looked at, about
}

// Count counts the entries that match each of some tsqueries, from the newest month on, until there are most of them.
func (v *View) Count(ctx context.Context, months []Month, queries []string, most int) ([]Counted, error) {
	out := make([]Counted, len(queries))
	err := v.inMonths(ctx, planOnce, months, `SELECT u.n, c.* FROM unnest($2::text[]) WITH ORDINALITY u(q, n) CROSS JOIN LATERAL
		(SELECT count(*), coalesce(max(month), 0), coalesce((array_agg(ctid))[$3]::text, '') FROM (SELECT * FROM (%s) y LIMIT $3) x) c`,
		"e.ctid", "e.words @@ u.q::tsquery", func(r pgx.Rows) error {
			var n, found int64
			var month int
			var last string // where the last row is, as (page,row); "" if there are fewer than the limit
			if err := r.Scan(&n, &found, &month, &last); err != nil {
				return err
			}
			c := &out[n-1]
			c.Found = found
			if last == "" {
				month = len(months)
			}
			for _, m := range months[:month] {
				c.Among += m.Entries
			}
			if last != "" { // an index of words finds the entries of a month in the order of pages
				m, share, page := months[month], 1.0, 0
				if _, err := fmt.Sscanf(last, "(%d,", &page); err == nil && m.Pages > 0 {
					share = min(1, float64(page+1)/float64(m.Pages))
				}
				c.Among = max(c.Found, c.Among+int64(share*float64(m.Entries)))
			}
			return nil
		}, queries, most)
	return out, err
}
