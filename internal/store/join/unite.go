package join

import (
	"context"

	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
	"tape/internal/text/threeway"
)

// The same session of an agent may be imported on two machines: then the histories have nothing in common, but the entries
// have the same sources.

// sameSession is unite for a tape without open forks, whose entries are committed first.
func (p *pull) sameSession(ctx context.Context, w *writer.Writer) (is bool, err error) {
	forks, err := p.t.Forks(ctx)
	if err != nil || len(forks) > 0 || p.t.IsFork() {
		return false, err
	}
	if err := w.CheckpointAll(ctx); err != nil {
		return false, err
	}
	return p.unite(ctx, w)
}

// unite combines two such tapes: what is published keeps its place, and our entries whose sources the remote lacks follow
// with new ids. Our former history is kept as an archive. is reports whether both are one session; else nothing is changed.
func (p *pull) unite(ctx context.Context, w *writer.Writer) (is bool, err error) {
	ours, err := snapshot.AtCommit(p.s, w.Head)
	if err != nil {
		return false, err
	}
	theirs, err := p.completeTheirs(ctx)
	defer theirs.Objects.Discard()
	if err != nil {
		return false, err
	}
	published, err := snapshot.AtCommit(p.s, theirs.Hash)
	if err != nil {
		return false, err
	}
	more, is, err := p.lacking(ctx, ours, published)
	if err != nil || !is {
		return false, err
	}
	if err := theirs.Objects.Finish(ctx); err != nil {
		return false, err
	}
	if _, err := w.Archive(ctx); err != nil {
		return false, err
	}
	batch := p.s.Git().NewBatch()
	defer batch.Discard()
	c, err := commits.On(p.t, published, batch)
	if err != nil {
		return false, err
	}
	c.From(nil, ours)
	if len(more) > 0 {
		if err := c.Add(ctx, "pull: "+layout.CountEntries(int64(len(more)))+" that only this machine had", more, nil); err != nil {
			return false, err
		}
	}
	if err := batch.Flush(ctx); err != nil {
		return false, err
	}
	last, err := published.LastID()
	if err != nil {
		return false, err
	}
	p.status.Status, p.status.Entries = layout.RefMerged, last
	return true, moveToPulled(ctx, w, c.Plan, p.remote)
}

// lacking returns our lines that are not published, with their new ids. is reports whether both tapes are the same session:
// of the same agent, and the first entry that either has from it is in the other.
func (p *pull) lacking(ctx context.Context, ours, published *snapshot.Snapshot) (lines [][]byte, is bool, err error) {
	keys, contents := map[string]bool{}, map[string]int{}
	var first, format string // of the published entries
	last := int64(0)
	for e, err := range published.After(ctx, nil, p.t.Name()) {
		if err != nil {
			return nil, false, err
		}
		last = e.ID
		for _, key := range sourcesOf(e) {
			if keys[key] = true; first == "" {
				first, format = key, formatOf(e)
			}
		}
		contents[contentOf(e)]++
	}
	begins := false // our first entry from the agent is published
	found := false  // we have the first published one
	seen := false
	for e, err := range ours.After(ctx, nil, p.t.Name()) {
		if err != nil {
			return nil, false, err
		}
		has, sources := false, sourcesOf(e)
		for _, key := range sources {
			has, found = has || keys[key], found || key == first
		}
		if len(sources) > 0 && !seen {
			seen, begins = true, has && formatOf(e) == format
		}
		if len(sources) == 0 { // written by hand, or by tape
			if has = e.ID == 1 || contents[contentOf(e)] > 0; has {
				contents[contentOf(e)]--
			}
		}
		if has {
			continue
		}
		line, err := threeway.Renumber(nil, e.Raw, last+int64(len(lines))+1, threeway.Origin{Tape: p.t.Name()})
		if err != nil {
			return nil, false, err
		}
		lines = append(lines, line)
	}
	return lines, begins && found, nil
}

// sourcesOf returns the keys of the records from which an entry was imported.
func sourcesOf(e layout.Entry) []string { return jsonl.Strings(jsonl.Get(e.Meta, "source", "ids")) }

func formatOf(e layout.Entry) string { return jsonl.GetString(e.Meta, "source", "format") }

func contentOf(e layout.Entry) string { return e.Kind + "\x00" + string(e.Payload) }
