package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	pollEvery = 500 * time.Millisecond
	keepAlive = 20 * time.Second // so that proxies keep the connection and we notice when it is gone
)

// follow sends the number of entries as a server-sent event whenever it changes.
func (s *View) follow(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	flush := http.NewResponseController(r.w)
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("X-Accel-Buffering", "no")                     // for nginx
	sent, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64) // 0 if it is not a number
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		sum, err := t.Summary(r.Context())
		if err != nil {
			return nil // the tape is gone; the page stays as it is
		}
		if sum.Entries != sent {
			sent, last = sum.Entries, time.Now()
			_, err = fmt.Fprintf(r.w, "id: %d\ndata: %d\n\n", sent, sent)
		} else if time.Since(last) > keepAlive {
			last = time.Now()
			_, err = fmt.Fprint(r.w, ": still here\n\n")
		}
		if err == nil {
			err = flush.Flush()
		}
		if err != nil {
			return nil // the browser is gone
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}
