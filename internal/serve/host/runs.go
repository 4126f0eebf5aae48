package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	defaultDeadline = time.Hour
	maxDeadline     = 24 * time.Hour
)

func random(bytes int) []byte {
	b := make([]byte, bytes)
	rand.Read(b)
	return b
}

// NewToken returns 256 random bits.
func NewToken() string { return base64.RawURLEncoding.EncodeToString(random(32)) }

// startRun starts a run. A repeated request with the same key gets the same token for the same run:
// the first answer may have reached nobody, or somebody.
func startRun(c *request) (any, error) {
	var q api.RunRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	if thread := jsonl.GetString(data, "conversation", "thread_id"); thread != "" { // conversation may be an object
		if q.Thread != "" && q.Thread != thread {
			return nil, api.Invalid("thread and conversation.thread_id differ")
		}
		q.Thread = thread
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	c.s.runs.Starting.Lock()
	defer c.s.runs.Starting.Unlock()
	r := c.s.runs.ByKey(key)
	if r != nil {
		if err := sameRequest(r.Request, requestHash(data)); err != nil {
			return nil, err
		}
	}
	if r != nil && r.Over(c.s.Now()) { // its token would be void
		return nil, api.Conflict("the run %s that was started with this Idempotency-Key has ended: start another one with another key", r.ID)
	}
	var t access
	if r == nil {
		if r, t, err = c.newRun(&q); err != nil {
			return nil, err
		}
		r.Key, r.Request = key, requestHash(data)
		if err := c.recordStart(t.Tape, r, &q); err != nil {
			return nil, err
		}
	} else if t, err = c.tape(r.Tape); err != nil {
		return nil, err
	}
	token := NewToken()
	if key != "" {
		token = c.s.Secret("run "+r.ID) + c.s.Secret("run, the rest "+r.ID) // the same for a request that is sent again
	}
	hash := sha256.Sum256([]byte(token))
	r.Mu.Lock()
	r.TokenHash = hex.EncodeToString(hash[:])
	err = c.s.runs.Save(r)
	r.Mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.s.runs.Put(r)
	started, err := c.contextOf(t, r, &q)
	return api.RunStarted{RunID: r.ID, Token: token, Context: started}, err
}

// newRun checks a request, makes its conversation if there is none, and returns a run with what it is allowed to do.
func (c *request) newRun(q *api.RunRequest) (*run, access, error) {
	switch {
	case q.Runner == "":
		return nil, access{}, api.Invalid("runner is missing")
	case q.Conversation == "" && q.Tape == "":
		return nil, access{}, api.Invalid("conversation is missing: it is the name of a tape")
	case q.Conversation != "" && q.Tape != "" && string(q.Conversation) != q.Tape:
		return nil, access{}, api.Invalid("a conversation is a tape: conversation and tape differ")
	}
	name := cmp.Or(string(q.Conversation), q.Tape)
	if c.s.own.IsOwn(name) {
		return nil, access{}, api.Invalid("the tape %s is the server's own", name)
	}
	scopes, err := grantedScopes(q)
	if err != nil {
		return nil, access{}, err
	}
	if err := checkManifest(q.Manifest); err != nil {
		return nil, access{}, err
	}
	if err := c.s.own.EnsureConversation(c.ctx(), name); err != nil {
		return nil, access{}, err
	}
	t, err := c.tape(name)
	if err != nil {
		return nil, t, err
	}
	now := c.s.Now().UTC()
	life := defaultDeadline
	if q.DeadlineS > 0 {
		life = min(time.Duration(min(q.DeadlineS, int64(maxDeadline/time.Second)))*time.Second, maxDeadline)
	}
	r := newRun(runRecord{ID: "run_" + hex.EncodeToString(random(12)), Runner: q.Runner, Binding: q.Binding,
		Tape: name, Thread: q.Thread, Actor: q.Actor.ID, Subject: q.Subject.ID, Scopes: scopes, Policy: q.Policy, Status: running, Started: now,
		Deadline: now.Add(life)}, now)
	t.thread, t.unmasked = r.Thread, q.Policy.Unmasked
	r.Static, err = statics(q.Static, func(v json.RawMessage) json.RawMessage { return c.s.masked(t, v) })
	return r, t, err
}

// recordStart records that a run has begun, and its input.
func (c *request) recordStart(t *repo.Tape, r *run, q *api.RunRequest) error {
	started, err := startedEvent(r.ID, q)
	if err != nil {
		return err
	}
	drafts := []repo.Draft{started}
	input, ok, err := inputMessage(q.Input)
	if err != nil {
		return err
	}
	if ok {
		drafts = append(drafts, input)
	}
	r.StartSeq, err = c.s.record(c.ctx(), t, r.ID, r.Thread, drafts...)
	return err
}

// record appends entries of a run and its thread, and returns the id of the first.
func (s *Server) record(ctx context.Context, t *repo.Tape, run, thread string, drafts ...repo.Draft) (first int64, err error) {
	meta, err := stampMeta(nil, run, thread, "", "", nil)
	if err != nil {
		return 0, err
	}
	for i := range drafts {
		drafts[i].Meta = meta
	}
	j := &writeJob{Drafts: drafts}
	err = s.queues.Append(ctx, t, j)
	return j.Out.First, err
}

func getRun(c *request) (any, error) { return c.pathRun().Answer(), nil }

// heartbeat answers; authenticate has kept the token alive.
func heartbeat(c *request) (any, error) { return c.pathRun().Answer(), nil }

func cancelRun(c *request) (any, error) {
	r := c.pathRun()
	if err := c.s.end(c.ctx(), r, cancelled); err != nil {
		return nil, err
	}
	return r.Answer(), nil
}

// end ends a run that has not ended. It records on the tape that the run was cancelled or has expired; any other
// end was recorded by a result.
func (s *Server) end(ctx context.Context, r *run, status string) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Status != running {
		return nil
	}
	if status == cancelled || status == expired {
		t, err := s.Store.Tape(ctx, r.Tape)
		if err == nil {
			_, err = s.record(ctx, t, r.ID, r.Thread, repo.Event("run."+status, nil))
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) { // a fork may be closed before its run ends
			return err
		}
	}
	before := r.runRecord
	r.Status, r.Ended, r.Static = status, s.Now().UTC(), nil // nobody can ask for the contents any more
	if err := s.runs.Save(r); err != nil {
		r.runRecord = before
		return err
	}
	return nil
}

// expire ends a run whose deadline has passed. The tape may already have the run's end, if an earlier server
// stopped before it saved the run.
func (s *Server) expire(ctx context.Context, r *run) error {
	ctx = context.WithoutCancel(ctx)
	r.Results.Lock()
	defer r.Results.Unlock()
	status := expired
	t, err := s.Store.Tape(ctx, r.Tape)
	if err == nil {
		_, err = s.sequences(ctx, t, r)
		status = cmp.Or(r.MissedEnd, status)
	}
	if err != nil && !errors.Is(err, repo.ErrNotFound) {
		return err
	}
	return s.end(ctx, r, status)
}
