package host

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"tape/internal/git/disk"
	"tape/repo"
)

// A queue that has read many entries writes a checkpoint, from which the next server continues: reading
// a million entries takes a second. It has numbers and hashes but no content of the tape, so a purge
// can ignore it. It is valid if the last entry that it covers is still on the tape.

const (
	checkpointEvery = 20_000 // entries
	checkpointState = 200    // with more values, no checkpoint is written: load would have to read each of them
	checkpointFacts = 1_000  // the same for entries with facts
)

type checkpoint struct {
	disk *disk.FS
	path string // "": none is written
	last int64  // the last entry that the present one covers; 0: there is none
}

// checkpointVersion is raised when a queue follows something else than before. Checkpoints of other versions
// are ignored.
const checkpointVersion = 2

type saved struct {
	Version int        `json:"version"`
	Last    int64      `json:"last"`
	Raw     string     `json:"raw"`   // the hash of the last entry
	State   []int64    `json:"state"` // the entries with the values
	Facts   []int64    `json:"facts"` // the entries with facts
	Keys    []savedKey `json:"keys"`  // the oldest first
}

type savedKey struct {
	Key string `json:"key"`
	writtenJob
}

// save writes a checkpoint if many entries came since the last one, unless the tape has too many values or facts.
// A failure does no harm.
func (l *tapeQueue) save() {
	if l.file.path == "" || l.last-l.file.last < checkpointEvery || l.state.count > checkpointState || len(l.facts.entries) > checkpointFacts {
		return
	}
	out := saved{Version: checkpointVersion, Last: l.last, Raw: l.raw, State: []int64{}, Facts: l.facts.entries, Keys: make([]savedKey, 0, len(l.order))}
	for _, o := range l.state.owners {
		for _, v := range o.values {
			out.State = append(out.State, v.Seq)
		}
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

// load continues from the checkpoint, if there is one. read checks whether it belongs to this tape.
func (l *tapeQueue) load(ctx context.Context, rev *repo.Revision) error {
	data, err := os.ReadFile(l.file.path)
	var from saved
	if err != nil || json.Unmarshal(data, &from) != nil || from.Last < 1 || from.Version != checkpointVersion {
		return nil //nolint:nilerr // without a checkpoint, the whole tape is read
	}
	l.state = state{}
	for _, seq := range from.State {
		e, err := tapeEntryAt(ctx, rev, seq)
		if err != nil {
			return err
		}
		l.applyState(e)
	}
	l.facts = newFacts()
	for _, seq := range from.Facts {
		e, err := tapeEntryAt(ctx, rev, seq)
		if err != nil {
			return err
		}
		l.facts.apply(e)
	}
	l.last, l.raw, l.file.last = from.Last, from.Raw, from.Last
	l.keys, l.order = make(map[string]writtenJob, len(from.Keys)), make([]string, 0, len(from.Keys))
	for _, k := range from.Keys {
		l.keys[k.Key] = k.writtenJob
		l.order = append(l.order, k.Key)
	}
	return nil
}
