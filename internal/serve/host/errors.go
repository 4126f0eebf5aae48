package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/repo"
)

func (s *Server) fail(c *request, err error) {
	p := api.ProblemOf(err)
	if p.Status == http.StatusInternalServerError && c.r.Context().Err() == nil {
		s.Log.Error("a request failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
	}
	if c.run != nil && !c.run.Policy.Unmasked {
		// The message may quote the tape, or a guess of the run. Its marks are unlike all others, so that they
		// confirm no guess.
		masker := s.mask.Derive("errors", c.run.ID)
		p.Message = masker.Text(p.Message)
		if hint, ok := p.Details["hint"].(string); ok {
			p.Details["hint"] = masker.Text(hint)
		}
	}
	h := c.w.Header()
	p.SetHeaders(h)
	if p.Status == http.StatusUnauthorized {
		h.Set("Connection", "close") // a stranger must not keep a connection
	}
	c.result = p.Code
	front.Refuse(c.w, c.r)
	s.answer(c, p.Status, api.ErrorAnswer{Error: *p})
}

func (s *Server) answer(c *request, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.Log.Error("an answer cannot be written as JSON", "path", c.r.URL.Path, "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON","retryable":false,"details":{}}}`)
	}
	written, ok := s.limits.Answer(len(data))
	c.release() // a request never holds memory for reading and for its answer at the same time
	if !ok {
		s.fail(c, front.Busy())
		return
	}
	defer written()
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	n, _ := c.w.Write(data) // the client may have gone
	m, _ := c.w.Write([]byte{'\n'})
	c.bytes += int64(n + m)
}

// acquire waits for the memory that a request needs for reading, but not longer than the run lasts.
func (c *request) acquire(bytes int64) error {
	c.release()
	ctx := c.ctx()
	if !c.w.Until.IsZero() {
		until, stop := context.WithDeadline(ctx, c.w.Until)
		defer stop()
		ctx = until
	}
	done, err := c.s.limits.Work(ctx, bytes)
	c.release = done
	return err
}

// errHeavy makes the request start again, alone, because an entry is long.
var errHeavy = errors.New("a long entry")

// checkMemory refuses a long entry of a GET until the request reads alone: answering takes several copies of the
// entry in memory.
func (c *request) checkMemory(e repo.Entry) error {
	if len(e.Raw) <= front.HeavyEntry || c.alone || c.route.Method != http.MethodGet {
		return nil
	}
	return errHeavy
}

// readAlone waits until no other request reads.
func (c *request) readAlone() error {
	c.alone = true
	return c.acquire(front.AllWork)
}
