package query

import (
	"context"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// descent walks down a line, see coverage.
type descent struct {
	c          *coverage
	v          *snapshot.Snapshot // of the newest commit
	phase      int                // index of the newest phase that was not passed yet
	anchor     layout.Entry       // of that phase, once read
	startsRead int                // how many of the coverage's forkStarts were compared
	byStarts   int64              // the compared forkStarts cover the line up to this entry
	uncoveredSpans
}

func (d *descent) isTrunk() bool { return d.v.Commit == d.c.head.Commit }

// next handles a commit of the line and returns the one before it, or the zero hash to stop.
func (d *descent) next(ctx context.Context, h gitstore.Hash) (before gitstore.Hash, err error) {
	at, err := d.c.step(ctx, h)
	if err != nil {
		return before, err
	}
	if !d.isTrunk() {
		// A fork of the tape brings only what follows its start.
		if onTrunk, err := d.c.onTrunk(ctx, at); err != nil || onTrunk || strings.HasPrefix(at.starts, d.c.tape+"/") {
			return before, err
		}
	}
	low, err := d.coveredTo()
	if err != nil {
		return before, err
	}
	if d.c.covered[h] || at.last <= low {
		d.all = false
		return before, nil
	}
	if len(at.parents) > 0 {
		before = at.parents[0]
		below, err := d.c.step(ctx, before)
		if err != nil {
			return before, err
		}
		d.all = d.all && low <= below.last // if low is greater, a fork's start covers the first entries of this commit
		low = max(low, below.last)
	}
	own := span{low + 1, at.last}
	if len(at.parents) > 1 {
		return before, d.merge(ctx, at, own)
	}
	anchor, err := d.writtenIn(own)
	if err != nil || anchor == 0 {
		d.spans = append(d.spans, own)
		return before, err
	}
	d.spans, d.all = append(d.spans, span{anchor, own.last}), false
	return gitstore.ZeroHash, d.c.cover(ctx, at.parents)
}

// coveredTo returns the entry up to which the line is known to be covered without reading its commits.
func (d *descent) coveredTo() (int64, error) {
	for ; d.startsRead < len(d.c.forkStarts); d.startsRead++ {
		start := d.c.forkStarts[d.startsRead]
		last, err := start.LastID()
		if err != nil {
			return 0, err
		}
		if same, err := d.v.Continues(start); err != nil {
			return 0, err
		} else if same {
			d.byStarts = max(d.byStarts, last)
		}
	}
	if d.isTrunk() {
		return max(d.byStarts, d.c.floor), nil
	}
	return d.byStarts, nil
}

// writtenIn returns the id of the last anchor among a line's own entries that is on the tape, 0 if
// there is none. An anchor with an origin is skipped: it was copied, and what it covers is unknown.
func (d *descent) writtenIn(own span) (int64, error) {
	for ; d.phase >= 0; d.phase-- {
		if p := d.v.List[d.phase]; d.anchor.AnchorSeq != p.Seq {
			var err error
			if d.anchor, err = snapshot.ReadAnchor(d.v, p, ""); err != nil {
				return 0, err
			}
		}
		if d.anchor.ID < own.first {
			return 0, nil
		}
		if d.anchor.ID > own.last || jsonl.GetString(d.anchor.Meta, "origin", "tape") != "" {
			continue
		}
		if ok, err := d.onTape(); err != nil || ok {
			return d.anchor.ID, err
		}
	}
	return 0, nil
}

// onTape reports whether the tape has d.anchor. It does not have the older anchors of a fork that
// was merged with a summary and then continued.
func (d *descent) onTape() (bool, error) {
	if d.isTrunk() {
		return true, nil
	}
	_, slug, _ := layout.ParseFolder(d.v.List[d.phase].Folder)
	for _, p := range slices.Backward(d.c.head.List) {
		if _, s, _ := layout.ParseFolder(p.Folder); s != slug {
			continue
		}
		if e, err := snapshot.ReadAnchor(d.c.head, p, ""); err != nil || contentOf(e) == contentOf(d.anchor) {
			return err == nil, err
		}
	}
	return false, nil
}

// merge handles a commit that brought entries of other lines. Entries that are not covered on their
// line are not covered here either.
func (d *descent) merge(ctx context.Context, at step, brought span) error {
	merged := at.parents[1:]
	lines := make([]uncoveredSpans, len(merged))
	all := true
	for i, h := range slices.Backward(merged) {
		var err error
		if lines[i], err = d.c.line(ctx, h); err != nil {
			return err
		}
		all = all && lines[i].all
	}
	if all {
		d.spans = append(d.spans, brought)
		return nil
	}
	d.all = false
	if !at.completes {
		if len(lines[0].spans) == 0 {
			return nil
		}
		end, err := d.c.step(ctx, merged[0])
		if err != nil {
			return err
		}
		// The entries are in the same order here, so those before the first uncovered one need not be read.
		brought.first = max(brought.first, brought.last-(end.last-lines[0].spans[0].first))
	}
	return d.match(ctx, at, brought, lines)
}

// match finds the uncovered entries of other lines by their content, because they have other ids here.
func (d *descent) match(ctx context.Context, at step, brought span, lines []uncoveredSpans) error {
	contents := map[string]bool{} // of the uncovered entries
	for i, other := range lines {
		v, err := snapshot.AtCommit(d.c.s, at.parents[i+1])
		if err != nil {
			return err
		}
		if _, err := readSpans(ctx, v, "", other.spans, func(e layout.Entry) bool { contents[contentOf(e)] = true; return true }); err != nil {
			return err
		}
	}
	name, err := d.c.s.NameAt(at.hash)
	if err != nil {
		return err
	}
	_, err = readSpans(ctx, d.v, "", []span{brought}, func(e layout.Entry) bool {
		// A commit that completes a merge may also contain entries that people added by hand.
		if contents[contentOf(e)] || at.completes && !cameFromOther(e, name) {
			d.spans = append(d.spans, span{e.ID, e.ID})
		}
		return true
	})
	return err
}

// contentOf returns the text by which an entry is recognised in another line, where it has another id.
func contentOf(e layout.Entry) string {
	return resolve.Content(jsonl.Entry{Kind: e.Kind, Payload: e.Payload, Date: e.Date})
}

// cameFromOther reports whether an entry came from another tape or fork than the named one.
func cameFromOther(e layout.Entry, name string) bool {
	origin := jsonl.Get(e.Meta, "origin")
	from := jsonl.GetString(origin, "tape")
	if fork := jsonl.GetString(origin, "fork"); fork != "" {
		from += "/" + fork
	}
	return from != "" && from != name
}
