package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/repo"
)

const (
	maxBody = 16 << 20
	maxKey  = 200 // bytes of an idempotency key
)

// request is one request to the API.
type request struct {
	w     *front.Writer
	r     *http.Request
	s     *Server
	route *route
	run   *run // the caller; nil is the admin

	running bool     // the run had not ended when the request came
	keyed   bool     // the request has left a record of its key
	alone   bool     // no other request reads
	release func()   // releases the memory for what it reads
	cleanup []func() // called after the answer was written

	result   string // for the audit
	resource string
	bytes    int64
}

func newRequest(w http.ResponseWriter, r *http.Request, s *Server, rt *route) *request {
	out, ok := w.(*front.Writer)
	if !ok {
		out = front.NewWriter(w)
	}
	return &request{w: out, r: r, s: s, route: rt, release: func() {}}
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.HandleFunc(rt.Method+" /v1"+rt.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(newRequest(w, r, s, &rt)) })
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(newRequest(w, r, s, nil), api.NotFound("endpoint; /v1/openapi.json lists them"))
	})
	mux.HandleFunc("/", s.serveOther)
	return mux
}

// serveOther serves what is outside of /v1. It ends a GET when the server ends, because a page may follow a
// tape forever.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	if s.Handler == nil {
		http.NotFound(w, r)
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	if r.Method == http.MethodGet {
		go func() {
			select {
			case <-s.ending:
				stop()
			case <-ctx.Done():
			}
		}()
	}
	s.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// ServeHTTP answers a request. It refuses those for names that are not this server's, and those that a page of
// another site may have sent.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	w = front.NewWriter(w)
	r.Body = front.Body(w, r)
	asked, err := s.Front.Admit(r)
	if err != nil {
		s.fail(newRequest(w, r, s, nil), api.NewProblem(http.StatusForbidden, "forbidden", "%s", err))
		return
	}
	s.mux.ServeHTTP(w, asked)
}

// serve checks in this order: the token, the run that the path names, the caller's scope, the limits. Handlers
// then check with c.tape which conversation and thread the caller may see.
func (s *Server) serve(c *request) {
	defer func() {
		c.release()
		for _, f := range c.cleanup {
			f()
		}
	}()
	answer, err := c.handle()
	if err != nil && c.running && !c.s.Now().Before(c.run.Deadline) {
		err = pastDeadline()      // the deadline caused the error, whatever that says
		c.w.Extend(2 * lastWords) // one second to send the answer, one to drain the request's body
	}
	if c.keyed && err == nil {
		c.run.Failed.Refund()
	}
	c.result = cmp.Or(c.result, auditOK)
	if err != nil {
		c.result = api.ProblemOf(err).Code
	}
	ended := err == nil && c.route.Ends && c.pathRun().StatusNow() != running
	if ended { // the audit of a run is durable before its end is answered
		data, _ := json.Marshal(answer) // s.answer reports the error
		c.bytes = int64(len(data)) + 1
		s.recordAudit(c)
		err = s.audit.Flush(c.ctx())
	}
	switch {
	case err != nil:
		s.fail(c, err)
	case answer != nil:
		s.answer(c, c.route.Status(), answer)
	}
	if !ended {
		s.recordAudit(c)
	}
}

// recordAudit records every request of a run. Of other requests, it records those that change something or
// have an unknown token.
func (s *Server) recordAudit(c *request) {
	r := auditRecord{Action: c.route.Method + " " + c.route.Path, Resource: cmp.Or(c.resource, fmt.Sprintf("%.200s", c.r.URL.Path)),
		Scope: c.route.Scope, Result: c.result, Bytes: c.bytes}
	switch {
	case c.run != nil:
		r.RunID, r.Runner = c.run.ID, c.run.Runner
	case c.result == "unauthorized":
		r.By = "unknown"
	case c.route.Open, c.route.Method == http.MethodGet:
		return
	default:
		r.By = "admin"
	}
	s.audit.Add(r)
}

func (c *request) handle() (any, error) {
	if !c.route.Open {
		if err := c.authenticate(); err != nil {
			return nil, err
		}
	}
	if c.run != nil {
		if c.route.Admin {
			return nil, api.NewProblem(http.StatusForbidden, "forbidden", "only the admin may do this")
		}
		if err := cmp.Or(c.run.Require(c.route.Scope), c.run.Rate.Allow(c.s.Now()), c.s.audit.CheckRoom()); err != nil {
			return nil, err
		}
	}
	if err := c.route.CheckQuery(c.r.URL.Query(), false); err != nil {
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	answer, err := c.route.Do(c)
	if errors.Is(err, errHeavy) {
		if err = c.readAlone(); err == nil {
			answer, err = c.route.Do(c)
		}
	}
	return answer, err
}

const (
	lastWords = time.Second      // after a run's deadline, for its streams and requests to say so
	afterEnd  = 30 * time.Second // for a request about a run that has ended
)

// admit acquires what a request needs of the server's limits, and makes the request end with its run.
func (c *request) admit() error {
	stream := c.route.Media == "text/event-stream"
	if c.run != nil {
		leave, err := c.run.Use.Enter(stream)
		if err != nil {
			return err
		}
		c.cleanup = append(c.cleanup, leave)
		left := c.run.Deadline.Sub(c.s.Now())
		if c.running = !c.run.Over(c.s.Now()); !c.running {
			left = afterEnd
		}
		c.w.Until = time.Now().Add(left)
		front.Shorten(c.r, c.w.Until)
		if stream {
			c.w.Until = c.w.Until.Add(lastWords) // it reports how the run ended
		} else {
			ctx, stop := context.WithTimeout(c.ctx(), left)
			c.cleanup, c.r = append(c.cleanup, stop), c.r.WithContext(ctx)
		}
	}
	if c.route.Open || c.route.Method != http.MethodGet {
		return nil
	}
	work := int64(front.PageWork)
	if strings.HasPrefix(c.route.Path, "/artifacts/") {
		work = front.ArtifactWork
	}
	return c.acquire(work)
}

// authenticate finds the caller by its token, and checks that it may use the run that the path names.
func (c *request) authenticate() error {
	token, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return api.Unauthorized("give the header Authorization: Bearer TOKEN")
	}
	hash := sha256.Sum256([]byte(token))
	admin := subtle.ConstantTimeCompare(hash[:], c.s.admin[:]) == 1
	var run *run
	if !admin {
		if run = c.s.runs.ByToken(hash); run == nil {
			return api.Unauthorized("the token is unknown, or its run has ended")
		}
	}
	front.KeepConn(c.ctx())
	c.run = run
	named := c.r.PathValue("run_id")
	if named != "" && (c.s.runs.Get(named) == nil || run != nil && run.ID != named) {
		return api.NotFound("run")
	}
	if r := cmp.Or(run, c.s.runs.Get(named)); r != nil && r.Due(c.s.Now()) {
		if err := c.s.expire(c.ctx(), r); err != nil {
			return err
		}
	}
	if run != nil {
		return run.CheckToken(c.s.Now(), c.route.Ended)
	}
	return nil
}

// pathRun returns the run that the path names.
func (c *request) pathRun() *run { return c.s.runs.Get(c.r.PathValue("run_id")) }

func (c *request) ctx() context.Context { return c.r.Context() }

// body reads the request's JSON, and also returns its text.
func (c *request) body(into any) ([]byte, error) {
	data, err := c.read(c.r.Body)
	if err != nil {
		return nil, err
	}
	return data, api.Decode(data, into)
}

// read reads a body, within the memory for all bodies.
func (c *request) read(r io.Reader) ([]byte, error) {
	data, done, err := c.s.limits.ReadAll(r)
	c.cleanup = append(c.cleanup, done)
	var large *http.MaxBytesError
	var problem *api.Problem
	if err != nil && !errors.As(err, &large) && !errors.As(err, &problem) {
		err = api.Invalid("the body could not be read: %v", err)
	}
	return data, err
}

// param returns a parameter of the query.
func (c *request) param(name string) string { return c.r.URL.Query().Get(name) }

// key returns the request's Idempotency-Key.
func (c *request) key() (string, error) {
	key := c.r.Header.Get("Idempotency-Key")
	if len(key) > maxKey || !utf8.ValidString(key) {
		return "", api.Invalid("the Idempotency-Key has more than %d bytes, or is not UTF-8", maxKey)
	}
	return key, nil
}

// access says what a request may see of a tape: all, or one thread.
type access struct {
	*repo.Tape
	thread   string // "": all threads
	unmasked bool   // with secrets
}

// tape returns a conversation that the caller may see. "" is the run's own.
func (c *request) tape(name string) (access, error) {
	out := access{thread: c.param("thread_id"), unmasked: c.anyTape().unmasked}
	if c.run != nil {
		if name == "" {
			name = c.run.Tape
		}
		c.resource = name
		own := c.run.Owns(name)
		if !own && (!c.run.May("cross_conversation") || c.s.own.IsOwn(name)) {
			return out, api.NotFound("conversation")
		}
		if own && c.run.Thread != "" {
			if out.thread != "" && out.thread != c.run.Thread {
				return out, api.NotFound("thread")
			}
			out.thread = c.run.Thread
			if err := c.checkFork(name); err != nil {
				return out, asNotFound(err)
			}
		}
	}
	if name == "" {
		return out, api.Invalid("conversation_id is missing: the admin must name one")
	}
	c.resource = name
	t, err := c.s.Store.Tape(c.ctx(), name)
	if err = asNotFound(err); err != nil {
		return out, err
	}
	if c.run != nil && c.run.Owns(name) && name != c.run.Tape && !t.IsFork() && !c.run.May("cross_conversation") {
		return out, api.NotFound("conversation") // not a fork, only a name with the same prefix
	}
	out.Tape = t
	return out, nil
}

// asNotFound gives a tape that does not exist the same answer as one that a run must not see.
func asNotFound(err error) error {
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		return api.NotFound("conversation")
	}
	return err
}

// require refuses a run without a scope.
func (c *request) require(scope string) error {
	if c.run == nil {
		return nil
	}
	return c.run.Require(scope)
}

// runID returns the id of the calling run, "" for the admin.
func (c *request) runID() string {
	if c.run == nil {
		return ""
	}
	return c.run.ID
}
