package telegram

import (
	"encoding/json"
	"net/http"
	"time"
)

// poll answers getUpdates. Updates before the offset are confirmed and removed; an offset after all
// updates has no effect. A poll that has to wait ends another waiting poll.
func (s *botServer) poll(r *http.Request, a args) (any, *botFault) {
	mine := make(chan struct{})
	defer s.do(func() {
		if s.polling == mine {
			s.polling = nil
		}
	})
	limit := 100
	var end <-chan time.Time
	s.do(func() {
		if a.Offset == s.offset && time.Since(s.polled) < s.unit/2 {
			limit = 1
		}
		s.offset, s.polled = a.Offset, time.Now()
		end = time.After(time.Duration(min(a.Timeout, 50)) * s.unit)
	})
	for {
		out, arrived := s.take(a.Offset, limit)
		if len(out) > 0 || a.Timeout == 0 {
			return out, nil
		}
		s.do(func() {
			if s.polling != nil && s.polling != mine {
				close(s.polling)
			}
			s.polling = mine
		})
		select {
		case <-mine:
			return nil, &botFault{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
		case <-arrived:
		case <-end:
			return out, nil
		case <-r.Context().Done():
			return out, nil
		}
	}
}

// take confirms the updates before the offset. It returns the next ones, at most limit, and a channel that is closed
// when an update comes.
func (s *botServer) take(offset int64, limit int) ([]json.RawMessage, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset <= s.next {
		for len(s.updates) > 0 && s.updates[0].id < offset {
			s.updates = s.updates[1:]
		}
	}
	out := []json.RawMessage{}
	for _, u := range s.updates[:min(len(s.updates), limit)] {
		out = append(out, u.raw)
	}
	return out, s.arrived
}
