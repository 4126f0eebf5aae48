package lanes

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// Names of events that say what belongs to whom. No run can append them.
const (
	EventArtifact = "artifact.added"
	EventFork     = "fork.started"
	EventHandoff  = "thread.handoff" // of a thread: it begins no phase, since those are of all threads
)

// Kept is what a tape says of an artifact. What a run says of one does not count: it may name what
// it must not see.
type Kept struct {
	Name, MIMEType string    // newest
	Run            string    // that named it so, "" for others
	Expires        time.Time // the earliest; zero: it does not
}

// ForkFact is who began a fork.
type ForkFact struct{ Thread, Start string }

// facts are what belongs to whom on a tape.
type facts struct {
	kept     map[string]map[string]Kept // by artifact and thread
	forks    map[string]ForkFact        // the last of a name
	handoffs map[string][]int64         // the entries, by thread
	entries  []int64                    // that say something of this
}

func newFacts() facts {
	return facts{kept: map[string]map[string]Kept{}, forks: map[string]ForkFact{}, handoffs: map[string][]int64{}}
}

const mostHandoffs = 1_000 // of a thread, that are known

func (f *facts) take(e repo.Entry) {
	name, names := "", bytes.Contains(e.Payload, []byte(`"artifact"`))
	if e.Kind == repo.KindEvent {
		name = jsonl.GetString(e.Payload, "name")
	}
	if !names && name != EventFork && name != EventHandoff {
		return
	}
	thread, says := jsonl.GetString(e.Meta, MetaThread), true
	switch name {
	case EventFork:
		data := jsonl.Get(e.Payload, "data")
		f.forks[jsonl.GetString(data, "fork")] = ForkFact{thread, jsonl.GetString(data, "start")}
	case EventHandoff:
		all := append(f.handoffs[thread], e.ID)
		if len(all) > 2*mostHandoffs {
			all = append([]int64(nil), all[mostHandoffs:]...)
		}
		f.handoffs[thread] = all
	default:
		says = f.takeArtifacts(e, thread, name)
	}
	if says {
		f.entries = append(f.entries, e.ID)
	}
}

func (f *facts) takeArtifacts(e repo.Entry, thread, name string) (says bool) {
	run := jsonl.GetString(e.Meta, MetaRun)
	if e.Role() == "user" {
		run = "" // the input of a run is not its own
	}
	if run != "" && name != EventArtifact {
		return false
	}
	for _, ref := range repo.References(e) {
		threads := f.kept[ref.SHA256]
		if threads == nil {
			threads = map[string]Kept{}
			f.kept[ref.SHA256] = threads
		}
		was, ok := threads[thread]
		expires, _ := time.Parse(time.RFC3339, jsonl.GetString(e.Meta, MetaExpires))
		now := Kept{Name: ref.Name, MIMEType: ref.MIMEType, Run: run, Expires: Earlier(was.Expires, expires)}
		says = says || !ok || now != was
		threads[thread] = now
	}
	return says
}

// Earlier is the earlier of two times; zero is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Artifact is what a tape says of an artifact in a thread, or with "" in any; the lane is held.
func (l *Lane) Artifact(id, thread string) (k Kept, ok bool) {
	threads := l.facts.kept[id]
	for _, of := range slices.Sorted(maps.Keys(threads)) {
		if thread != "" && of != thread {
			continue
		}
		expires := Earlier(k.Expires, threads[of].Expires)
		if !ok {
			k = threads[of]
		}
		k.Expires, ok = expires, true
	}
	return k, ok
}

// Fork is who began the last fork of a name; the lane is held.
func (l *Lane) Fork(name string) (ForkFact, bool) {
	f, ok := l.facts.forks[name]
	return f, ok
}

// Handoffs are the entries in which a thread handed off, the oldest first; the lane is held.
func (l *Lane) Handoffs(thread string) []int64 {
	all := l.facts.handoffs[thread]
	return append([]int64(nil), all[max(0, len(all)-mostHandoffs):]...)
}

// ForkDraft notes that a thread began a fork, whose first commit is start.
func ForkDraft(fork, start string) (repo.Draft, error) {
	data, err := json.Marshal(map[string]string{"fork": fork, "start": start})
	return repo.Event(EventFork, data), err
}
