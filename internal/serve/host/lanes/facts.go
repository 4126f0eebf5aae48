package lanes

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Names of events that say what belongs to whom. No run can append them.
const (
	EventArtifact = "artifact.added"
	EventFork     = "fork.started"
	EventHandoff  = "thread.handoff" // a thread's anchor; it begins no phase, because phases belong to all threads
)

// ArtifactFact is what a tape says about an artifact. A mention by a run does not count: the run may name
// an artifact that it must not see.
type ArtifactFact struct {
	Name, MIMEType string    // the newest
	Run            string    // the run that chose them, "" for others
	Expires        time.Time // the earliest; zero: never
}

// ForkFact says which thread began a fork, and has the fork's first commit.
type ForkFact struct{ Thread, Start string }

// facts has what belongs to whom on a tape.
type facts struct {
	artifacts map[string]map[string]ArtifactFact // by hash and thread
	forks     map[string]ForkFact                // by name, for the last fork with that name
	handoffs  map[string][]int64                 // ids of entries, by thread
	handed    int                                // handoffs of all threads
	entries   []int64                            // ids of the entries with facts
}

func (f *facts) count() int { return len(f.artifacts) + len(f.forks) + f.handed }

func newFacts() facts {
	return facts{artifacts: map[string]map[string]ArtifactFact{}, forks: map[string]ForkFact{}, handoffs: map[string][]int64{}}
}

// MaxFacts limits the artifacts, the forks and the handoffs of threads of a tape: at this number, runs cannot add
// more. The server keeps in memory whose they are.
const MaxFacts = 50_000

// CheckFacts refuses another artifact, fork or handoff of a run if the tape has too many; the lane is held.
func (l *Lane) CheckFacts() error {
	n := l.facts.count()
	if n < MaxFacts {
		return nil
	}
	p := api.NewProblem(http.StatusRequestEntityTooLarge, "payload_too_large", "the conversation has %d artifacts, forks and handoffs, and a run cannot add more: start another conversation", n)
	p.Details["max_artifacts"] = MaxFacts
	return p
}

func (f *facts) apply(e repo.Entry) {
	name, hasArtifact := "", bytes.Contains(e.Payload, []byte(`"artifact"`))
	if e.Kind == repo.KindEvent {
		name = jsonl.GetString(e.Payload, "name")
	}
	if !hasArtifact && name != EventFork && name != EventHandoff {
		return
	}
	thread, isFact := jsonl.GetString(e.Meta, MetaThread), true
	switch name {
	case EventFork:
		data := jsonl.Get(e.Payload, "data")
		f.forks[jsonl.GetString(data, "fork")] = ForkFact{thread, jsonl.GetString(data, "start")}
	case EventHandoff:
		f.handoffs[thread] = append(f.handoffs[thread], e.ID)
		f.handed++
	default:
		isFact = f.applyArtifacts(e, thread, name)
	}
	if isFact {
		f.entries = append(f.entries, e.ID)
	}
}

// applyArtifacts adds the artifacts to which an entry refers, and reports whether that changed anything. Of a
// run's entries only an EventArtifact counts.
func (f *facts) applyArtifacts(e repo.Entry, thread, name string) (isFact bool) {
	run := jsonl.GetString(e.Meta, MetaRun)
	if e.Role() == "user" {
		run = "" // a run's input comes from the admin
	}
	if run != "" && name != EventArtifact {
		return false
	}
	for _, ref := range repo.References(e) {
		threads := f.artifacts[ref.SHA256]
		if threads == nil {
			threads = map[string]ArtifactFact{}
			f.artifacts[ref.SHA256] = threads
		}
		was, ok := threads[thread]
		expires, _ := time.Parse(time.RFC3339, jsonl.GetString(e.Meta, MetaExpires))
		now := ArtifactFact{Name: ref.Name, MIMEType: ref.MIMEType, Run: run, Expires: Earlier(was.Expires, expires)}
		isFact = isFact || !ok || now != was
		threads[thread] = now
	}
	return isFact
}

// Earlier returns the earlier of two times; zero means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Artifact returns what a tape says about an artifact in a thread, "" for any thread; the lane is held.
func (l *Lane) Artifact(id, thread string) (k ArtifactFact, ok bool) {
	threads := l.facts.artifacts[id]
	for _, owner := range slices.Sorted(maps.Keys(threads)) {
		if thread != "" && owner != thread {
			continue
		}
		expires := Earlier(k.Expires, threads[owner].Expires)
		if !ok {
			k = threads[owner]
		}
		k.Expires, ok = expires, true
	}
	return k, ok
}

// Fork says which thread began the last fork with a name; the lane is held.
func (l *Lane) Fork(name string) (ForkFact, bool) {
	f, ok := l.facts.forks[name]
	return f, ok
}

// Handoffs returns the ids of a thread's handoffs, the oldest first; the lane is held. Callers only read the result.
func (l *Lane) Handoffs(thread string) []int64 { return l.facts.handoffs[thread] }

// ForkDraft returns the event for a fork that a thread began; start is the fork's first commit.
func ForkDraft(fork, start string) (repo.Draft, error) {
	data, err := json.Marshal(map[string]string{"fork": fork, "start": start})
	return repo.Event(EventFork, data), err
}
