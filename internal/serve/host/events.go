package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// eventQuery reads a request for events: the tape, the query that its cursors belong to, and which entries to
// keep.
func (c *request) eventQuery() (t access, query string, keep func(repo.Entry) bool, err error) {
	t, err = c.tape(c.param("conversation_id"))
	if err != nil {
		return t, "", nil, err
	}
	var types []string
	if text := c.param("types"); text != "" {
		types = strings.Split(text, ",")
	}
	keep = func(e repo.Entry) bool {
		if len(types) == 0 {
			return true
		}
		name, kind := itemType(e), e.Kind
		if !t.unmasked {
			own := c.s.mask.By(writerOf(e))
			name, kind = own.Text(name), own.Text(kind)
		}
		return slices.Contains(types, name) || slices.Contains(types, kind)
	}
	return t, front.CursorQuery("events", t.Branch(), t.thread, strings.Join(types, ",")), keep, nil
}

func events(c *request) (any, error) {
	t, query, keep, err := c.eventQuery()
	if err != nil {
		return nil, err
	}
	p, err := parsePage(c.param, c.s.cursors, query)
	if err != nil {
		return nil, err
	}
	got, more, err := c.scan(t, p, keep)
	if err != nil {
		return nil, err
	}
	out := api.EventPage{Items: []api.EventItem{}, HasMore: more}
	out.NextCursor, out.PrevCursor = p.Cursors(c.s.cursors, got, more)
	for _, e := range got {
		out.Items = append(out.Items, c.s.event(t, e, query))
	}
	return out, nil
}

func (s *Server) event(t access, e pageEntry, query string) api.EventItem {
	return eventItem(t.Name(), e.Entry, s.cursors.At(query, e.At))
}

// oneEvent returns an entry by its number on the tape, or by its event_id.
func oneEvent(c *request) (any, error) {
	name, number := c.param("conversation_id"), c.r.PathValue("event_id")
	if i := strings.LastIndexByte(number, '@'); i >= 0 {
		if i > 0 {
			name = number[:i]
		}
		number = number[i+1:]
	}
	t, err := c.tape(name)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return nil, api.NotFound("event")
	}
	got, _, err := c.scan(t, page{At: front.Position{ID: id - 1}, Forward: true, Limit: 1}, all)
	if err != nil {
		return nil, err
	}
	if len(got) == 0 || got[0].ID != id {
		return nil, api.NotFound("event")
	}
	return c.s.event(t, got[0], front.CursorQuery("events", t.Branch(), t.thread, "")), nil
}

func eventStream(c *request) (any, error) {
	t, query, keep, err := c.eventQuery()
	if err != nil {
		return nil, err
	}
	return c.stream(t, page{Query: query}, keep, nil)
}

// runEvents streams the entries of one run.
func runEvents(c *request) (any, error) {
	r := c.pathRun()
	t, err := c.tape(r.Tape)
	if err != nil {
		return nil, err
	}
	keep := func(e repo.Entry) bool { return len(e.Meta) > 2 && jsonl.GetString(e.Meta, metaRun) == r.ID }
	return c.stream(t, page{Query: front.CursorQuery("run", r.ID, t.Branch()), At: front.Position{ID: r.StartSeq - 1}}, keep, func() bool {
		if r.Due(c.s.Now()) {
			if err := c.s.expire(c.ctx(), r); err != nil {
				c.s.Log.Error("a run's end was not recorded", "run", r.ID, "error", err)
				return true
			}
		}
		return r.StatusNow() != running
	})
}

const (
	pollEvery   = 100 * time.Millisecond // how often a stream looks for new entries
	busyWait    = time.Second            // when slow readers have all the memory
	aliveEvery  = 15 * time.Second
	streamBytes = 256 << 10 // of a page that waits for its reader
)

// stream sends entries as they come, beginning after the last one that the client has, until the client goes
// or the server ends. If ended is not nil, the stream also ends once that is true and all entries are sent;
// otherwise it ends with the run that asked. It has one page in memory at a time.
func (c *request) stream(t access, p page, keep func(repo.Entry) bool, ended func() bool) (any, error) {
	last := c.r.Header.Get("Last-Event-ID")
	if last == "" {
		last = c.param("after_cursor")
	}
	if last != "" {
		var err error
		if p.At, err = c.s.cursors.ReadPosition(p.Query, last); err != nil {
			return nil, err
		}
	}
	p.Forward = true
	p.Limit = 1
	if _, _, err := c.scan(t, p, all); err != nil {
		return nil, err // before the answer begins, so that it can be an error
	}
	c.release()
	p.Limit, p.Bytes = 100, streamBytes
	out := http.NewResponseController(c.w)
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no") // for nginx
	c.w.WriteHeader(http.StatusOK)
	write := func(parts ...[]byte) error {
		for _, part := range parts {
			n, err := c.w.Write(part)
			if c.bytes += int64(n); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	if write([]byte(": the stream begins\n\n")) != nil {
		return nil, nil
	}
	if err := c.follow(t, p, keep, ended, write); err != nil && c.r.Context().Err() == nil {
		c.s.Log.Warn("a stream was interrupted", "error", err)
	}
	return nil, nil
}

func (c *request) follow(t access, p page, keep func(repo.Entry) bool, ended func() bool, write func(...[]byte) error) error {
	lastSent := time.Now()
	for stamp := ""; ; {
		last := ended != nil && ended() // this round is the last
		if c.run != nil && c.run.Over(c.s.Now()) && ended == nil {
			return nil // its token is void
		}
		now, _, err := t.Stamp()
		if err != nil {
			return err
		}
		wait := pollEvery
		for more := now != stamp || now == ""; more; {
			var got []pageEntry
			var seen repo.Entry
			if c.alone = false; c.acquire(front.PageWork) != nil {
				return nil // the client has gone
			}
			page := func() error {
				got, more, err = c.scan(t, p, func(e repo.Entry) bool { seen = e; return keep(e) })
				return err
			}
			err := page()
			if errors.Is(err, errHeavy) {
				seen = repo.Entry{} // free its memory while waiting
				if err = c.readAlone(); err == nil {
					err = page()
				}
			}
			if err != nil {
				return err
			}
			done, ok := c.s.limits.Answer(3 * sizeOfPage(got)) // stored, and as JSON
			c.release()
			if !ok { // slow readers have all the memory: read the page again later
				now, last, wait = "", false, busyWait
				break
			}
			err = c.send(t, &p, got, write)
			if done(); err != nil {
				return err
			}
			if len(got) > 0 {
				lastSent = time.Now()
			}
			if !more && seen.ID > p.At.ID { // skip entries that are not for this stream
				p.At = c.s.cursors.PositionOf(seen)
			}
		}
		stamp = now
		if last {
			return nil
		}
		if time.Since(lastSent) > aliveEvery {
			if err := write([]byte(": alive\n\n")); err != nil {
				return err
			}
			lastSent = time.Now()
		}
		select {
		case <-c.r.Context().Done():
			return nil
		case <-c.s.ending:
			return nil
		case <-time.After(wait):
		}
	}
}

// send writes a page of a stream.
func (c *request) send(t access, p *page, got []pageEntry, write func(...[]byte) error) error {
	for _, e := range got {
		data, err := json.Marshal(c.s.event(t, e, p.Query))
		if err != nil {
			return err
		}
		p.At = e.At
		head := fmt.Sprintf("id: %s\nevent: %s\ndata: ", c.s.cursors.At(p.Query, p.At), nameOf(e.Entry))
		if err := write([]byte(head), data, []byte("\n\n")); err != nil {
			return err
		}
	}
	return nil
}
