package host

import (
	"cmp"
	"context"
	"slices"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/repo"
)

// The parameters of requests for pages, and the entries of a page.

// maxPageBytes limits the entries of a page, in bytes, if it has more than one.
const maxPageBytes = 4 << 20

// page says which entries of a query are wanted: those before or after At.
type page struct {
	Query   string // what its cursors are bound to
	At      front.Position
	Forward bool // the oldest first
	Limit   int
	Bytes   int // of the entries; 0: MaxBytes
}

// parsePage reads the parameters of a page; param returns one by its name.
func parsePage(param func(name string) string, s front.Signer, query string) (p page, err error) {
	p.Query = query
	before, after := param("before_cursor"), param("after_cursor")
	direction := param("direction")
	p.Forward = after != "" || direction == "forward"
	switch {
	case before != "" && after != "":
		return p, api.Invalid("before_cursor and after_cursor exclude each other")
	case direction != "" && direction != "forward" && direction != "backward":
		return p, api.Invalid("direction has to be forward or backward")
	case before != "" && direction == "forward", after != "" && direction == "backward":
		return p, api.Invalid("the cursor and the direction contradict each other")
	}
	if cursor := before + after; cursor != "" {
		if p.At, err = s.ReadPosition(query, cursor); err != nil {
			return p, err
		}
	}
	n, err := numberOf(param, "limit", 50, 100)
	p.Limit = int(n)
	return p, err
}

// Cursors returns the cursors for the pages after and before a page. next is "" after the last page backward,
// prev for a page without entries.
func (p page) Cursors(s front.Signer, got []pageEntry, more bool) (next, prev string) {
	if len(got) > 0 {
		prev = s.At(p.Query, got[0].At)
		if more || p.Forward {
			next = s.At(p.Query, got[len(got)-1].At)
		}
	} else if p.Forward {
		next = s.At(p.Query, p.At)
	}
	return next, prev
}

func (p page) maxBytes() int { return cmp.Or(p.Bytes, maxPageBytes) }

// pageEntry is an entry as the caller sees it, with the position of the stored entry.
type pageEntry struct {
	repo.Entry
	At front.Position
}

// sizeOfPage returns the bytes of entries as they are stored.
func sizeOfPage(list []pageEntry) (n int) {
	for _, e := range list {
		n += len(e.Raw)
	}
	return n
}

// pageReader reads pages for one caller.
type pageReader struct {
	Signer front.Signer
	Check  func(repo.Entry) error // refuses an entry that would take too much memory
	View   func(repo.Entry) pageEntry
}

// Read returns the entries of a page that keep admits, in the page's order, and whether there are more. If
// the entry of the cursor is no longer where it was, the error is front.CursorMoved.
func (r pageReader) Read(ctx context.Context, rev *repo.Revision, p page, keep func(repo.Entry) bool) (out []pageEntry, more bool, err error) {
	if p.Forward {
		return r.forward(ctx, rev, p, keep)
	}
	var found []repo.Entry
	size, inPlace := 0, p.At.Hash == ""
	end := p.At.ID
	if end == 0 {
		end = rev.Last() + 1
	}
	for width := int64(p.Limit) + 1; end > 1 && len(found) <= p.Limit && !more; width *= 4 {
		from := max(1, end-width)
		var part []repo.Entry
		held := 0
		for e, err := range rev.Entries(ctx, from) {
			if err != nil {
				return nil, false, err
			}
			if e.ID >= end {
				inPlace = inPlace || r.Signer.PositionOf(e) == p.At
				break
			}
			if !keep(e) {
				continue
			}
			if err := r.Check(e); err != nil {
				return nil, false, err
			}
			part, held = append(part, e), held+len(e.Raw)
			for ; held > p.maxBytes() && len(part) > 1; more = true { // the oldest do not fit on the page
				held -= len(part[0].Raw)
				part[0], part = repo.Entry{}, part[1:]
			}
		}
		if !inPlace {
			return nil, false, front.CursorMoved(p.At)
		}
		slices.Reverse(part)
		found = append(found, part...)
		end = from
	}
	for _, e := range found[:min(len(found), p.Limit)] {
		view := r.View(e)
		if size += len(view.Raw); len(out) > 0 && size > p.maxBytes() {
			break
		}
		out = append(out, view)
	}
	return out, more || len(found) > len(out), nil
}

func (r pageReader) forward(ctx context.Context, rev *repo.Revision, p page, keep func(repo.Entry) bool) (out []pageEntry, more bool, err error) {
	size, inPlace := 0, p.At.Hash == ""
	for e, err := range rev.Entries(ctx, max(1, p.At.ID)) {
		if err != nil {
			return nil, false, err
		}
		if inPlace = inPlace || r.Signer.PositionOf(e) == p.At; !inPlace {
			break
		}
		if e.ID <= p.At.ID || !keep(e) {
			continue
		}
		if len(out) == p.Limit {
			return out, true, nil
		}
		if err := r.Check(e); err != nil {
			return nil, false, err
		}
		view := r.View(e)
		if size += len(view.Raw); len(out) > 0 && size > p.maxBytes() {
			return out, true, nil
		}
		out = append(out, view)
	}
	if !inPlace {
		return nil, false, front.CursorMoved(p.At)
	}
	return out, false, nil
}
