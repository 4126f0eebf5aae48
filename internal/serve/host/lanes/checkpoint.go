package lanes

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"tape/internal/git/disk"
	"tape/repo"
)

// A lane that has read far leaves a checkpoint, from which the next server goes on: to read a
// tape of a million entries takes a second. It has numbers and hashes and nothing of what stands
// in the tape, so that a purge need not know of it. It is believed if the tape has the last entry.

const (
	checkpointEvery = 20_000 // entries
	checkpointState = 200    // values, each of which is looked up again; with more there is no checkpoint
	checkpointFacts = 1_000  // the same limit for entries that record who owns what
)

type checkpoint struct {
	disk *disk.FS
	path string // "": none is kept
	last int64  // the last entry of the one that is there
}

// checkpointVersion is that of what a lane follows: a checkpoint of another one is not used.
const checkpointVersion = 2

type saved struct {
	Version int        `json:"version"`
	Last    int64      `json:"last"`
	Raw     string     `json:"raw"`
	State   []int64    `json:"state"` // the entries that have the values
	Facts   []int64    `json:"facts"` // the entries that say what belongs to whom
	Keys    []savedKey `json:"keys"`  // the oldest first
}

type savedKey struct {
	Key string `json:"key"`
	Written
}

// save leaves a checkpoint if there is much that the one before has not. It is no loss if that fails.
func (l *Lane) save() {
	if l.file.path == "" || l.last-l.file.last < checkpointEvery || len(l.state) > checkpointState || len(l.facts.entries) > checkpointFacts {
		return
	}
	out := saved{Version: checkpointVersion, Last: l.last, Raw: l.raw, State: []int64{}, Facts: l.facts.entries, Keys: make([]savedKey, 0, len(l.order))}
	for _, v := range l.state {
		out.State = append(out.State, v.Seq)
	}
	slices.Sort(out.State)
	for _, key := range l.order {
		out.Keys = append(out.Keys, savedKey{key, l.keys[key]})
	}
	l.file.last = l.last
	if data, err := json.Marshal(out); err == nil {
		_ = l.file.disk.WriteFile(l.file.path, data)
	}
}

// load begins with the checkpoint, if there is one. Whether it is of this tape tells its last entry.
func (l *Lane) load(ctx context.Context, rev *repo.Revision) error {
	data, err := os.ReadFile(l.file.path)
	var was saved
	if err != nil || json.Unmarshal(data, &was) != nil || was.Last < 1 || was.Version != checkpointVersion {
		return nil //nolint:nilerr // without it all is read
	}
	l.state, l.sizes = map[StateKey]StateValue{}, map[StateKey]int{}
	for _, seq := range was.State {
		e, err := entryAt(ctx, rev, seq)
		if err != nil {
			return err
		}
		l.takeState(e)
	}
	l.facts = newFacts()
	for _, seq := range was.Facts {
		e, err := entryAt(ctx, rev, seq)
		if err != nil {
			return err
		}
		l.facts.take(e)
	}
	l.last, l.raw, l.file.last = was.Last, was.Raw, was.Last
	l.keys, l.order = make(map[string]Written, len(was.Keys)), make([]string, 0, len(was.Keys))
	for _, k := range was.Keys {
		l.keys[k.Key] = k.Written
		l.order = append(l.order, k.Key)
	}
	return nil
}
