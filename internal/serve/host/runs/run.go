// Package runs keeps what the server knows of runs: what each may do, its token's hash, when it
// ends. Their files outlive the server.
package runs

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
)

const (
	idleAfter = time.Hour
	kept      = 7 * 24 * time.Hour // how long a run that is over can be asked about
)

// The states of a run.
const (
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
	Expired   = "expired" // its deadline passed
)

// Record is what is kept of a run: its token's hash, but not the token.
type Record struct {
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
	Static    []Static    `json:"static,omitempty"`
}

// Static is content that stays the same for many runs, and is known by its hash.
type Static struct {
	Name   string          `json:"name"`
	SHA256 string          `json:"sha256"`
	Value  json.RawMessage `json:"value"`
}

// Run is a run of this server or of an earlier one.
type Run struct {
	Record // of what may change, Mu guards it

	Rate admission.Rate
	Use  admission.Use
	Mu   sync.Mutex
	call time.Time // the last one

	Telling   sync.Mutex     // guards Seen and MissedEnd: two batches of a run do not cross
	Seen      map[int64]bool // sequences that are on the tape; nil: not read yet
	MissedEnd string         // the end that the tape has of a run and its record not
}

// New makes a run that has no results yet.
func New(r Record, now time.Time) *Run { return &Run{Record: r, call: now, Seen: map[int64]bool{}} }

// May reports whether a run has a scope.
func (r *Run) May(scope string) bool { return slices.Contains(r.Scopes, scope) }

// Need refuses what a run has no scope for.
func (r *Run) Need(scope string) error {
	if scope == "" || r.May(scope) {
		return nil
	}
	p := api.NewProblem(http.StatusForbidden, "forbidden", "the run has no scope %s", scope)
	p.Details["scope"] = scope
	return p
}

// Owner is whose state a run has in a scope, "" if nobody's.
func (r *Run) Owner(scope string) string {
	return map[string]string{"actor": r.Actor, "subject": r.Subject, "runner": r.Runner}[scope]
}

// Owns reports whether a name is that of the run's conversation, or may be that of a fork of it.
func (r *Run) Owns(name string) bool { return name == r.Tape || strings.HasPrefix(name, r.Tape+"/") }

// Alive says why a run's token is void, if it is.
func (r *Run) Alive(now time.Time, alsoEnded bool) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	switch {
	case now.Sub(r.call) > idleAfter:
		return api.Unauthorized("the token is void: it was not used for an hour")
	case r.Status != Running && alsoEnded:
	case r.Status == Expired, r.Status == Running && !now.Before(r.Deadline):
		return PastDeadline()
	case r.Status != Running:
		return api.Unauthorized("the token is void: the run is over")
	}
	r.call = now
	return nil
}

// PastDeadline is what a run is told that comes too late.
func PastDeadline() error {
	return api.NewProblem(http.StatusGatewayTimeout, "deadline_exceeded", "the run's deadline has passed")
}

// Over reports whether a run has ended, also if that is not recorded yet.
func (r *Run) Over(now time.Time) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status != Running || !now.Before(r.Deadline)
}

// State is a run's state now.
func (r *Run) State() string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status
}

// Due reports whether a run's deadline has passed, and its end is still to be recorded.
func (r *Run) Due(now time.Time) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Status == Running && !now.Before(r.Deadline)
}

// Answer is a run as it is.
func (r *Run) Answer() api.RunAnswer {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return api.RunAnswer{RunID: r.ID, Runner: r.Runner, Binding: r.Binding, ConversationID: r.Tape, ThreadID: r.Thread, Status: r.Status,
		Scopes: r.Scopes, StartedAt: r.Started, Deadline: r.Deadline, Pending: len(r.Steering)}
}
