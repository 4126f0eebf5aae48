package api

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/repo"
)

// tape is a session that a page shows.
type tape struct {
	rows find.Source
	row  db.Session
}

func (t *tape) Name() string { return t.row.Name }

func (t *tape) IsFork() bool { return strings.HasPrefix(t.row.Ref, "refs/heads/fork/") }

func (t *tape) Parent() string { return parentOf(t.row) }

// parentOf returns the name of a fork's parent, "" for a tape.
func parentOf(s db.Session) string {
	if !strings.HasPrefix(s.Ref, "refs/heads/fork/") {
		return ""
	}
	return s.Name[:max(0, strings.LastIndexByte(s.Name, '/'))]
}

func (t *tape) Info(context.Context) (out repo.Info, err error) {
	out.Name, out.Entries, out.Anchors, out.Commit = t.row.Name, t.row.LastID, t.row.Anchors, t.row.Watermark
	if t.row.Updated != nil {
		out.Updated = t.row.Updated.Format(time.RFC3339Nano)
	}
	return out, nil
}

func (t *tape) Phases(ctx context.Context) (out []repo.Phase, err error) {
	for e, err := range t.entries(ctx, db.Range{Kinds: []string{repo.KindAnchor}}) {
		if err != nil {
			return nil, err
		}
		if n := len(out); n > 0 {
			out[n-1].LastID = e.ID - 1
		}
		out = append(out, repo.Phase{Seq: e.AnchorSeq, Name: e.Anchor, FirstID: e.ID, LastID: t.row.LastID, Date: e.Date, Folder: fmt.Sprintf("%03d", e.AnchorSeq)})
	}
	return out, nil
}

// Entries yields all entries, or those of a phase.
func (t *tape) Entries(ctx context.Context, q repo.Query) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range t.entries(ctx, db.Range{}) {
			if err == nil && q.Phase != "" && e.Anchor != q.Phase {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Show yields the entry that target names, as @ID; nothing if there is none.
func (t *tape) Show(ctx context.Context, target string) iter.Seq2[repo.Entry, error] {
	id, err := strconv.ParseInt(strings.TrimPrefix(target, "@"), 10, 64)
	if err != nil || id < 1 {
		return func(func(repo.Entry, error) bool) {}
	}
	return t.entries(ctx, db.Range{First: id, Last: id})
}

// parent returns the session that a fork was made from; nil for a tape, or if the parent is not there.
func (t *tape) parent(ctx context.Context) (*tape, error) {
	name := t.Parent()
	if name == "" {
		return nil, nil
	}
	list, err := t.rows.Sessions(ctx, db.Choice{Name: name, Most: 1})
	if err != nil || len(list) == 0 || list[0].ID == t.row.ID {
		return nil, err
	}
	return &tape{rows: t.rows, row: list[0]}, nil
}

// entries yields a range of entries in their order. A fork begins with the entries of its parent.
func (t *tape) entries(ctx context.Context, q db.Range) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		if q.First < t.row.FirstID {
			parent, err := t.parent(ctx)
			if err != nil {
				yield(repo.Entry{}, err)
				return
			}
			before := q
			if before.Last == 0 || before.Last >= t.row.FirstID {
				before.Last = t.row.FirstID - 1
			}
			if parent != nil {
				for e, err := range parent.entries(ctx, before) {
					if !yield(e, err) || err != nil {
						return
					}
				}
			}
			q.First = t.row.FirstID
		}
		q.Most = math.MaxInt32
		var damaged error
		err := t.rows.Entries(ctx, t.row, q, func(s db.Stored) bool {
			var e repo.Entry
			if e, damaged = find.EntryOf(s, t.row); damaged != nil {
				return false
			}
			e.Workspace = ""
			return yield(e, nil)
		})
		if err := cmp.Or(err, damaged); err != nil {
			yield(repo.Entry{}, err)
		}
	}
}

// containing returns the ids of the entries that contain a text, in ascending order, at most most. Like entries, it
// begins with those of a fork's parent.
func (t *tape) containing(ctx context.Context, text string, most int) (ids []int64, err error) {
	parent, err := t.parent(ctx)
	if err == nil && parent != nil {
		ids, err = parent.containing(ctx, text, most)
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id >= t.row.FirstID })
	}
	if err != nil {
		return nil, err
	}
	own, err := t.rows.Containing(ctx, t.row, text, most-len(ids))
	return append(ids, own...), err
}
