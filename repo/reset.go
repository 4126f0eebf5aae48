package repo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// Archive is a former history of a tape, kept by a ref.
type Archive struct {
	Stamp   string // UTC, 20261120T093000Z
	Ref     string
	Commit  string
	Entries int64
	Anchors int
}

// Reset starts the tape over, with nothing but its first anchor; a fork with nothing but
// what it has of its parent. With archive the
// history so far keeps a ref, whose name is returned; without, only git's reflog
// knows of it.
func (t *Tape) Reset(ctx context.Context, archive bool) (ref string, err error) {
	err = t.write(ctx, func(w *writer) error {
		if archive {
			if ref, err = w.archive(ctx); err != nil {
				return err
			}
		} else if err := w.commitAll(ctx); err != nil {
			return err
		}
		next, err := w.beginning(ctx)
		if err != nil {
			return err
		}
		next.subject = "reset: " + oneLine(t.name)
		return w.replace(ctx, next, w.head, w.wt, true)
	})
	return ref, err
}

// beginning is the commit that a reset goes back to.
func (w *writer) beginning(ctx context.Context) (plannedCommit, error) {
	if !w.t.IsFork() {
		return w.putRoot(ctx, Anchor{Name: FirstAnchor, State: []byte(HumanState)})
	}
	b, err := w.t.base(w.head)
	return plannedCommit{hash: b.start}, err
}

func (w *writer) commitAll(ctx context.Context) error {
	if w.uncommitted() == 0 {
		return nil
	}
	return w.checkpoint(ctx)
}

// archive commits everything and gives the history a ref of its own.
func (w *writer) archive(ctx context.Context) (string, error) {
	if err := w.commitAll(ctx); err != nil {
		return "", err
	}
	git, now := w.t.store.git, w.t.store.now().UTC()
	prefix := archivePrefix + w.t.slug + "/"
	ref := prefix + now.Format("20060102T150405Z")
	if _, err := git.Ref(ref); err == nil {
		ref = prefix + now.Format("20060102T150405.000000Z")
	}
	_, who, err := git.Identity(now)
	if err != nil {
		return "", err
	}
	return ref, git.UpdateRef(ctx, gitstore.RefUpdate{Name: ref, New: w.head, Message: "tape: archive", Who: who})
}

// Archives returns the tape's archives, the oldest first.
func (t *Tape) Archives(ctx context.Context) ([]Archive, error) {
	prefix := archivePrefix + t.slug + "/"
	refs, err := t.store.git.Refs(prefix)
	if err != nil {
		return nil, classify(err)
	}
	out := make([]Archive, 0, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := t.store.commitView(ref.Hash)
		if err != nil {
			return nil, err
		}
		a := Archive{Stamp: strings.TrimPrefix(ref.Name, prefix), Ref: ref.Name, Commit: ref.Hash.String(), Anchors: len(v.list)}
		if a.Entries, err = lastID(v, v.list[len(v.list)-1]); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	// A fraction of a second comes after the whole one.
	slices.SortFunc(out, func(a, b Archive) int {
		return strings.Compare(strings.TrimSuffix(a.Stamp, "Z"), strings.TrimSuffix(b.Stamp, "Z"))
	})
	return out, nil
}

// Restore makes an archive the tape's history again. What the tape holds now is
// archived in turn, unless it is only the first anchor; that archive's ref is
// returned. The stamp may be shortened to any unique beginning, or be Latest.
func (t *Tape) Restore(ctx context.Context, stamp string) (restored Archive, archived string, err error) {
	err = t.write(ctx, func(w *writer) error {
		if restored, err = t.findArchive(ctx, stamp); err != nil {
			return err
		}
		if w.st.LastID > 1 {
			if archived, err = w.archive(ctx); err != nil {
				return err
			}
		}
		h, err := gitstore.ParseHash(restored.Commit)
		if err != nil {
			return err
		}
		next := plannedCommit{hash: h, subject: "restore: " + restored.Stamp}
		if err := w.replace(ctx, next, w.head, w.wt, true); err != nil {
			return err
		}
		err = t.store.git.UpdateRef(ctx, gitstore.RefUpdate{Name: restored.Ref, Old: h, Message: "tape: restored"})
		if err != nil && !errors.Is(err, gitstore.ErrConflict) {
			t.store.warn("the archive is restored, but its ref could not be removed: " + err.Error())
		}
		return nil
	})
	return restored, archived, err
}

func (t *Tape) findArchive(ctx context.Context, stamp string) (Archive, error) {
	all, err := t.Archives(ctx)
	if err != nil {
		return Archive{}, err
	}
	if stamp == Latest && len(all) > 0 {
		return all[len(all)-1], nil
	}
	matches := slices.DeleteFunc(slices.Clone(all), func(a Archive) bool {
		return stamp == "" || !strings.HasPrefix(a.Stamp, stamp) && a.Ref != stamp
	})
	if len(matches) > 1 {
		return Archive{}, invalid("give more of it; tape archives lists them", "%q could be any of %d archives", stamp, len(matches))
	}
	if len(matches) == 0 {
		return Archive{}, notFound("tape archives lists them", "tape %q has no archive %q", t.name, stamp)
	}
	return matches[0], nil
}
