package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
	"tape/internal/serve/host/auditlog"
	"tape/internal/serve/host/runs"
	"tape/internal/sessions/filter"
	"tape/repo"
)

const (
	maxBody = 16 << 20
	maxKey  = 200 // characters of an idempotency key
)

// call is one request.
type call struct {
	w     *admission.Writer
	r     *http.Request
	s     *Server
	route *route
	run   *runs.Run // whose token it came with; nil is the admin

	heavy  bool     // it reads alone
	worked func()   // gives back the memory that is held until the answer is made
	leave  []func() // called when the answer is written

	result   string // for the audit
	resource string
	bytes    int64
}

func newCall(w http.ResponseWriter, r *http.Request, s *Server, rt *route) *call {
	out, ok := w.(*admission.Writer)
	if !ok {
		out = admission.NewWriter(w)
	}
	return &call{w: out, r: r, s: s, route: rt, worked: func() {}}
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.HandleFunc(rt.Method+" /v1"+rt.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(newCall(w, r, s, &rt)) })
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(newCall(w, r, s, nil), api.NotFound("endpoint; /v1/openapi.json lists them"))
	})
	mux.HandleFunc("/", s.serveOther)
	return mux
}

// serveOther answers what is outside of /v1. What is only read ends with the server: a page may
// follow a tape for ever.
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

// ServeHTTP refuses what a page of another site may send, before anything else is looked at.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	w = admission.NewWriter(w)
	r.Body = admission.Body(w, r)
	if !admission.SameSite(r) {
		s.fail(newCall(w, r, s, nil), api.NewProblem(http.StatusForbidden, "forbidden", "this server answers only to names of this machine, and to pages of its own"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serve checks in this order: the run of the path exists, who asks, what it may do. Which
// conversation and thread it may see, each handler asks of call.tape.
func (s *Server) serve(c *call) {
	defer func() {
		c.worked()
		for _, f := range c.leave {
			f()
		}
	}()
	answer, err := c.do()
	c.result = cmp.Or(c.result, auditlog.OK)
	if err != nil {
		c.result = api.ProblemOf(err).Code
	}
	over := err == nil && c.route.Ends && c.ofPath().StatusNow() != runs.Running
	if over {
		data, _ := json.Marshal(answer) // what cannot be written fails below
		c.bytes = int64(len(data)) + 1
		s.note(c)
		err = s.audit.Flush(c.ctx())
	}
	switch {
	case err != nil:
		s.fail(c, err)
	case answer != nil:
		s.answer(c, c.route.Status(), answer)
	}
	if !over {
		s.note(c)
	}
}

// note records a call in the audit: each of a run, and of others what changes something or is
// refused for a token that is not known.
func (s *Server) note(c *call) {
	r := auditlog.Record{Action: c.route.Method + " " + c.route.Path, Resource: cmp.Or(c.resource, fmt.Sprintf("%.200s", c.r.URL.Path)),
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

func (c *call) do() (any, error) {
	if !c.route.Open {
		if err := c.identify(); err != nil {
			return nil, err
		}
	}
	if c.run != nil {
		if c.route.Admin {
			return nil, api.NewProblem(http.StatusForbidden, "forbidden", "this is the admin's")
		}
		if err := cmp.Or(c.run.Require(c.route.Scope), c.run.Rate.Allow(c.s.Now()), c.s.audit.CheckRoom()); err != nil {
			return nil, err
		}
	}
	if err := c.route.CheckQuery(c.r.URL.Query()); err != nil {
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	answer, err := c.route.Do(c)
	if errors.Is(err, errHeavy) {
		if err = c.alone(); err == nil {
			answer, err = c.route.Do(c)
		}
	}
	return answer, err
}

// admit takes what a request needs of the server's bounds, and bounds its time by the run's.
func (c *call) admit() error {
	stream := c.route.Media == "text/event-stream"
	if c.run != nil {
		leave, err := c.run.Use.Enter(stream)
		if err != nil {
			return err
		}
		c.leave = append(c.leave, leave)
		if left := c.run.Deadline.Sub(c.s.Now()); left > 0 {
			c.w.Until = time.Now().Add(left)
			admission.Shorten(c.w, c.r, c.w.Until)
			if !stream { // which says how the run ends
				ctx, stop := context.WithTimeout(c.ctx(), left)
				c.leave, c.r = append(c.leave, stop), c.r.WithContext(ctx)
			}
		}
	}
	if c.route.Open || c.route.Method != http.MethodGet {
		return nil
	}
	work := int64(admission.PageWork)
	if strings.HasPrefix(c.route.Path, "/artifacts/") {
		work = admission.ArtifactWork
	}
	return c.work(work)
}

// identify finds out who asks, and whether the run that the path names is its own.
func (c *call) identify() error {
	token, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return api.Unauthorized("give the header Authorization: Bearer TOKEN")
	}
	hash := sha256.Sum256([]byte(token))
	admin := subtle.ConstantTimeCompare(hash[:], c.s.admin[:]) == 1
	var run *runs.Run
	if !admin {
		if run = c.s.runs.ByToken(hash); run == nil {
			return api.Unauthorized("the token is not known, or its run is over")
		}
	}
	admission.KeepConn(c.ctx())
	c.run = run
	named := c.r.PathValue("run_id")
	if named != "" && (c.s.runs.Get(named) == nil || run != nil && run.ID != named) {
		return api.NotFound("run")
	}
	if of := cmp.Or(run, c.s.runs.Get(named)); of != nil && of.Due(c.s.Now()) {
		if err := c.s.expire(c.ctx(), of); err != nil {
			return err
		}
	}
	if run != nil {
		return run.CheckToken(c.s.Now(), c.route.Ended)
	}
	return nil
}

// ofPath is the run that the path names.
func (c *call) ofPath() *runs.Run { return c.s.runs.Get(c.r.PathValue("run_id")) }

func (c *call) ctx() context.Context { return c.r.Context() }

// body reads the request's JSON.
func (c *call) body(into any) ([]byte, error) {
	data, err := c.read(c.r.Body)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if !utf8.Valid(data) {
		return nil, api.Invalid("the body is not UTF-8")
	}
	if err := shortLists(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, api.Invalid("the body cannot be used: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, api.Invalid("the body is more than one JSON value")
	}
	return data, nil
}

// read reads a body, for which there is so much memory for all of them.
func (c *call) read(r io.Reader) ([]byte, error) {
	data, done, err := c.s.limits.ReadAll(r)
	c.leave = append(c.leave, done)
	var large *http.MaxBytesError
	var problem *api.Problem
	if err != nil && !errors.As(err, &large) && !errors.As(err, &problem) {
		err = api.Invalid("the body could not be read: %v", err)
	}
	return data, err
}

// number is a parameter within its caps: what is missing, 0 or less means the usual one.
func (c *call) number(name string, usual, most int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
		n = most
	case errors.Is(err, strconv.ErrRange):
		n = 0
	case err != nil:
		return 0, api.Invalid("%s is not a number: %.40q", name, text)
	}
	return filter.Capped(n, usual, most), nil
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// key is that of a request which must not be done twice.
func (c *call) key() (string, error) {
	key := c.r.Header.Get("Idempotency-Key")
	if len(key) > maxKey || !utf8.ValidString(key) {
		return "", api.Invalid("the Idempotency-Key has more than %d bytes, or is not UTF-8", maxKey)
	}
	return key, nil
}

// sees is what a call may see: a tape, and of it one thread or, with "", all.
type sees struct {
	*repo.Tape
	thread string
	full   bool // secrets are not masked
}

// tape is a conversation that the caller may see. An empty name is its own.
func (c *call) tape(name string) (sees, error) {
	out := sees{thread: c.query("thread_id"), full: c.mine().full}
	if c.run != nil {
		if name == "" {
			name = c.run.Tape
		}
		c.resource = name
		own := c.run.Owns(name)
		if !own && (!c.run.May("cross_conversation") || c.s.isOwn(name)) {
			return out, api.NotFound("conversation")
		}
		if own && c.run.Thread != "" {
			if out.thread != "" && out.thread != c.run.Thread {
				return out, api.NotFound("thread")
			}
			out.thread = c.run.Thread
			if err := c.ownFork(name); name != c.run.Tape && err != nil {
				return out, hidden(err)
			}
		}
	}
	if name == "" {
		return out, api.Invalid("conversation_id is missing: the admin has to name one")
	}
	c.resource = name
	t, err := c.s.Store.Tape(c.ctx(), name)
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		return out, api.NotFound("conversation")
	}
	if err == nil && c.run != nil && c.run.Owns(name) && name != c.run.Tape && !t.IsFork() && !c.run.May("cross_conversation") {
		return out, api.NotFound("conversation") // another one, whose name begins alike
	}
	out.Tape = t
	return out, err
}

// hidden is the same for what is not there and what a run must not see.
func hidden(err error) error {
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		return api.NotFound("conversation")
	}
	return err
}

// needs refuses what the caller's run has no scope for.
func (c *call) needs(scope string) error {
	if c.run == nil {
		return nil
	}
	return c.run.Require(scope)
}

// runID is the id of the run that calls, "" for the admin.
func (c *call) runID() string {
	if c.run == nil {
		return ""
	}
	return c.run.ID
}
