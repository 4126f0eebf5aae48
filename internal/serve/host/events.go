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

	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
	"tape/internal/serve/host/cursors"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/mask"
	"tape/internal/serve/host/runs"
	"tape/internal/serve/host/transcript"
	"tape/internal/text/jsonl"
	"tape/repo"
)

func (c *call) eventQuery() (t sees, query string, keep func(repo.Entry) bool, err error) {
	t, err = c.tape(c.query("conversation_id"))
	if err != nil {
		return t, "", nil, err
	}
	var types []string
	if text := c.query("types"); text != "" {
		types = strings.Split(text, ",")
	}
	keep = func(e repo.Entry) bool {
		if len(types) == 0 {
			return true
		}
		name, kind := transcript.TypeOf(e), e.Kind
		if !t.full {
			own := c.s.mask.By(mask.Writer(e))
			name, kind = own.Text(name), own.Text(kind)
		}
		return slices.Contains(types, name) || slices.Contains(types, kind)
	}
	return t, cursors.Query("events", t.Branch(), t.thread, strings.Join(types, ",")), keep, nil
}

func events(c *call) (any, error) {
	t, query, keep, err := c.eventQuery()
	if err != nil {
		return nil, err
	}
	p, err := c.paging(query)
	if err != nil {
		return nil, err
	}
	got, more, err := c.scan(t, p, keep)
	if err != nil {
		return nil, err
	}
	out := api.EventPage{Items: []api.EventItem{}, HasMore: more}
	out.NextCursor, out.PrevCursor = c.cursors(p, got, more)
	for _, e := range got {
		out.Items = append(out.Items, c.s.event(t, e, query))
	}
	return out, nil
}

func (s *Server) event(t sees, e entry, query string) api.EventItem {
	return transcript.Event(t.Name(), e.Entry, s.cursors.At(query, e.at))
}

// oneEvent is an entry by its number in the tape, or by its event_id.
func oneEvent(c *call) (any, error) {
	name, number := c.query("conversation_id"), c.r.PathValue("event_id")
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
	got, _, err := c.scan(t, paging{at: cursors.Position{ID: id - 1}, forward: true, limit: 1}, func(repo.Entry) bool { return true })
	if err != nil {
		return nil, err
	}
	if len(got) == 0 || got[0].ID != id {
		return nil, api.NotFound("event")
	}
	return c.s.event(t, got[0], cursors.Query("events", t.Branch(), t.thread, "")), nil
}

func eventStream(c *call) (any, error) {
	t, query, keep, err := c.eventQuery()
	if err != nil {
		return nil, err
	}
	return c.stream(t, paging{query: query}, keep, nil)
}

// runEvents are the entries of one run.
func runEvents(c *call) (any, error) {
	r := c.ofPath()
	t, err := c.tape(r.Tape)
	if err != nil {
		return nil, err
	}
	keep := func(e repo.Entry) bool { return len(e.Meta) > 2 && jsonl.GetString(e.Meta, lanes.MetaRun) == r.ID }
	return c.stream(t, paging{query: cursors.Query("run", r.ID, t.Branch()), at: cursors.Position{ID: r.StartSeq - 1}}, keep, func() bool {
		if r.Due(c.s.Now()) {
			if err := c.s.expire(c.ctx(), r); err != nil {
				c.s.Log.Error("a run's end is not recorded", "run", r.ID, "error", err)
				return true
			}
		}
		return r.StatusNow() != runs.Running
	})
}

const (
	streamLook  = 100 * time.Millisecond // how often the tape is looked at
	streamWait  = time.Second            // where slow readers have all the room
	streamAlive = 15 * time.Second
	streamPage  = 256 << 10 // of a page that waits for its reader
)

// stream sends entries as they come, from the client's last one on, until it goes, the server
// ends or, if over is given, that is true and all is sent. It keeps one page at a time.
func (c *call) stream(t sees, p paging, keep func(repo.Entry) bool, over func() bool) (any, error) {
	last := c.r.Header.Get("Last-Event-ID")
	if last == "" {
		last = c.query("after_cursor")
	}
	if last != "" {
		var err error
		if p.at, err = c.s.cursors.ReadPosition(p.query, last); err != nil {
			return nil, err
		}
	}
	p.forward = true
	p.limit = 1
	if _, _, err := c.scan(t, p, func(repo.Entry) bool { return true }); err != nil {
		return nil, err // before the answer begins
	}
	c.worked()
	p.limit, p.bytes = 100, streamPage
	out := http.NewResponseController(c.w)
	c.w.Header().Set("Content-Type", "text/event-stream")
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
	if err := c.follow(t, p, keep, over, write); err != nil && c.r.Context().Err() == nil {
		c.s.Log.Warn("a stream broke off", "error", err)
	}
	return nil, nil
}

func (c *call) follow(t sees, p paging, keep func(repo.Entry) bool, over func() bool, write func(...[]byte) error) error {
	quiet := time.Now()
	for looked := ""; ; {
		ended := over != nil && over()
		if c.run != nil && c.run.Over(c.s.Now()) && over == nil {
			return nil // its token is void
		}
		now, _, err := t.Stamp()
		if err != nil {
			return err
		}
		wait := streamLook
		for more := now != looked || now == ""; more; {
			var got []entry
			var seen repo.Entry
			if c.heavy = false; c.work(admission.PageWork) != nil {
				return nil // it has gone
			}
			page := func() error {
				got, more, err = c.scan(t, p, func(e repo.Entry) bool { seen = e; return keep(e) })
				return err
			}
			err := page()
			if errors.Is(err, errHeavy) {
				seen = repo.Entry{} // nothing of it is held meanwhile
				if err = c.alone(); err == nil {
					err = page()
				}
			}
			if err != nil {
				return err
			}
			done, ok := c.s.limits.Answer(3 * sizeOf(got)) // as it is, and as it is sent
			c.worked()
			if !ok { // slow readers have all the room: it is read again when there is some
				now, ended, wait = "", false, streamWait
				break
			}
			err = c.send(t, &p, got, write)
			if done(); err != nil {
				return err
			}
			if len(got) > 0 {
				quiet = time.Now()
			}
			if !more && seen.ID > p.at.ID { // what is not for this stream is not looked at again
				p.at = c.s.cursors.PositionOf(seen)
			}
		}
		looked = now
		if ended {
			return nil
		}
		if time.Since(quiet) > streamAlive {
			if err := write([]byte(": alive\n\n")); err != nil {
				return err
			}
			quiet = time.Now()
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
func (c *call) send(t sees, p *paging, got []entry, write func(...[]byte) error) error {
	for _, e := range got {
		data, err := json.Marshal(c.s.event(t, e, p.query))
		if err != nil {
			return err
		}
		p.at = e.at
		head := fmt.Sprintf("id: %s\nevent: %s\ndata: ", c.s.cursors.At(p.query, p.at), oneLine(transcript.TypeOf(e.Entry)))
		if err := write([]byte(head), data, []byte("\n\n")); err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(got []entry) (n int) {
	for _, e := range got {
		n += len(e.Raw)
	}
	return n
}

// oneLine keeps what is recorded from looking like another line of the stream.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
