package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/sessions/filter"
	"tape/internal/text/jsonl"
)

const (
	sessionPrefix = "/v1/sessions/"
	entriesSuffix = "/entries"

	listSessions = "/v1/sessions lists those that you see" // what to do if there is no session of a name
)

// Session is a session in a list.
type Session struct {
	Remote    string     `json:"remote"`
	Tape      string     `json:"tape"`
	Title     string     `json:"title"`
	Agent     string     `json:"agent"`
	Model     string     `json:"model"`
	Project   string     `json:"project"`
	Authors   []string   `json:"authors"`
	Started   *time.Time `json:"started"`
	Updated   *time.Time `json:"updated"`
	Entries   int64      `json:"entries"`
	Messages  int        `json:"messages"`
	ToolCalls int        `json:"tool_calls"`
	Anchors   int        `json:"anchors"`
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Items []Session `json:"items"`
	Next  *string   `json:"next_cursor"`
}

// EntryPage is a page of entries, each as tape log --json shows it, with its remote.
type EntryPage struct {
	Items []json.RawMessage `json:"items"`
	Next  *string           `json:"next_cursor"`
}

// sessions lists sessions, those with the newest entries first.
func (c *request) sessions() (any, error) {
	v := c.r.URL.Query()
	limit, err := limitOf(v, usualHits, mostHits)
	if err != nil {
		return nil, err
	}
	q, err := filter.FromURL(v).Query(filter.InURL, c.Now())
	if err != nil {
		return nil, err
	}
	choice := db.Choice{Name: v.Get("tape"), Text: v.Get("grep"), Agent: v.Get("agent"), Project: v.Get("project"), Since: q.Since, Until: q.Until, Forks: v.Get("forks") == "true", Listed: v.Get("tape") == "", Most: limit + 1}
	query := c.bound(v, "sessions")
	if cursor := v.Get("cursor"); cursor != "" {
		text, err := c.cursors.Read(query, cursor)
		if err != nil {
			return nil, err
		}
		if choice.AfterTime, choice.AfterID, err = parsePlace(text); err != nil {
			return nil, err
		}
	}
	list, err := c.source.Sessions(c.r.Context(), choice)
	if err != nil {
		return nil, err
	}
	page := SessionPage{Items: []Session{}}
	for _, s := range list[:min(limit, len(list))] {
		page.Items = append(page.Items, sessionOf(s))
	}
	if len(list) > limit {
		next := c.cursors.Cursor(query, placeOf(list[limit-1]))
		page.Next = &next
	}
	return page, nil
}

func sessionOf(s db.Session) Session {
	return Session{Remote: s.Remote, Tape: s.Name, Title: s.Title, Agent: s.Agent, Model: s.Model, Project: s.Project, Authors: append([]string{}, s.Authors...),
		Started: s.Started, Updated: s.Updated, Entries: s.Entries, Messages: s.Messages, ToolCalls: s.Calls, Anchors: s.Anchors}
}

// placeOf returns the text of a cursor after a session.
func placeOf(s db.Session) string {
	at := int64(0)
	if s.Updated != nil {
		at = s.Updated.UnixMicro()
	}
	return fmt.Sprintf("%d:%d", at, s.ID)
}

// parsePlace reads the text that placeOf returns.
func parsePlace(text string) (*time.Time, int64, error) {
	date, id, _ := strings.Cut(text, ":")
	micro, err1 := strconv.ParseInt(date, 10, 64)
	n, err2 := strconv.ParseInt(id, 10, 64)
	if err1 != nil || err2 != nil {
		return nil, 0, api.Invalid("the cursor does not belong to a list of sessions")
	}
	at := time.UnixMicro(micro).UTC()
	return &at, n, nil
}

// entries lists the entries of a session, the oldest first, or, with order=desc, the newest first.
func (c *request) entries() (any, error) {
	v := c.r.URL.Query()
	name := strings.TrimSuffix(strings.TrimPrefix(c.path, sessionPrefix), entriesSuffix)
	s, err := find.Named(c.r.Context(), c.source, name, listSessions)
	if err != nil {
		return nil, err
	}
	q, limit, err := c.rangeOf(v)
	if err != nil {
		return nil, err
	}
	query := c.bound(v, c.path)
	if cursor := v.Get("cursor"); cursor != "" {
		at, err := c.cursors.ReadPosition(query, cursor)
		if err != nil {
			return nil, err
		}
		if q.Reverse {
			q.Last = at.ID
		} else {
			q.First = at.ID
		}
	}
	if err := c.audit(c.r.Context(), "read", s.Remote+"/"+s.Name); err != nil {
		return nil, err
	}
	page := EntryPage{Items: []json.RawMessage{}}
	size := 0
	const enough = 8 << 20 // bytes of an answer
	q.Most = limit + 1
	var damaged error
	err = c.source.Entries(c.r.Context(), s, q, func(e db.Stored) bool {
		if len(page.Items) == limit || size > enough {
			next := c.cursors.Cursor(query, strconv.FormatInt(e.ID, 10)+":")
			page.Next = &next
			return false
		}
		var line json.RawMessage
		if line, damaged = entryJSON(e, s); damaged != nil {
			return false
		}
		page.Items = append(page.Items, line)
		size += len(line)
		return true
	})
	if err := cmp.Or(err, damaged); err != nil {
		return nil, err
	}
	return page, nil
}

// entryJSON returns an entry as tape log --json shows it, with its remote.
func entryJSON(s db.Stored, of db.Session) (json.RawMessage, error) {
	e, err := find.EntryOf(s, of)
	if err != nil {
		return nil, err
	}
	e.Workspace = ""
	out := e.JSON()
	out = jsonl.AppendString(append(out[:len(out)-1], `,"remote":`...), of.Remote)
	return append(out, '}'), nil
}

// rangeOf reads which entries were asked for, and how many at most.
func (c *request) rangeOf(v url.Values) (q db.Range, limit int, err error) {
	if limit, err = limitOf(v, usualEntries, mostEntries); err != nil {
		return q, 0, err
	}
	f, err := filter.FromURL(v).Query(filter.InURL, c.Now())
	if err != nil {
		return q, 0, err
	}
	if len(f.Authors) > 0 {
		return q, 0, api.Invalid("author is only for searches: leave it out here")
	}
	q = db.Range{Kinds: f.Kinds, Roles: f.Roles, Since: f.Since, Until: f.Until}
	for name, to := range map[string]*int64{"from": &q.First, "to": &q.Last} {
		text := strings.TrimPrefix(v.Get(name), "@")
		if text == "" {
			continue
		}
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil || *to < 1 {
			return q, 0, api.Invalid("%s is %.20q: give the id of an entry", name, v.Get(name))
		}
	}
	switch v.Get("order") {
	case "", "asc":
	case "desc":
		q.Reverse = true
	default:
		return q, 0, api.Invalid("order is asc or desc, not %.20q", v.Get("order"))
	}
	return q, limit, nil
}
