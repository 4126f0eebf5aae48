package host

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/internal/host/api"
	"tape/internal/host/lanes"
	"tape/internal/host/start"
	"tape/internal/jsonl"
	"tape/repo"
)

const (
	idleAfter     = time.Hour
	usualDeadline = time.Hour
	longest       = 24 * time.Hour
	keptRuns      = 7 * 24 * time.Hour // how long a run that is over can be asked about
)

// Scopes are all that a run may be allowed.
func Scopes() []string {
	return []string{"history.page", "history.search", "events.read", "artifacts.read", "artifacts.write", "state.read", "state.write",
		"append", "fork", "cross_conversation"}
}

// record is what is kept of a run: its token's hash, but not the token.
type record struct {
	ID        string      `json:"run_id"`
	TokenHash string      `json:"token_sha256"`
	Key       string      `json:"idempotency_key,omitempty"`
	Request   string      `json:"request_sha256,omitempty"`
	Runner    string      `json:"runner"`
	Binding   string      `json:"binding"`
	Tape      string      `json:"tape"`
	Thread    string      `json:"thread,omitempty"`
	Actor     string      `json:"actor,omitempty"`
	Subject   string      `json:"subject,omitempty"`
	Scopes    []string    `json:"scopes"`
	Policy    api.Policy  `json:"policy"`
	Status    string      `json:"status"`
	Started   time.Time   `json:"started_at"`
	Deadline  time.Time   `json:"deadline"`
	Ended     time.Time   `json:"ended_at,omitzero"`
	StartSeq  int64       `json:"start_seq"`
	Steering  []api.Steer `json:"steering,omitempty"`
	Static    []static    `json:"static,omitempty"`
}

// The states of a run.
const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
)

type run struct {
	record

	rate    bucket
	mu      sync.Mutex     // the record and call
	call    time.Time      // the last one
	telling sync.Mutex     // seen and missedEnd: two batches of a run do not cross
	seen    map[int64]bool // sequences that are on the tape; nil: not read yet

	missedEnd string // the end that the tape has of a run and its record not
}

func (r *run) may(scope string) bool { return slices.Contains(r.Scopes, scope) }

func (r *run) need(scope string) error {
	if scope == "" || r.may(scope) {
		return nil
	}
	p := api.NewProblem(http.StatusForbidden, "forbidden", "the run has no scope %s", scope)
	p.Details["scope"] = scope
	return p
}

// owner is whose state a run has in a scope, "" if nobody's.
func (r *run) owner(scope string) string {
	return map[string]string{"actor": r.Actor, "subject": r.Subject, "runner": r.Runner}[scope]
}

// alive says why a run's token is void, if it is.
func (r *run) alive(now time.Time, alsoEnded bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.Status != statusRunning && !alsoEnded:
		return api.Unauthorized("the token is void: the run is over")
	case now.Sub(r.call) > idleAfter:
		return api.Unauthorized("the token is void: it was not used for an hour")
	case r.Status == statusRunning && now.After(r.Deadline):
		return api.NewProblem(http.StatusGatewayTimeout, "deadline_exceeded", "the run's deadline has passed")
	}
	r.call = now
	return nil
}

// runs are all that are not forgotten.
type runs struct {
	mu      sync.Mutex
	all     map[string]*run
	tokens  map[string]*run
	making  sync.Mutex
	folders string
}

func (l *runs) get(id string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[id]
}

func (l *runs) byToken(hash [sha256.Size]byte) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[hex.EncodeToString(hash[:])]
}

func (l *runs) byKey(key string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.all {
		if key != "" && r.Key == key {
			return r
		}
	}
	return nil
}

// put makes a run known under a token, in the place of the one that it had.
func (l *runs) put(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for hash, other := range l.tokens {
		if other == r {
			delete(l.tokens, hash)
		}
	}
	l.all[r.ID], l.tokens[r.TokenHash] = r, r
}

// load reads the runs of an earlier server, and forgets those that are long over.
func (l *runs) load(s *Server) error {
	l.all, l.tokens, l.folders = map[string]*run{}, map[string]*run{}, s.private("runs")
	files, err := filepath.Glob(filepath.Join(l.folders, "*.json"))
	if err != nil {
		return err
	}
	now := s.Now()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r := &run{call: now}
		if err := json.Unmarshal(data, &r.record); err != nil {
			s.Log.Warn("a run's file cannot be read and is left alone", "file", file, "error", err)
			continue
		}
		over := r.Ended
		if over.IsZero() {
			over = r.Deadline
		}
		if now.Sub(over) > keptRuns {
			if err := s.disk.Remove(file); err != nil {
				return err
			}
			continue
		}
		l.put(r)
	}
	return nil
}

// save writes a run durably. Who calls it holds r.mu, or is alone with r.
func (s *Server) save(r *run) error {
	data, err := json.Marshal(r.record)
	if err != nil {
		return err
	}
	return s.disk.WriteFile(filepath.Join(s.runs.folders, r.ID+".json"), data)
}

func random(bytes int) []byte {
	b := make([]byte, bytes)
	rand.Read(b)
	return b
}

// NewToken is 256 random bits.
func NewToken() string { return base64.RawURLEncoding.EncodeToString(random(32)) }

// startRun starts a run. With the key of one that was started already it gives that run a new
// token: nobody has the old one.
func startRun(c *call) (any, error) {
	var q api.RunRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	if thread := jsonl.GetString(data, "conversation", "thread_id"); thread != "" { // of a conversation that is an object
		if q.Thread != "" && q.Thread != thread {
			return nil, api.Invalid("thread and conversation.thread_id differ")
		}
		q.Thread = thread
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	c.s.runs.making.Lock()
	defer c.s.runs.making.Unlock()
	r := c.s.runs.byKey(key)
	if r != nil && r.Request != lanes.RequestHash(data) {
		return nil, api.Conflict("the Idempotency-Key was used for another request")
	}
	var t sees
	if r == nil {
		if r, t, err = c.newRun(&q); err != nil {
			return nil, err
		}
		r.Key, r.Request = key, lanes.RequestHash(data)
		if err := c.recordStart(t.Tape, r, &q); err != nil {
			return nil, err
		}
	} else if t, err = c.tape(r.Tape); err != nil {
		return nil, err
	}
	token := NewToken()
	hash := sha256.Sum256([]byte(token))
	r.mu.Lock()
	r.TokenHash = hex.EncodeToString(hash[:])
	err = c.s.save(r)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.s.runs.put(r)
	started, err := c.contextOf(t, r, &q)
	return api.RunStarted{RunID: r.ID, Token: token, Context: started}, err
}

// newRun checks a request and freezes what the run may do.
func (c *call) newRun(q *api.RunRequest) (*run, sees, error) {
	switch {
	case q.Runner == "":
		return nil, sees{}, api.Invalid("runner is missing")
	case q.Conversation == "" && q.Tape == "":
		return nil, sees{}, api.Invalid("conversation is missing: it is the name of a tape")
	case q.Conversation != "" && q.Tape != "" && string(q.Conversation) != q.Tape:
		return nil, sees{}, api.Invalid("a conversation is a tape: conversation and tape differ")
	}
	name := cmp.Or(string(q.Conversation), q.Tape)
	if name == hostTape || name == auditTape {
		return nil, sees{}, api.Invalid("the tape %s is the server's own", name)
	}
	scopes, err := granted(q)
	if err != nil {
		return nil, sees{}, err
	}
	if err := start.CheckManifest(q.Manifest); err != nil {
		return nil, sees{}, err
	}
	if err := c.s.ensureConversation(c.ctx(), name); err != nil {
		return nil, sees{}, err
	}
	t, err := c.tape(name)
	if err != nil {
		return nil, t, err
	}
	now := c.s.Now().UTC()
	life := usualDeadline
	if q.DeadlineS > 0 {
		life = min(time.Duration(min(q.DeadlineS, int64(longest/time.Second)))*time.Second, longest)
	}
	r := &run{call: now, seen: map[int64]bool{}, record: record{ID: "run_" + hex.EncodeToString(random(12)), Runner: q.Runner, Binding: q.Binding,
		Tape: name, Thread: q.Thread, Actor: q.Actor.ID, Subject: q.Subject.ID, Scopes: scopes, Policy: q.Policy, Status: statusRunning, Started: now,
		Deadline: now.Add(life)}}
	t.thread, t.full = r.Thread, q.Policy.Unmasked
	r.Static, err = staticsOf(q.Static)
	return r, t, err
}

// granted is what manifest, policy and request all have; who says nothing has all.
func granted(q *api.RunRequest) ([]string, error) {
	out := Scopes()
	without := start.Pulls(q.Manifest)
	out = slices.DeleteFunc(out, func(s string) bool {
		return s == "cross_conversation" && !slices.Contains(q.Scopes, s) || slices.Contains(without, s)
	})
	for _, list := range []*[]string{q.Manifest.Scopes, q.Policy.Scopes, &q.Scopes} {
		if list == nil || list == &q.Scopes && q.Scopes == nil {
			continue
		}
		for _, name := range *list {
			if !slices.Contains(Scopes(), name) {
				return nil, api.Invalid("there is no scope %.60q", name)
			}
		}
		out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(*list, s) })
	}
	return out, nil
}

// recordStart notes on the tape that a run has begun, and what it is to answer.
func (c *call) recordStart(t *repo.Tape, r *run, q *api.RunRequest) error {
	meta, err := lanes.Stamp(nil, r.ID, r.Thread, "", "", nil)
	if err != nil {
		return err
	}
	started, err := start.Started(r.ID, q)
	if err != nil {
		return err
	}
	drafts := []repo.Draft{started}
	said, ok, err := start.Said(q.Input)
	if err != nil {
		return err
	}
	if ok {
		drafts = append(drafts, said)
	}
	for i := range drafts {
		drafts[i].Meta = meta
	}
	j := &lanes.Job{Drafts: drafts}
	if err := c.s.lanes.Append(c.ctx(), t, j); err != nil {
		return err
	}
	r.StartSeq = j.Out.First
	return nil
}

func (r *run) answer() api.RunAnswer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return api.RunAnswer{RunID: r.ID, Runner: r.Runner, Binding: r.Binding, ConversationID: r.Tape, ThreadID: r.Thread, Status: r.Status,
		Scopes: r.Scopes, StartedAt: r.Started, Deadline: r.Deadline, Pending: len(r.Steering)}
}

func getRun(c *call) (any, error) { return c.ofPath().answer(), nil }

// heartbeat keeps the token of a run that has nothing else to say.
func heartbeat(c *call) (any, error) { return c.ofPath().answer(), nil }

func cancelRun(c *call) (any, error) {
	r := c.ofPath()
	if err := c.end(r, statusCancelled, nil); err != nil {
		return nil, err
	}
	return r.answer(), nil
}

// end ends a run, with the entries that say so.
func (c *call) end(r *run, status string, data json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Status != statusRunning {
		return nil
	}
	if status == statusCancelled {
		t, err := c.s.Store.Tape(c.ctx(), r.Tape)
		if err != nil {
			return err
		}
		meta, err := lanes.Stamp(nil, r.ID, r.Thread, "", "", nil)
		if err != nil {
			return err
		}
		d := repo.Event("run.cancelled", data)
		d.Meta = meta
		if err := c.s.lanes.Append(c.ctx(), t, &lanes.Job{Drafts: []repo.Draft{d}}); err != nil {
			return err
		}
	}
	before := r.record
	r.Status, r.Ended = status, c.s.Now().UTC()
	if err := c.s.save(r); err != nil {
		r.record = before
		return err
	}
	return nil
}

func (r *run) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Status != statusRunning
}
