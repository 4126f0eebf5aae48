package host

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
	eventArtifact = "artifact.added"
	eventFork     = "fork.started"
	eventHandoff  = "thread.handoff" // a thread's anchor; it begins no phase, because phases belong to all threads
)

// artifactFact is what a tape says about an artifact. A mention by a run does not count: the run may name
// an artifact that it must not see.
type artifactFact struct {
	Name, MIMEType string    // the newest
	Run            string    // the run that chose them, "" for others
	Expires        time.Time // the earliest; zero: never
}

// forkFact says which thread began a fork, and has the fork's first commit.
type forkFact struct{ Thread, Start string }

// facts has what belongs to whom on a tape.
type facts struct {
	artifacts map[string]map[string]artifactFact // by hash and thread
	forks     map[string]forkFact                // by name, for the last fork with that name
	handoffs  map[string][]int64                 // ids of entries, by thread
	handed    int                                // handoffs of all threads
	entries   []int64                            // ids of the entries with facts
}

func (f *facts) count() int { return len(f.artifacts) + len(f.forks) + f.handed }

func newFacts() facts {
	return facts{artifacts: map[string]map[string]artifactFact{}, forks: map[string]forkFact{}, handoffs: map[string][]int64{}}
}

// maxFacts limits the artifacts, the forks and the handoffs of threads of a tape: at this number, runs cannot add
// more. The server keeps in memory whose they are.
const maxFacts = 50_000

// CheckFacts refuses another artifact, fork or handoff of a run if the tape has too many; the queue is held.
func (l *tapeQueue) CheckFacts() error {
	n := l.facts.count()
	if n < maxFacts {
		return nil
	}
	p := api.NewProblem(http.StatusRequestEntityTooLarge, "payload_too_large", "the conversation has %d artifacts, forks and handoffs, and a run cannot add more: start another conversation", n)
	p.Details["max_artifacts"] = maxFacts
	return p
}

func (f *facts) apply(e repo.Entry) {
	name, hasArtifact := "", bytes.Contains(e.Payload, []byte(`"artifact"`))
	if e.Kind == repo.KindEvent {
		name = jsonl.GetString(e.Payload, "name")
	}
	if !hasArtifact && name != eventFork && name != eventHandoff {
		return
	}
	thread, isFact := jsonl.GetString(e.Meta, metaThread), true
	switch name {
	case eventFork:
		data := jsonl.Get(e.Payload, "data")
		f.forks[jsonl.GetString(data, "fork")] = forkFact{thread, jsonl.GetString(data, "start")}
	case eventHandoff:
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
// run's entries only an eventArtifact counts.
func (f *facts) applyArtifacts(e repo.Entry, thread, name string) (isFact bool) {
	run := jsonl.GetString(e.Meta, metaRun)
	if e.Role() == "user" {
		run = "" // a run's input comes from the admin
	}
	if run != "" && name != eventArtifact {
		return false
	}
	for _, ref := range repo.References(e) {
		threads := f.artifacts[ref.SHA256]
		if threads == nil {
			threads = map[string]artifactFact{}
			f.artifacts[ref.SHA256] = threads
		}
		was, ok := threads[thread]
		expires, _ := time.Parse(time.RFC3339, jsonl.GetString(e.Meta, metaExpires))
		now := artifactFact{Name: ref.Name, MIMEType: ref.MIMEType, Run: run, Expires: earlier(was.Expires, expires)}
		isFact = isFact || !ok || now != was
		threads[thread] = now
	}
	return isFact
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Artifact returns what a tape says about an artifact in a thread, "" for any thread; the queue is held.
func (l *tapeQueue) Artifact(id, thread string) (k artifactFact, ok bool) {
	threads := l.facts.artifacts[id]
	for _, owner := range slices.Sorted(maps.Keys(threads)) {
		if thread != "" && owner != thread {
			continue
		}
		expires := earlier(k.Expires, threads[owner].Expires)
		if !ok {
			k = threads[owner]
		}
		k.Expires, ok = expires, true
	}
	return k, ok
}

// Fork says which thread began the last fork with a name; the queue is held.
func (l *tapeQueue) Fork(name string) (forkFact, bool) {
	f, ok := l.facts.forks[name]
	return f, ok
}

// Handoffs returns the ids of a thread's handoffs, the oldest first; the queue is held. Callers only read the result.
func (l *tapeQueue) Handoffs(thread string) []int64 { return l.facts.handoffs[thread] }

// forkDraft returns the event for a fork that a thread began; start is the fork's first commit.
func forkDraft(fork, start string) (repo.Draft, error) {
	data, err := json.Marshal(map[string]string{"fork": fork, "start": start})
	return repo.Event(eventFork, data), err
}
