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

// descent is a walk down a line, see coverage.
type descent struct {
	c      *coverage
	v      *snapshot.Snapshot // of the newest commit
	phase  int                // index of the newest phase that was not passed
	anchor layout.Entry       // which opens it, once that was read
	looked int                // how many of the coverage's parts were looked at
	part   int64              // the line is covered up to this entry by one of those
	stretch
}

func (d *descent) isTrunk() bool { return d.v.Commit == d.c.head.Commit }

// next takes a commit of the line, and returns the one before it; zero to stop.
func (d *descent) next(ctx context.Context, h gitstore.Hash) (before gitstore.Hash, err error) {
	at, err := d.c.step(ctx, h)
	if err != nil {
		return before, err
	}
	if !d.isTrunk() {
		// A fork of the tape brings what it has behind its beginning.
		if onTrunk, err := d.c.onTrunk(ctx, at); err != nil || onTrunk || strings.HasPrefix(at.begins, d.c.tape+"/") {
			return before, err
		}
	}
	low, err := d.coveredTo()
	if err != nil {
		return before, err
	}
	if d.c.covered[h] || at.last <= low {
		d.whole = false
		return before, nil
	}
	if len(at.parents) > 0 {
		before = at.parents[0]
		below, err := d.c.step(ctx, before)
		if err != nil {
			return before, err
		}
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
	d.spans, d.whole = append(d.spans, span{anchor, own.last}), false
	return gitstore.ZeroHash, d.c.cover(ctx, at.parents)
}

// coveredTo is the entry up to which the line is covered, whatever its commits are.
func (d *descent) coveredTo() (int64, error) {
	for ; d.looked < len(d.c.parts); d.looked++ {
		part := d.c.parts[d.looked]
		last, err := part.LastID()
		if err != nil {
			return 0, err
		}
		if same, err := d.v.Continues(part); err != nil {
			return 0, err
		} else if same {
			d.part = max(d.part, last)
		}
	}
	if d.isTrunk() {
		return max(d.part, d.c.floor), nil
	}
	return d.part, nil
}

// writtenIn finds the last anchor that was written among a line's own entries and is on the
// tape; 0 if there is none. One with an origin was copied, and nothing tells from where.
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

// onTape reports whether the tape has the anchor in hand. It lacks those of a fork from
// before that was merged with a summary, and went on.
func (d *descent) onTape() (bool, error) {
	if d.isTrunk() {
		return true, nil
	}
	_, slug, _ := layout.ParseFolder(d.v.List[d.phase].Folder)
	for _, p := range slices.Backward(d.c.head.List) {
		if _, s, _ := layout.ParseFolder(p.Folder); s != slug {
			continue
		}
		if e, err := snapshot.ReadAnchor(d.c.head, p, ""); err != nil || says(e) == says(d.anchor) {
			return err == nil, err
		}
	}
	return false, nil
}

// merge takes a commit that brought entries of other lines: those that are not covered
// there stay.
func (d *descent) merge(ctx context.Context, at step, came span) error {
	merged := at.parents[1:]
	lines := make([]stretch, len(merged))
	whole := true
	for i, h := range slices.Backward(merged) {
		var err error
		if lines[i], err = d.c.line(ctx, h); err != nil {
			return err
		}
		whole = whole && lines[i].whole
	}
	if whole {
		d.spans = append(d.spans, came)
		return nil
	}
	d.whole = false
	if !at.completes {
		if len(lines[0].spans) == 0 {
			return nil
		}
		end, err := d.c.step(ctx, merged[0])
		if err != nil {
			return err
		}
		// They came in the order that they have there: what is covered before them need not be read.
		came.first = max(came.first, came.last-(end.last-lines[0].spans[0].first))
	}
	return d.match(ctx, at, came, lines)
}

// match finds entries of other lines by what they say: their ids are others here.
func (d *descent) match(ctx context.Context, at step, came span, lines []stretch) error {
	stays := map[string]bool{}
	for i, other := range lines {
		v, err := snapshot.AtCommit(d.c.s, at.parents[i+1])
		if err != nil {
			return err
		}
		if _, err := readSpans(ctx, v, "", other.spans, func(e layout.Entry) bool { stays[says(e)] = true; return true }); err != nil {
			return err
		}
	}
	name, err := d.c.s.NameAt(at.hash)
	if err != nil {
		return err
	}
	_, err = readSpans(ctx, d.v, "", []span{came}, func(e layout.Entry) bool {
		// What completes a merge may also have what people added to it by hand.
		if stays[says(e)] || at.completes && !isFromElsewhere(e, name) {
			d.spans = append(d.spans, span{e.ID, e.ID})
		}
		return true
	})
	return err
}

// says is what an entry says, wherever it stands.
func says(e layout.Entry) string {
	return resolve.Content(jsonl.Entry{Kind: e.Kind, Payload: e.Payload, Date: e.Date})
}

// isFromElsewhere reports whether an entry came from another tape or fork than the named one.
func isFromElsewhere(e layout.Entry, name string) bool {
	origin := jsonl.Get(e.Meta, "origin")
	from := jsonl.GetString(origin, "tape")
	if fork := jsonl.GetString(origin, "fork"); fork != "" {
		from += "/" + fork
	}
	return from != "" && from != name
}
