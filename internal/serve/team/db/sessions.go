package db

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tape/internal/store/about"
)

// Session is a tape or fork, with the name of its remote.
type Session struct {
	Remote   string
	RemoteID int32
	Tape
}

// Choice says which sessions are listed.
type Choice struct {
	Remote  string    // the whole name; "" means all
	Name    string    // the whole name; "" means all; with a name, forks are listed, too
	Text    string    // a part of title, name or project, ignoring case
	Agent   string    // a part of it
	Project string    // a part of it
	Since   time.Time // updated since then; zero means all
	Until   time.Time // begun until then; zero means all
	Forks   bool      // also forks

	Projects []string // whole names of folders; nil means all
	Author   string   // the whole name of somebody who wrote in it
	Under    string   // what the names begin with
	Listed   bool     // without sessions that have nothing but their first anchor
	Whole    bool     // without subagents, which belong to the session that started them
	Starred  bool     // with a star
	Tag      string   // one of its tags
	Skip     int      // how many to leave out at the beginning

	Begun bool // in the order of their beginnings, which stays the same while sessions grow

	// The last session of the previous page, its Updated (with Begun, Started) and ID. nil: there is none.
	AfterTime *time.Time
	AfterID   int64
	Most      int // how many at most
}

// Sessions lists sessions, those with the newest entries first; with c.Begun, the newest first.
func (v *View) Sessions(ctx context.Context, c Choice) (out []Session, err error) {
	if c.Remote != "" {
		v = v.only(c.Remote)
	}
	at := "coalesce(updated, 'epoch')"
	if c.Begun {
		at = "coalesce(started, 'epoch')"
	}
	return v.sessions(ctx, `SELECT remote, `+tapeColumns+` FROM tapes t WHERE `+chosen+`
		AND ($16::timestamptz IS NULL OR (`+at+`, -id) < ($16, -$17::bigint))
		ORDER BY `+at+` DESC, id OFFSET $18 LIMIT $19`, append(c.args(), c.AfterTime, c.AfterID, c.Skip, c.Most)...)
}

// chosen is a Choice as a condition in SQL. Choice.args has its parameters from $2 on.
const chosen = `remote = ANY ($1)
	AND ($2 = '' OR name = $2) AND ($3 = '' OR title || ' ' || name || ' ' || project ILIKE $3) AND ($4 = '' OR agent ILIKE $4) AND ($5 = '' OR project ILIKE $5)
	AND ($6::timestamptz IS NULL OR updated >= $6) AND ($7::timestamptz IS NULL OR started <= $7) AND ($8 OR ref NOT LIKE 'refs/heads/fork/%')
	AND ($9::text[] IS NULL OR project = ANY ($9)) AND ($10 = '' OR $10 = ANY (` + people + `)) AND starts_with(name, $11)
	AND NOT ($12 AND entries <= 1)
	AND NOT ($13 AND parent <> '' AND EXISTS (SELECT FROM tapes p WHERE p.remote = t.remote AND p.ref = t.parent))
	AND NOT ($14 AND NOT ` + starred + `) AND ($15 = '' OR ` + tags + ` ? $15)`

// starred says that a session has a star, by the member of its JSON: within a text, its quotes would have backslashes.
const starred = `position('"starred":true' in about) > 0`

// tags are a session's tags as jsonb, NULL if it has none. They have no control characters, which jsonb refuses.
const tags = `substring(about from '"tags":(\[("(\\.|[^"\\])*",?)+\])')::jsonb`

// people are those who wrote in a session: its authors, or, if its entries name none, its owner.
const people = `CASE WHEN authors = '{}' THEN ARRAY[owner] ELSE authors END`

// args returns the parameters of chosen, without the first, the set of remotes.
func (c Choice) args() []any {
	return []any{c.Name, like(c.Text), like(c.Agent), like(c.Project), orNull(c.Since), orNull(c.Until), c.Forks || c.Name != "", c.Projects, c.Author, c.Under, c.Listed, c.Whole, c.Starred, about.Typed(c.Tag)}
}

// CountSessions returns how many sessions there are. It ignores c.Remote, and what belongs to pages: c.AfterTime,
// c.AfterID, c.Skip and c.Most.
func (v *View) CountSessions(ctx context.Context, c Choice) (n int, err error) {
	err = v.ask(ctx, `SELECT count(*) FROM tapes t WHERE `+chosen, func(r pgx.Rows) error { return r.Scan(&n) }, c.args()...)
	return n, err
}

// Facets are the values by which sessions can be chosen, sorted.
type Facets struct {
	Agents, Projects, People, Tags []string
	Stars                          bool // a session has a star
}

// Facets returns the values that the sessions of the view have.
func (v *View) Facets(ctx context.Context) (f Facets, err error) {
	for to, sql := range map[*[]string]string{
		&f.Agents:   `SELECT DISTINCT agent FROM tapes WHERE remote = ANY ($1) AND agent <> '' ORDER BY 1`,
		&f.Projects: `SELECT DISTINCT project FROM tapes WHERE remote = ANY ($1) AND project <> '' ORDER BY 1`,
		&f.Tags:     `SELECT DISTINCT jsonb_array_elements_text(` + tags + `) FROM tapes WHERE remote = ANY ($1) AND position('"tags":[' in about) > 0 ORDER BY 1`,
		&f.People:   `SELECT DISTINCT a FROM tapes, unnest(` + people + `) a WHERE remote = ANY ($1) AND a <> '' ORDER BY 1`,
	} {
		if err := v.ask(ctx, sql, into(to)); err != nil {
			return f, err
		}
	}
	err = v.ask(ctx, `SELECT EXISTS (SELECT FROM tapes WHERE remote = ANY ($1) AND `+starred+`)`, func(r pgx.Rows) error { return r.Scan(&f.Stars) })
	return f, err
}

// Days counts the sessions by the day of their last entry, as YYYY-MM-DD, from since on, in the zone of since.
func (v *View) Days(ctx context.Context, since time.Time) (map[string]int, error) {
	out := map[string]int{}
	_, offset := since.Zone() // the same in summer and winter: an hour does not matter here
	err := v.ask(ctx, `SELECT to_char(updated AT TIME ZONE 'UTC' + $3 * interval '1 second', 'YYYY-MM-DD'), count(*) FROM tapes
		WHERE remote = ANY ($1) AND updated >= $2 GROUP BY 1`, func(r pgx.Rows) error {
		var day string
		var n int
		err := r.Scan(&day, &n)
		out[day] = n
		return err
	}, since, offset)
	return out, err
}

// Containing returns the ids of a session's entries whose text contains part, ignoring case, in their order.
func (v *View) Containing(ctx context.Context, s Session, part string, most int) (ids []int64, err error) {
	err = v.ask(ctx, `SELECT id FROM entries WHERE remote = ANY ($1) AND remote = $2 AND tape = $3 AND date >= $4 AND date <= $5 AND text ILIKE $6 ORDER BY id LIMIT $7`,
		into(&ids), s.RemoteID, s.ID, s.Oldest, s.Newest, like(part), most)
	return ids, err
}

// only returns the view limited to one remote. It sees nothing if the user does not see that remote.
func (v *View) only(remote string) *View {
	out := &View{db: v.db, names: v.names, ids: []int32{}}
	for _, id := range v.ids {
		if v.names[id] == remote {
			out.ids = append(out.ids, id)
		}
	}
	return out
}

// ByID returns sessions by their ids.
func (v *View) ByID(ctx context.Context, ids []int64) (map[int64]Session, error) {
	list, err := v.sessions(ctx, `SELECT remote, `+tapeColumns+` FROM tapes WHERE remote = ANY ($1) AND id = ANY ($2)`, ids)
	out := make(map[int64]Session, len(list))
	for _, s := range list {
		out[s.ID] = s
	}
	return out, err
}

func (v *View) sessions(ctx context.Context, sql string, args ...any) (out []Session, err error) {
	err = v.ask(ctx, sql, func(r pgx.Rows) error {
		var s Session
		err := r.Scan(&s.RemoteID, &s.ID, &s.Ref, &s.Name, &s.Title, &s.Agent, &s.Model, &s.Project, &s.Authors, &s.Owner, &s.Started, &s.Updated, &s.Entries, &s.Bytes,
			&s.Messages, &s.Calls, &s.Tokens, &s.Anchors, &s.FirstID, &s.LastID, &s.Oldest, &s.Newest, &s.About, &s.Watermark)
		s.Remote = v.names[s.RemoteID]
		out = append(out, s)
		return err
	}, args...)
	return out, err
}

// like returns the pattern of ILIKE for a part of a text, "" for "".
func like(part string) string {
	if part == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}
