package hostcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// teamHitRow is a hit in the server's answer.
type teamHitRow struct {
	Remote  string          `json:"remote"`
	Tape    string          `json:"tape"`
	Title   string          `json:"title"`
	Snippet string          `json:"snippet"`
	Entry   json.RawMessage `json:"entry"`
	Anchor  string          `json:"anchor"`
	Seq     int             `json:"anchor_seq"`
	Score   float64         `json:"score"`
	Matches [][2]int        `json:"matches"`
	Similar int             `json:"similar"`
	Matched []string        `json:"matched"`
	Missing []string        `json:"missing"`
	Session string          `json:"session"`
	Instead string          `json:"instead"`
	More    int             `json:"more"`
}

type teamPage[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"`
}

// mostPages is how many pages of a list are asked for. A page has 100 items or more.
const mostPages = 100_000

// each gets page after page, until yield returns false. more says that there are items after the last one.
func each[T any](ctx context.Context, c *teamClient, path string, q url.Values, yield func(T) bool) (more bool, err error) {
	seen := map[string]bool{} // a server that gives a cursor again would never end
	for pages := 0; ; pages++ {
		var p teamPage[T]
		if err := c.get(ctx, path, q, &p); err != nil {
			return false, err
		}
		for i, item := range p.Items {
			if !yield(item) {
				return i+1 < len(p.Items) || p.Next != nil, nil
			}
		}
		if p.Next == nil {
			return false, nil
		}
		if seen[*p.Next] || pages >= mostPages || len(p.Items) == 0 {
			return false, layout.Conflict("", "the server's list does not end: page %d leads to one that was there, or there are none on it", pages+1)
		}
		seen[*p.Next] = true
		q.Set("cursor", *p.Next)
	}
}

// Search shows the hits of a search.
func (c *teamClient) Search(ctx context.Context, out *stdio.Streams, s hostcmd.TeamSearch) error {
	if len(s.Tapes) == 1 {
		s.Tapes = []string{numbered(out, s.Tapes[0])}
	}
	if s.Remote != "" {
		me, err := c.Me(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(me.Remotes, s.Remote) {
			return layout.NotFound("those that you see: "+strings.Join(me.Remotes, ", "), "you see no remote called %q", s.Remote)
		}
	}
	hits, more, err := c.Find(ctx, s)
	if errors.Is(err, layout.ErrNotFound) && len(s.Tapes) == 1 {
		name, nameErr := c.fullName(ctx, s.Tapes[0])
		if nameErr != nil {
			return nameErr
		}
		if name != s.Tapes[0] {
			s.Tapes = []string{name}
			hits, more, err = c.Find(ctx, s)
		}
	}
	if err != nil {
		return err
	}
	if s.Query.Limit != nil && *s.Query.Limit == 0 {
		return nil
	}
	return showHits(out, hits, more)
}

// teamHit is a hit, with the title of its session. Its workspace is the remote.
type teamHit struct {
	index.Hit
	Title   string
	Instead string // the query that was answered, if no entry has some of the words; "": the one that was asked
}

// Find returns the hits of a search, without a limit at most 1000. s.Tapes is nil, or has one REMOTE/TAPE or TAPE. more
// says that there are others.
func (c *teamClient) Find(ctx context.Context, s hostcmd.TeamSearch) (hits []teamHit, more bool, err error) {
	q := filter.ToURL(s.Query)
	q.Set("q", s.Text)
	q.Set("entries", "true")
	for name, is := range map[string]bool{"exact": s.Exact, "all_words": s.AllWords, "flat": s.Flat, "no_fold": s.NoFold, "searches": s.Searches} {
		if is {
			q.Set(name, "true")
		}
	}
	if s.PerSession > 0 {
		q.Set("per_session", strconv.Itoa(s.PerSession))
	}
	if s.Newest {
		q.Set("sort", filter.Newest)
	}
	if len(s.Tapes) == 1 {
		setTape(q, s.Tapes[0])
	}
	for name, value := range map[string]string{"remote": s.Remote, "project": s.Project} {
		if value != "" {
			q.Set(name, value)
		}
	}
	const most = 100
	left := 1000
	if s.Query.Limit != nil {
		left = *s.Query.Limit
	}
	if left == 0 {
		return nil, false, nil
	}
	q.Set("limit", strconv.Itoa(min(left, most)))
	var damaged error
	more, err = each(ctx, c, "/v1/search", q, func(h teamHitRow) bool {
		one := teamHit{Title: h.Title, Instead: h.Instead}
		one.Entry, damaged = snapshot.ParseEntry(h.Entry, h.Tape, h.Anchor, h.Seq)
		one.Workspace, one.Score, one.Snippet, one.Spans, one.Similar = h.Remote, h.Score, h.Snippet, h.Matches, h.Similar
		one.Has, one.Lacks, one.Session, one.More = h.Matched, h.Missing, h.Session, h.More
		hits = append(hits, one)
		left--
		return left > 0 && damaged == nil
	})
	if err == nil {
		err = damaged
	}
	return hits, more, err
}

// setTape adds the parameters for the session REMOTE/TAPE or TAPE.
func setTape(q url.Values, name string) {
	if remote, tape, ok := strings.Cut(name, "/"); ok {
		q.Set("remote", remote)
		name = tape
	}
	q.Set("tape", name)
}

func showHits(out *stdio.Streams, hits []teamHit, more bool) error {
	if len(hits) == 0 {
		out.StderrUnlessQuiet("no hits")
		return nil
	}
	if !out.JSON {
		if hits[0].Instead != "" {
			out.StderrUnlessQuiet("showing results for %s", display.Line(hits[0].Instead))
		}
		if !slices.ContainsFunc(hits, func(h teamHit) bool { return len(h.Lacks) == 0 }) {
			out.StderrUnlessQuiet("no entry has all of these words: entries with some of the words")
		}
		out.Page()
	}
	last, names := "", shortNames(out, hits, func(h teamHit) (string, string) { return h.Workspace, h.Tape })
	for i, h := range hits {
		found, remote := h.Hit, h.Workspace
		found.Workspace = ""
		if out.JSON {
			line := rows.HitJSON(found, h.Instead, rows.Heading{})
			line = jsonl.AppendString(append(line[:len(line)-1], `,"remote":`...), remote)
			if err := out.WriteLine(append(line, '}')); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			out.Line("")
		}
		name := names[remote+"/"+h.Tape]
		session := remote + "/" + cmp.Or(h.Session, h.Tape)
		if session != last {
			rows.SessionTitle(out, rows.Heading{Title: h.Title})
		}
		last = session
		rows.Hit(out, found, name)
		rows.MoreOf(out, found)
		if err := out.Written(); err != nil {
			return err
		}
	}
	if more && !out.JSON {
		out.PrintUnlessQuiet("\n%s", out.Style(stdio.Dim, "more entries match; -n shows more"))
	}
	return nil
}

// teamSession is a session in the server's list.
type teamSession struct {
	Remote, Tape, Title, Agent, Model, Project string
	Authors                                    []string
	Started, Updated                           time.Time
	Entries                                    int64
	Messages                                   int
	Calls                                      int `json:"tool_calls"`
	Anchors                                    int
	label                                      *about.Tape // tells it from others with the same title
}

// Tapes shows a list of sessions.
func (c *teamClient) Tapes(ctx context.Context, out *stdio.Streams, list hostcmd.TeamList) error {
	q := url.Values{}
	for name, value := range map[string]string{"project": list.Project, "agent": list.Agent, "grep": list.Grep, "since": list.Since, "until": list.Until} {
		if value != "" {
			q.Set(name, value)
		}
	}
	const most = 100
	left := list.Limit
	if left < 0 {
		left = 1 << 30
	}
	var all []teamSession
	if left > 0 {
		q.Set("limit", strconv.Itoa(min(left, most)))
		_, err := each(ctx, c, "/v1/sessions", q, func(s teamSession) bool {
			all = append(all, s)
			left--
			return left > 0
		})
		if err != nil {
			return err
		}
	}
	labels := make([]*about.Tape, len(all))
	for i := range all {
		labels[i] = &about.Tape{Name: all[i].Remote + "/" + all[i].Tape, Title: all[i].Title, Started: all[i].Started}
		all[i].label = labels[i]
	}
	catalog.TellApart(labels)
	names := shortNames(out, all, func(s teamSession) (string, string) { return s.Remote, s.Tape })
	numbers := map[int]stdio.Numbered{}
	for i, s := range all {
		numbers[i+1] = stdio.Numbered{Tape: s.Remote + "/" + s.Tape}
	}
	out.KeepNumbers(listOfTeam, numbers)
	number := 0
	err := stdio.Listing[teamSession]{Head: []string{">", "~TITLE", "UPDATED", "??PROJECT", "?AGENT", "TAPE", "???>MESSAGES"}, None: "No matching sessions.", Paged: true,
		Object: teamSession.object,
		Row: func(s teamSession, add func(cells ...any)) {
			number++
			add(number, s.label.Label(), display.Briefly(out.Now(), s.Updated), s.Project[strings.LastIndex(s.Project, "/")+1:], s.Agent, names[s.Remote+"/"+s.Tape], s.Messages)
		}}.Show(out, all, nil)
	if err == nil && len(all) > 0 && !out.JSON && out.Screen().Out {
		out.BelowResults("tape log --team " + names[all[0].Remote+"/"+all[0].Tape] + " shows a session, tape search --team WORDS searches them")
	}
	return err
}

// listOfTeam is the name under which the numbers of the list are kept.
const listOfTeam = "team"

func (s teamSession) object() stdio.Object {
	return stdio.Object{{"remote", s.Remote}, {"tape", s.Tape}, {"title", s.Title}, {"agent", stdio.OrNull(s.Agent)}, {"model", stdio.OrNull(s.Model)}, {"project", stdio.OrNull(s.Project)},
		{"authors", s.Authors}, {"started", stdio.DateOrNull(s.Started)}, {"updated", stdio.DateOrNull(s.Updated)}, {"entries", s.Entries}, {"messages", s.Messages},
		{"tool_calls", s.Calls}, {"anchors", s.Anchors}}
}

// Log shows entries of a session.
func (c *teamClient) Log(ctx context.Context, out *stdio.Streams, e hostcmd.TeamEntries) error {
	if e.Tape != "" {
		name, err := c.fullName(ctx, numbered(out, e.Tape))
		if err != nil {
			return err
		}
		e.Tape = name
	}
	remote, tape, ok := strings.Cut(e.Tape, "/")
	if !ok || tape == "" {
		return layout.Invalid("tape tapes --team lists them: REMOTE/TAPE", "%q does not name a session of the team", e.Tape)
	}
	entries := c.entries(ctx, "/v1/sessions/"+url.PathEscape(remote)+"/"+url.PathEscape(tape)+"/entries", e)
	if out.JSON || e.Oneline {
		for entry, err := range entries {
			if err == nil && out.JSON {
				err = out.WriteLine(entry.Raw)
			} else if err == nil {
				rows.Brief(out, "", entry)
			}
			if err != nil {
				return err
			}
		}
		return out.Written()
	}
	out.Page()
	screen := out.Screen()
	whole := !screen.Out || e.Full || e.ID > 0
	_, err := plain.Show(ctx, stdio.Results{Writer: out.Out}, &plain.Screen{Width: screen.Width, Whole: whole, Events: e.Events || whole, Partial: true,
		Reverse: e.Query.Reverse, Zone: out.Now().Location(), Style: rows.Style(out),
		More: func(entry repo.Entry) string {
			return "tape show --team " + display.ShellWord(e.Tape) + "@" + strconv.FormatInt(entry.ID, 10)
		}}, entries)
	return err
}

// entries yields entries of a session. Their Raw also has the names of tape and remote.
func (c *teamClient) entries(ctx context.Context, path string, e hostcmd.TeamEntries) iter.Seq2[repo.Entry, error] {
	q := filter.ToURL(e.Query)
	left := 1 << 30
	backwards := e.Query.Reverse
	switch {
	case e.ID > 0:
		q.Set("from", strconv.FormatInt(e.ID, 10))
		q.Set("to", q.Get("from"))
	case e.Query.Limit != nil:
		left = *e.Query.Limit
	case e.Query.Tail != nil:
		left, backwards = *e.Query.Tail, true
	}
	const most = 500
	q.Set("limit", strconv.Itoa(max(1, min(left, most))))
	if backwards {
		q.Set("order", "desc")
	}
	return layout.Seq(func(yield func(repo.Entry) bool) error {
		if left == 0 {
			return nil
		}
		var held []repo.Entry
		found := false
		var failed error
		_, err := each(ctx, c, path, q, func(raw json.RawMessage) bool {
			found = true
			entry, err := parse(raw)
			if failed = err; err != nil {
				return false
			}
			left--
			if backwards && !e.Query.Reverse { // the newest ones, in the order of the tape
				held = append(held, entry)
				return left > 0
			}
			return yield(entry) && left > 0
		})
		if err == nil {
			err = failed
		}
		if err == nil && e.ID > 0 && !found {
			err = layout.NotFound("", "%s has no entry @%d", e.Tape, e.ID)
		}
		for i := len(held) - 1; i >= 0 && err == nil; i-- {
			if !yield(held[i]) {
				break
			}
		}
		return err
	})
}

// Range returns entries of a session, REMOTE/TAPE, in their order: those from one id to another (0: the last), at most most;
// with newest, the last ones instead. Errors: ErrNotFound if there is no such session.
func (c *teamClient) Range(ctx context.Context, name string, from, to int64, most int, newest bool) (out []repo.Entry, err error) {
	full, err := c.fullName(ctx, name)
	if err != nil {
		return nil, err
	}
	remote, tape, _ := strings.Cut(full, "/")
	q := url.Values{"limit": {strconv.Itoa(max(1, most))}}
	switch {
	case newest:
		q.Set("order", "desc")
	case to > 0:
		q.Set("to", strconv.FormatInt(to, 10))
		fallthrough
	default:
		q.Set("from", strconv.FormatInt(max(1, from), 10))
	}
	var failed error
	_, err = each(ctx, c, "/v1/sessions/"+url.PathEscape(remote)+"/"+url.PathEscape(tape)+"/entries", q, func(raw json.RawMessage) bool {
		var e repo.Entry
		e, failed = parse(raw)
		out = append(out, e)
		return failed == nil && len(out) < most
	})
	if newest {
		slices.Reverse(out)
	}
	return out, cmp.Or(err, failed)
}

func parse(raw []byte) (repo.Entry, error) {
	var place struct {
		Tape   string `json:"tape"`
		Anchor string `json:"anchor"`
		Seq    int    `json:"anchor_seq"`
	}
	if err := json.Unmarshal(raw, &place); err != nil {
		return repo.Entry{}, err
	}
	return snapshot.ParseEntry(raw, place.Tape, place.Anchor, place.Seq)
}
