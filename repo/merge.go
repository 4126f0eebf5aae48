package repo

import (
	"context"
	"errors"
	"fmt"

	"tape/internal/gitstore"
)

// MergeOptions say how a fork is merged. Nil merges all its entries and closes it.
type MergeOptions struct {
	// Summary is recorded instead of the fork's entries, which stay reachable through
	// the merge commit.
	Summary string
	// Keep leaves the fork open: it can be written to, and merged again.
	Keep bool
}

// Merged tells what a merge did.
type Merged struct {
	Entries         int // that the parent got; 0 if there was nothing new
	FirstID, LastID int64
	Handoffs        []Handoff // phases that the parent got
	Commit          string    // of the merge; "" if there was nothing new
	Into            string    // the name of the tape, or fork, that got them
	Closed          bool
}

// RewrittenError says that one side of a merge does not begin with what both began with:
// somebody changed its history.
type RewrittenError struct {
	Name string    // the tape or fork whose history was changed
	Base [2][]byte // the first entry that differs, as it was and as it is; nil if missing
}

func (e *RewrittenError) Error() string {
	return fmt.Sprintf("the history of %q was changed: it does not begin with what both sides began with", e.Name)
}

// Is makes every RewrittenError an ErrConflict.
func (e *RewrittenError) Is(target error) bool { return target == ErrConflict }

// Hint is the way out.
func (e *RewrittenError) Hint() string {
	return "nothing was changed; go back to the history that was recorded (git reflog shows it), or keep the fork as a tape of its own"
}

// Merge merges a fork into its parent: what the fork has behind its base is appended,
// renumbered, each entry with meta.origin. It is one commit with two parents. What is
// not committed on either side is committed first. Merging again adds nothing.
//
// A fork whose parent was merged away is merged into the tape that the parent is in now.
// The error is a *RewrittenError when either side's history was changed.
func (t *Tape) Merge(ctx context.Context, o *MergeOptions) (Merged, error) {
	if o == nil {
		o = &MergeOptions{}
	}
	into, err := t.target(ctx)
	if err != nil {
		return Merged{}, err
	}
	var out Merged
	err = into.locked(ctx, func(w *writer) error {
		return t.locked(ctx, func(fw *writer) error {
			if !o.Keep {
				if err := fw.checkClosable(); err != nil {
					return err
				}
			}
			if err := fw.commitAll(ctx); err != nil {
				return err
			}
			if err := w.commitAll(ctx); err != nil {
				return err
			}
			if out, err = w.onto(ctx, fw.head, ontoOptions{name: t.name, summary: o.Summary}); err != nil || o.Keep {
				return err
			}
			out.Closed = true
			return fw.closeMerged(ctx, w.head)
		})
	})
	if err != nil {
		return out, fmt.Errorf("merge %q into %q: %w", t.name, into.name, classify(err))
	}
	return out, nil
}

// closeMerged closes a fork that has nothing more to merge into a tape's commit.
func (w *writer) closeMerged(ctx context.Context, into gitstore.Hash) error {
	message := ""
	if has, err := w.t.store.contains(into, w.head); err != nil {
		return err
	} else if !has {
		message = nothingMessage + oneLine(w.t.fork)
	}
	return w.close(ctx, message)
}

// target is what a fork is merged into: what it is a fork of, or where that has gone. Of
// what somebody else has gone on with, and merged, while it went another way here, only the
// latter knows what the fork began with.
func (t *Tape) target(ctx context.Context) (*Tape, error) {
	if !t.IsFork() {
		return nil, invalid("name a fork: tape forks lists them", "%q is a tape, not a fork", t.name)
	}
	var first *Tape
	for name, ok := t.Parent(), true; ok; name, _, ok = cutFork(name) {
		into, err := t.store.Tape(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = into
		}
		if knows, err := into.knowsBase(t); err != nil || knows {
			return into, err
		}
	}
	if first == nil {
		return nil, notFound("tape forks and tape tapes list what there is", "%q, which %q is a fork of, is gone", t.Parent(), t.name)
	}
	return first, nil // the merge says what is wrong
}

// knowsBase reports whether a tape has what a fork began with.
func (t *Tape) knowsBase(f *Tape) (bool, error) {
	head, err1 := t.head()
	at, err2 := f.head()
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	b, ok, err := f.madeBase(at)
	if err != nil || !ok {
		return err == nil, err // made by hand: the merge looks for it
	}
	base, err1 := t.store.commitView(b.start)
	ours, err2 := t.store.commitView(head)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	if ok, err := ours.continues(base); err != nil || ok {
		return ok, err
	}
	begin, err := t.store.git.Commit(b.start)
	if err != nil {
		return false, corruptObject(b.start, err)
	}
	for _, from := range begin.Parents {
		if has, err := t.store.contains(head, from); err != nil || has {
			return has, err
		}
	}
	return false, nil
}
