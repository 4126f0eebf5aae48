package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
	"tape/repo"
	"time"
)

func (s *Server) fail(c *call, err error) {
	p := api.ProblemOf(err)
	if p.Status == http.StatusInternalServerError && c.r.Context().Err() == nil {
		s.Log.Error("request", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
	}
	if c.run != nil && !c.run.Policy.Unmasked { // it may name what stands on the tape
		own := s.mask.Derive("errors", c.run.ID) // it may repeat what the run has said
		p.Message = own.Text(p.Message)
		if hint, ok := p.Details["hint"].(string); ok {
			p.Details["hint"] = own.Text(hint)
		}
	}
	h := c.w.Header()
	if p.After > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.After+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
		h.Set("Connection", "close") // who is not known keeps no connection from others
	}
	c.result = p.Code
	admission.Refuse(c.w, c.r)
	s.answer(c, p.Status, api.ErrorAnswer{Error: *p})
}

func (s *Server) answer(c *call, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.Log.Error("answer", "path", c.r.URL.Path, "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON","retryable":false,"details":{}}}`)
	}
	written, ok := s.limits.Answer(len(data))
	c.worked() // so there is never more than work and answers have
	if !ok {
		s.fail(c, admission.Busy())
		return
	}
	defer written()
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	n, _ := c.w.Write(data) // a client that has gone needs no answer
	m, _ := c.w.Write([]byte{'\n'})
	c.bytes += int64(n + m)
}

// work waits until there is room for what is read, or the run is over.
func (c *call) work(bytes int64) error {
	c.worked()
	ctx := c.ctx()
	if !c.w.Until.IsZero() {
		until, stop := context.WithDeadline(ctx, c.w.Until)
		defer stop()
		ctx = until
	}
	done, err := c.s.limits.Work(ctx, bytes)
	c.worked = done
	return err
}

// errHeavy: the request must start again, alone, because its entries are long.
var errHeavy = errors.New("a long entry")

// weigh refuses an entry that takes far more memory than others, until the request reads alone: the
// entry is there several times until it is shown.
func (c *call) weigh(e repo.Entry) error {
	if len(e.Raw) <= admission.HeavyEntry || c.heavy || c.route.Method != http.MethodGet {
		return nil
	}
	return errHeavy
}

// alone waits until nobody else reads.
func (c *call) alone() error {
	c.heavy = true
	return c.work(admission.AllWork)
}
