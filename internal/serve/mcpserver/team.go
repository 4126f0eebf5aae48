package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/index"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// TeamOptions say what is served to one user of a team.
type TeamOptions struct {
	Source  find.Source
	Audit   func(ctx context.Context, action, resource string) error // records what the user does
	Version string
}

const teamInstructions = "Recorded sessions of the whole team's coding agents (tapes). Look here before work that a colleague may have done, decided or tried before. " +
	"tape_search finds entries in all sessions; tape_read shows what is around a hit (@N of REMOTE/TAPE); tape_list lists sessions; " +
	"tape_context gives the messages since a session's last anchor."

// team answers the requests of one user.
type team struct{ TeamOptions }

// Team returns a handler for MCP's streamable HTTP transport. It keeps no sessions: any of several servers can answer
// a request, and a revoked token is void at once.
func Team(o TeamOptions) http.Handler {
	t := &team{o}
	out := mcp.NewServer(&mcp.Implementation{Name: "tape-team", Title: "tape", Version: o.Version}, &mcp.ServerOptions{
		Instructions: teamInstructions + dataInstructions, Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	s := &server{Options: Options{Hint: func(h repo.Hint) string { return h.Text }}}
	for _, one := range t.tools() {
		one.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
		out.AddTool(one.Tool, s.handler(one))
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return out }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true,
		DisableLocalhostProtection: true}) // the server has checked Host; behind a proxy, it is the public name
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const longest = 1 << 20
		r.Body = http.MaxBytesReader(w, r.Body, longest)
		h.ServeHTTP(w, r)
	})
}

const (
	propTeamTape = `"tape":{"type":"string","description":"REMOTE/TAPE, as hits and lists show it"}`

	teamSearchProps = `"query":{"type":"string","description":"words, \"a phrase\", -not, OR, prefix*"},` + propTeamTape + `,"limit":{"type":"integer","default":10,"maximum":30}`
	teamListProps   = propTeamTape + `,"limit":{"type":"integer","default":20,"maximum":100},` + propCursor
)

// tools returns the tools that the server offers.
func (t *team) tools() []tool {
	return []tool{
		define("tape_search", "Search all recorded sessions of the team. Gives date, title [REMOTE/TAPE] @id, excerpt.", teamSearchProps+","+filter.Schema(filter.InJSON), "query", t.search),
		define("tape_list", "List sessions, those with the newest entries first, or the anchors of one.", teamListProps, "", t.list),
		define("tape_read", "Show entries of a tape in full: around one, after an anchor, from one on; default the newest.",
			strings.Replace(readProps, propTape, propTeamTape, 1)+","+filter.Schema(filter.InJSON, "kinds"), "tape", t.read),
		define("tape_context", "The messages of a tape since its last anchor.", strings.Replace(contextProps, propTape, propTeamTape, 1), "tape", t.context),
	}
}

// session finds a session by its name, REMOTE/TAPE.
func (t *team) session(ctx context.Context, name string) (db.Session, error) {
	return find.Named(ctx, t.Source, name, "tape_list lists the sessions as REMOTE/TAPE")
}

type teamSearchArgs struct {
	Query string `json:"query"`
	Tape  string `json:"tape"`
	Limit int    `json:"limit"`
	filter.Params
}

func (t *team) search(ctx context.Context, _ call, a teamSearchArgs) (string, error) {
	if strings.TrimSpace(a.Query) == "" {
		return "", layout.Invalid("give words to search for", "query is empty")
	}
	s := index.Search{Text: a.Query, PerSession: perSession, Width: excerptChars}
	var err error
	if s.Query, err = a.Params.Query(filter.InJSON, time.Now()); err != nil {
		return "", err
	}
	limit := filter.Capped(a.Limit, 10, 30)
	s.Query.Limit = &limit
	var tapes []int64
	if a.Tape != "" {
		one, err := t.session(ctx, a.Tape)
		if err != nil {
			return "", err
		}
		tapes = []int64{one.ID}
	}
	res, err := find.Search(ctx, t.Source, s, tapes)
	if err == nil {
		err = t.Audit(ctx, "search", a.Query)
	}
	if err != nil {
		return "", err
	}
	if res.Instead != "" && len(res.Hits) > 0 {
		return "nothing has these words; these are hits for: " + display.Line(res.Instead) + "\n" + teamHits(res.Hits, res.More, "tape_read with tape and around=@id shows one with what is around it"), nil
	}
	return teamHits(res.Hits, res.More, "tape_read with tape and around=@id shows one with what is around it"), nil
}

// teamHits shows hits of the team. how tells the agent how to read them.
func teamHits(hits []find.Hit, more bool, how string) string {
	if len(hits) == 0 {
		return "no hits"
	}
	out := newSearchAnswer("%s; %s", display.Count(len(hits), "hit", "hits"), how)
	if !slices.ContainsFunc(hits, func(h find.Hit) bool { return len(h.Lacks) == 0 }) {
		out.add("no entry has all of these words; the best one lacks: " + line(strings.Join(hits[0].Lacks, ", "), askedChars) + "\n")
	}
	for i, h := range hits {
		if !out.add(fmt.Sprintf("%s %s [%s] @%d %s: %s\n", when(h.Entry), title(about.Tape{Name: h.Tape, Title: h.Title}), line(h.Workspace+"/"+h.Tape, 100),
			h.ID, who(h.Entry), line(h.Snippet, excerptChars))) {
			out.end("%s more did not fit; narrow the search", display.Count(len(hits)-i, "hit", "hits"))
			break
		}
	}
	if more {
		out.end("more entries match; narrow the search")
	}
	return out.String()
}

func (t *team) list(ctx context.Context, _ call, a listArgs) (string, error) {
	at := cursor{Of: "tape_list", Tape: a.Tape}
	if a.Cursor != "" {
		var err error
		if at, err = parseCursor(a.Cursor, at.Of); err != nil {
			return "", err
		}
	}
	limit := filter.Capped(a.Limit, 20, 100)
	if at.Tape != "" {
		return t.anchors(ctx, at, limit)
	}
	choice := db.Choice{Listed: true, Begun: true, Most: limit + 1} // none is lost that grows between two pages
	if at.Last != "" {
		date := time.UnixMicro(at.From).UTC()
		choice.AfterTime = &date
		if _, err := fmt.Sscan(at.Last, &choice.AfterID); err != nil {
			return "", layout.Invalid("begin again without it", "the cursor does not belong to tape_list")
		}
	}
	all, err := t.Source.Sessions(ctx, choice)
	if err != nil {
		return "", err
	}
	out := newAnswer(usualChars, "sessions of the team; tape_list tape=REMOTE/TAPE lists the anchors of one")
	for i, s := range all {
		more := slices.DeleteFunc([]string{line(s.Agent, titleChars), line(s.Project[strings.LastIndex(s.Project, "/")+1:], titleChars), line(strings.Join(s.Authors, ", "), titleChars),
			display.Entries(s.Entries)}, func(part string) bool { return part == "" })
		updated := time.Time{}
		if s.Updated != nil {
			updated = *s.Updated
		}
		if i == limit || !out.add(fmt.Sprintf("%s %s [%s] %s\n", minute(updated), title(about.Tape{Name: s.Name, Title: s.Title}), line(s.Remote+"/"+s.Name, 100), strings.Join(more, ", "))) {
			if i > 0 {
				last := all[i-1]
				from := int64(0)
				if last.Started != nil {
					from = last.Started.UnixMicro()
				}
				out.end("next_cursor: %s", cursor{Of: at.Of, From: from, Last: fmt.Sprint(last.ID)})
			}
			break
		}
	}
	return out.String(), nil
}

// anchors lists the anchors of a session, the newest first.
func (t *team) anchors(ctx context.Context, at cursor, limit int) (string, error) {
	s, err := t.session(ctx, at.Tape)
	if err != nil {
		return "", err
	}
	list, err := t.entries(ctx, s, db.Range{Kinds: []string{repo.KindAnchor}, Last: at.From, Reverse: true, Most: limit + 1})
	if err != nil {
		return "", err
	}
	out := newAnswer(usualChars, "anchors of tape %s, the newest first", line(at.Tape, 100))
	for i, e := range list {
		text := fmt.Sprintf("%03d %s @%d %s", e.AnchorSeq, line(e.Anchor, 100), e.ID, when(e))
		if summary := jsonl.GetString(e.Payload, "state", "summary"); summary != "" {
			text += ": " + line(summary, summaryChars)
		}
		if i == limit || !out.add(text+"\n") {
			out.end("next_cursor: %s", cursor{Of: at.Of, Tape: at.Tape, From: e.ID})
			break
		}
	}
	return out.String(), nil
}

// entries reads entries of a session.
func (t *team) entries(ctx context.Context, s db.Session, q db.Range) (out []repo.Entry, err error) {
	var failed error
	err = t.Source.Entries(ctx, s, q, func(e db.Stored) bool {
		var one repo.Entry
		one, failed = find.EntryOf(e, s)
		out = append(out, one)
		return failed == nil
	})
	return out, cmp.Or(err, failed)
}

func (t *team) read(ctx context.Context, _ call, a readArgs) (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	s, err := t.session(ctx, a.Tape)
	if err != nil {
		return "", err
	}
	q, err := t.rangeOf(ctx, s, a)
	if err != nil {
		return "", err
	}
	q.Most = a.Limit + 1
	list, err := t.entries(ctx, s, q)
	if err == nil {
		err = t.Audit(ctx, "read", s.Remote+"/"+s.Name)
	}
	if err != nil {
		return "", err
	}
	if q.Reverse {
		list = list[:min(a.Limit, len(list))]
		slices.Reverse(list)
	}
	out := newAnswer(max(a.MaxChars+2*cutNote, usualChars), "tape %s: it has entries @%d to @%d", line(a.Tape, 100), s.FirstID, s.LastID)
	for i, e := range list {
		most := a.MaxChars
		if e.Kind == repo.KindEvent && len(a.Kinds) == 0 {
			most = min(most, eventChars)
		}
		if i == a.Limit || !out.add(formatEntry(e, most)) {
			out.end("next_cursor: %s", cursor{Of: "tape_read", Tape: a.Tape, From: e.ID, Kinds: a.Kinds})
			break
		}
	}
	if len(list) == 0 {
		out.end("no entries here; the tape ends with @%d", s.LastID)
	}
	return out.String(), nil
}

// rangeOf returns the range of entries that was asked for.
func (t *team) rangeOf(ctx context.Context, s db.Session, a readArgs) (q db.Range, err error) {
	q.Kinds = a.Kinds
	switch {
	case a.Around != nil:
		at := int64(*a.Around)
		if at > s.LastID || at < s.FirstID {
			return q, layout.NotFound("tape_list tape=REMOTE/TAPE lists its anchors", "tape %q has no entry @%d", a.Tape, at)
		}
		q.First, q.Last = max(1, at-count(a.Before)), at+count(a.After)
	case a.AfterAnchor != "":
		anchor, err := t.anchor(ctx, s, a.AfterAnchor)
		if err != nil {
			return q, err
		}
		q.First = anchor.ID + 1
	case a.From != nil:
		q.First = int64(*a.From)
	default:
		q.Reverse = true
	}
	return q, nil
}

// anchor finds an anchor by its name or number; "" and latest name the last one.
func (t *team) anchor(ctx context.Context, s db.Session, name string) (repo.Entry, error) {
	list, err := t.entries(ctx, s, db.Range{Kinds: []string{repo.KindAnchor}, Reverse: true, Most: math.MaxInt32})
	if err != nil {
		return repo.Entry{}, err
	}
	for _, e := range list {
		if name == "" || name == repo.Latest || e.Anchor == name || fmt.Sprintf("%03d", e.AnchorSeq) == name || fmt.Sprint(e.AnchorSeq) == name {
			return e, nil
		}
	}
	return repo.Entry{}, layout.NotFound("tape_list tape=REMOTE/TAPE lists its anchors", "tape %q has no anchor %q", s.Remote+"/"+s.Name, name)
}

func (t *team) context(ctx context.Context, _ call, a contextArgs) (string, error) {
	s, err := t.session(ctx, a.Tape)
	if err != nil {
		return "", err
	}
	anchor, err := t.anchor(ctx, s, a.From)
	if err != nil {
		return "", err
	}
	list, err := t.entries(ctx, s, db.Range{First: anchor.ID + 1, Reverse: true, Most: lastEntries})
	if err == nil {
		err = t.Audit(ctx, "read", s.Remote+"/"+s.Name)
	}
	if err != nil {
		return "", err
	}
	slices.Reverse(list)
	c, err := view.Messages(append([]repo.Entry{quiet(anchor)}, list...), view.Options{MaxTokens: filter.Capped(a.MaxTokens, 8_000, 20_000), MaxBytes: maxChars - 4*cutNote})
	if err != nil {
		return "", err
	}
	out := newAnswer(maxChars, "tape %s: %s, about %s", line(a.Tape, 100), display.Count(len(c.Messages), "message", "messages"), display.Count(c.Tokens, "token", "tokens"))
	return out.messages(c), nil
}
