package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// copyFrom fetches from a repository on this machine.
func (r *Repo) copyFrom(ctx context.Context, dir string, specs []RefSpec, before map[string]Hash) (head string, err error) {
	other, err := openLocal(dir)
	if err != nil {
		return "", err
	}
	refs, head, err := other.told()
	if err != nil {
		return "", err
	}
	after := mapRefs(refs, specs)
	known, err := r.known(before)
	if err != nil {
		return "", err
	}
	if wants := r.wanted(after, before); len(wants) > 0 {
		if err := copyObjects(ctx, other, r, wants, known); err != nil {
			return "", blamed(ctx, err)
		}
	}
	return head, r.accept(ctx, before, after, known)
}

// lackError is what is wrong with the objects of the side that they are copied from.
type lackError struct{ error }

func (e lackError) Unwrap() error { return e.error }

// blamed says whose fault it is that objects could not be copied.
func blamed(ctx context.Context, err error) error {
	var lack lackError
	var file *fs.PathError
	switch {
	case ctx.Err() != nil || !errors.As(err, &lack):
		return err
	case errors.Is(err, ErrNotFound):
		return hostile("objects are missing there: %w", err)
	case errors.As(err, &file):
		return fmt.Errorf("%w: %w", ErrRemote, err)
	}
	return hostile("%w", err)
}

// copyObjects brings what is reachable from tips, and not from what the other side knows,
// from one repository to another, as packs.
func copyObjects(ctx context.Context, from, to *Repo, tips, known []Hash) error {
	objects, err := from.lacks(ctx, tips, known)
	if err != nil {
		return lackError{err}
	}
	for len(objects) > 0 {
		n := min(len(objects), maxPackObjects)
		source := &packSource{ctx: ctx, r: from, objects: map[Hash]*packObject{}}
		for _, h := range objects[:n] {
			if _, err := source.add(h); err != nil {
				return err
			}
		}
		if err := to.writePack(source, objects[:n]); err != nil {
			return err
		}
		objects = objects[n:]
	}
	_ = to.objects(true)
	return nil
}

// judge says what would become of a pushed ref that the remote holds as there.
func (r *Repo) judge(ctx context.Context, ref PushRef, there Hash) (PushResult, error) {
	out := PushResult{Name: ref.Name}
	reject := func(why string) (PushResult, error) {
		out.Status, out.Reason = PushRejected, why
		return out, nil
	}
	switch {
	case ref.Lease && there != ref.Old:
		return reject("stale info")
	case ref.New.IsZero():
		out.Status = PushedDeleted
	case there.IsZero():
		out.Status = PushedNew
	case there == ref.New:
		out.Status = PushUpToDate
	case strings.HasPrefix(ref.Name, "refs/tags/"):
		return reject("already exists")
	default:
		forward := false
		if r.has(there) {
			var err error
			if forward, err = r.isAncestor(ctx, there, ref.New); err != nil {
				return out, err
			}
		}
		if !forward {
			return reject("non-fast-forward")
		}
		out.Status = PushedFastForward
	}
	return out, nil
}

// judgeAll judges refs, and returns those that are to be sent. If they go as one, and one
// cannot, none is.
func (r *Repo) judgeAll(ctx context.Context, refs []PushRef, there map[string]Hash, atomic bool) (results []PushResult, send []PushRef, err error) {
	rejected := false
	for _, ref := range refs {
		result, err := r.judge(ctx, ref, there[ref.Name])
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
		switch result.Status {
		case PushRejected:
			rejected = true
		case PushUpToDate:
		default:
			send = append(send, ref)
		}
	}
	if !atomic || !rejected {
		return results, send, nil
	}
	for i := range results {
		if s := results[i].Status; s != PushRejected && s != PushUpToDate {
			results[i] = PushResult{Name: results[i].Name, Status: PushRejected, Reason: PushCollateral}
		}
	}
	return results, nil, nil
}

func (r *Repo) builtinPush(ctx context.Context, m Remote, refs []PushRef, atomic bool, o TransportOptions) (results []PushResult, err error) {
	address, err := r.pushAddress(m)
	if err != nil {
		return nil, err
	}
	if dir, ok := r.localDir(address); ok {
		return r.copyTo(ctx, dir, refs, atomic)
	}
	err = r.talk(ctx, address, receivePack, o, func(l line, a *advertised) error {
		if atomic && len(refs) > 1 && !a.can("atomic") {
			return errNoAtomic
		}
		if !a.can("report-status") || !a.can("side-band-64k") {
			return fmt.Errorf("%w: it speaks too old a protocol", ErrRemote)
		}
		there := a.hashes()
		var send []PushRef
		results, send, err = r.judgeAll(ctx, refs, there, atomic)
		if err != nil || len(send) == 0 {
			return err
		}
		return r.sendRefs(ctx, l, send, there, atomic && a.can("atomic"), results, o)
	})
	return results, err
}

// remoteTips are what a remote holds, what its pushed refs hold first.
func remoteTips(send []PushRef, there map[string]Hash) (tips []Hash) {
	for _, ref := range send {
		if h := there[ref.Name]; !h.IsZero() {
			tips = append(tips, h)
		}
	}
	for _, h := range there {
		tips = append(tips, h)
	}
	return tips
}

func newTips(send []PushRef) (tips []Hash) {
	for _, ref := range send {
		if !ref.New.IsZero() {
			tips = append(tips, ref.New)
		}
	}
	return tips
}
