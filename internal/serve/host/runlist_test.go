package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"tape/internal/serve/host/api"
)

func at(hours int) time.Time { return time.Date(2026, 11, 20, 9+hours, 0, 0, 0, time.UTC) }

func endOf(err error) int {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// A token is void when its run has ended or is past its deadline, and after an hour without a
// request.
func TestVoidTokensAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		status    string
		minutes   int // since the last call, with an hour and a half to the deadline
		alsoEnded bool
		want      int
	}{
		"running":                   {running, 59, false, 0},
		"idle":                      {running, 61, false, http.StatusUnauthorized},
		"over":                      {completed, 1, false, http.StatusUnauthorized},
		"over, its status asked":    {completed, 1, true, 0},
		"over for long":             {completed, 61, true, http.StatusUnauthorized},
		"expired":                   {expired, 1, false, http.StatusGatewayTimeout},
		"expired, its status asked": {expired, 1, true, 0},
		"cancelled":                 {cancelled, 1, false, http.StatusUnauthorized},
		"failed":                    {failed, 1, false, http.StatusUnauthorized},
	} {
		r := newRun(runRecord{Status: c.status, Deadline: at(1).Add(30 * time.Minute)}, at(0))
		if got := endOf(r.CheckToken(at(0).Add(time.Duration(c.minutes)*time.Minute), c.alsoEnded)); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	r := newRun(runRecord{Status: running, Deadline: at(2)}, at(0))
	for minute := 50; minute < 120; minute += 50 { // each call is a use
		if err := r.CheckToken(at(0).Add(time.Duration(minute)*time.Minute), false); err != nil {
			t.Errorf("minute %d: a token in use is refused: %v", minute, err)
		}
	}
	if got := endOf(r.CheckToken(at(2), false)); got != http.StatusGatewayTimeout || !r.Due(at(2)) || !r.Over(at(2)) || r.StatusNow() != running {
		t.Errorf("at its deadline: status %d, due %v, over %v, %s; want 504, due, over and still running", got, r.Due(at(2)), r.Over(at(2)), r.StatusNow())
	}
}

// A run may do what its scopes allow, in its conversation and the forks of it.
func TestScopes(t *testing.T) {
	r := newRun(runRecord{Scopes: []string{"append"}, Tape: "c", Actor: "ann", Runner: "r"}, at(0))
	for scope, want := range map[string]int{"append": 0, "": 0, "fork": http.StatusForbidden} {
		if got := endOf(r.Require(scope)); got != want {
			t.Errorf("the scope %q: status %d, want %d", scope, got, want)
		}
	}
	for name, want := range map[string]bool{"c": true, "c/x": true, "c/x/y": true, "cc": false, "": false, "x/c": false} {
		if r.Owns(name) != want {
			t.Errorf("the run owns %q: %v, want %v", name, !want, want)
		}
	}
	for scope, want := range map[string]string{"actor": "ann", "runner": "r", "subject": "", "conversation": ""} {
		if got := r.Owner(scope); got != want {
			t.Errorf("the owner in the scope %s is %q, want %q", scope, got, want)
		}
	}
}

// The next server has the runs, by id, token and key, except those that ended long ago.
func TestListIsKept(t *testing.T) {
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	var l runList
	if err := l.Load(nil, dir, at(0), log); err != nil {
		t.Fatal(err)
	}
	hash := func(token string) string { sum := sha256.Sum256([]byte(token)); return hex.EncodeToString(sum[:]) }
	records := map[string]runRecord{
		"runs":     {Status: running, Deadline: at(1), Key: "k", Steering: []api.Steer{{Text: "left"}}, Static: []api.StaticAnswer{{Name: "s", SHA256: "0", Value: []byte(`1`)}}},
		"over":     {Status: completed, Deadline: at(1), Ended: at(0)},
		"old":      {Status: completed, Deadline: at(1), Ended: at(-200)},
		"old, due": {Status: running, Deadline: at(-200)},
	}
	for id, r := range records {
		r.ID, r.TokenHash = id, hash("of "+id)
		records[id] = r
		l.Put(newRun(r, at(0)))
		if err := l.Save(l.Get(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "torn.json"), []byte(`{"run_id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	var next runList
	if err := next.Load(nil, dir, at(0), log); err != nil {
		t.Fatal(err)
	}
	var ids, due []string
	for _, r := range next.All() {
		ids = append(ids, r.ID)
		if !reflect.DeepEqual(r.runRecord, records[r.ID]) {
			t.Errorf("%s is\n%+v, was\n%+v", r.ID, r.runRecord, records[r.ID])
		}
		if r != next.Get(r.ID) || r != next.ByToken(sha256.Sum256([]byte("of "+r.ID))) {
			t.Errorf("%s is not found", r.ID)
		}
	}
	for _, r := range next.Due(at(0)) {
		due = append(due, r.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"old, due", "over", "runs"}) || !slices.Equal(due, []string{"old, due"}) {
		t.Errorf("the runs are %q, want those that are running or ended lately; due are %q, want the one past its deadline", ids, due)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(left) != 4 { // the torn one stays
		t.Errorf("the files are %q, want 4", left)
	}
	if r := next.ByKey("k"); r == nil || r.ID != "runs" || next.ByKey("") != nil || next.ByKey("none") != nil {
		t.Errorf("the run with the key k is %+v, want runs, and none for other keys", r)
	}
	if err := next.Forget(at(200)); err != nil || next.Get("over") != nil || next.Get("runs") == nil {
		t.Errorf("after days, the runs are %v (%v), want all but over", next.All(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "over.json")); len(left) > 0 {
		t.Error("the file of a run that is forgotten stays")
	}
	r := next.Get("runs")
	r.TokenHash = hash("another")
	next.Put(r)
	if next.ByToken(sha256.Sum256([]byte("of runs"))) != nil || next.ByToken(sha256.Sum256([]byte("another"))) != r {
		t.Error("a run that gets another token keeps the former one")
	}
}
