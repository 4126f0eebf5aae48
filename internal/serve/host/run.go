package host

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
)

const (
	idleAfter = time.Hour          // how long a token is valid after its last use
	keepEnded = 7 * 24 * time.Hour // how long a run that has ended can be queried
)

// The statuses of a run.
const (
	running   = "running"
	completed = "completed"
	failed    = "failed"
	cancelled = "cancelled"
	expired   = "expired" // by its deadline
)

// runRecord is what is stored of a run: the hash of its token, not the token.
type runRecord struct {
	ID        string             `json:"run_id"`
	TokenHash string             `json:"token_sha256"`
	Key       string             `json:"idempotency_key,omitempty"`
	Request   string             `json:"request_sha256,omitempty"`
	Runner    string             `json:"runner"`
	Binding   string             `json:"binding"`
	Tape      string             `json:"tape"`
	Thread    string             `json:"thread,omitempty"`
	Actor     string             `json:"actor,omitempty"`
	Subject   string             `json:"subject,omitempty"`
	Scopes    []string           `json:"scopes"`
	Policy    api.Policy         `json:"policy"`
	Status    string             `json:"status"`
	Started   time.Time          `json:"started_at"`
	Deadline  time.Time          `json:"deadline"`
	Ended     time.Time          `json:"ended_at,omitzero"`
	StartSeq  int64              `json:"start_seq"`
	Steering  []api.Steer        `json:"steering,omitempty"`
	Static    []api.StaticAnswer `json:"static,omitempty"`
	Uploads   int                `json:"uploads,omitempty"` // of files with secrets
}

// run is a run of this server or of an earlier one.
type run struct {
	runRecord // Mu guards what may change

	Rate    front.Rate
	Failed  front.Rate // of requests that failed and left a record
	Use     front.Use
	Mu      sync.Mutex
	lastUse time.Time // of the token

	Results   sync.Mutex    // held while a batch of results is recorded; guards Seen and MissedEnd
	Seen      *runSequences // the results that are on the tape; nil: not read yet
	MissedEnd string        // an end that is on the tape but not in the record
}

// newRun returns a run that has no results yet, and whose token was used now.
func newRun(r runRecord, now time.Time) *run {
	return &run{runRecord: r, lastUse: now, Seen: &runSequences{}, Failed: front.Rate{PerSecond: 0.1, Burst: 50}}
}

// May reports whether a run has a scope.
func (r *run) May(scope string) bool { return slices.Contains(r.Scopes, scope) }

// Require refuses a request if the run does not have the scope that it needs.
func (r *run) Require(scope string) error {
	if scope == "" || r.May(scope) {
		return nil
	}
	p := api.NewProblem(http.StatusForbidden, "forbidden", "the run has no scope %s", scope)
	p.Details["scope"] = scope
	return p
}

// Owner returns the owner of the state that a run sees in a scope; "" for conversation, or if it sees none.
func (r *run) Owner(scope string) string {
	return map[string]string{"actor": r.Actor, "subject": r.Subject, "runner": r.Runner}[scope]
}

// Owns reports whether a name belongs to the run's conversation, or can belong to a fork of it.
func (r *run) Owns(name string) bool { return name == r.Tape || strings.HasPrefix(name, r.Tape+"/") }

// CheckToken refuses a void token, and notes the use of a valid one. With alsoEnded, it also accepts the
// token of a run that has ended.
func (r *run) CheckToken(now time.Time, alsoEnded bool) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	switch {
	case now.Sub(r.lastUse) > idleAfter:
		return api.Unauthorized("the token is void: it was not used for an hour")
	case r.Status != running && alsoEnded:
	case r.Status == expired, r.Status == running && !now.Before(r.Deadline):
		return pastDeadline()
	case r.Status != running:
		return api.Unauthorized("the token is void: the run is over")
	}
	r.lastUse = now
	return nil
}

// pastDeadline is the error of a request after the deadline.
func pastDeadline() error {
	return api.NewProblem(http.StatusGatewayTimeout, "deadline_exceeded", "the run's deadline has passed")
}

// Over reports whether a run has ended, even if that is not recorded yet.
func (r *run) Over(now time.Time) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status != running || !now.Before(r.Deadline)
}

// StatusNow returns a run's status.
func (r *run) StatusNow() string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status
}

// UploadsNow returns how many files with secrets a run has uploaded.
func (r *run) UploadsNow() int {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Uploads
}

// Due reports whether a run's deadline has passed, and its end is not recorded yet.
func (r *run) Due(now time.Time) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status == running && !now.Before(r.Deadline)
}

// Contents returns the static contents of a run; nil after its end.
func (r *run) Contents() []api.StaticAnswer {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Static
}

// Answer describes the run.
func (r *run) Answer() api.RunAnswer {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return api.RunAnswer{RunID: r.ID, Runner: r.Runner, Binding: r.Binding, ConversationID: r.Tape, ThreadID: r.Thread, Status: r.Status,
		Scopes: r.Scopes, StartedAt: r.Started, Deadline: r.Deadline, Pending: len(r.Steering)}
}
