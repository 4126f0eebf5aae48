package remotes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/gitstore/transport"
	"tape/internal/layout"
	"tape/internal/workspace"
)

// A push of thousands of tapes lists refs once; one of a single tape looks only at its own.

// Under are those refs of a sorted list that begin with prefix.
func Under(refs []gitstore.Ref, prefix string) []gitstore.Ref {
	from, _ := slices.BinarySearchFunc(refs, prefix, func(ref gitstore.Ref, name string) int { return strings.Compare(ref.Name, name) })
	n := 0
	for from+n < len(refs) && strings.HasPrefix(refs[from+n].Name, prefix) {
		n++
	}
	return refs[from : from+n]
}

// Find returns what one of a sorted list of refs holds, zero if it is not there.
func Find(refs []gitstore.Ref, name string) gitstore.Hash {
	if i, ok := slices.BinarySearchFunc(refs, name, func(ref gitstore.Ref, name string) int { return strings.Compare(ref.Name, name) }); ok {
		return refs[i].Hash
	}
	return gitstore.ZeroHash
}

// listed returns the refs of the workspace that begin with kind, as they were when they
// were first asked for. Branches come before tags: a tag must not be of a commit that does
// not go.
func (p *pushing) listed(kind string) ([]gitstore.Ref, error) {
	list, ok := p.local[kind]
	if !ok {
		var err error
		if list, err = p.s.Git().Refs(kind); err != nil {
			return nil, err
		}
		p.local[kind] = list
	}
	return list, nil
}

// here returns the refs of the workspace that begin with kind and rest.
func (p *pushing) here(kind, rest string) ([]gitstore.Ref, error) {
	if len(p.o.Tapes) > 0 {
		return p.s.Git().Refs(kind + rest)
	}
	list, err := p.listed(kind)
	return Under(list, kind+rest), err
}

// head is the newest commit of a tape.
func (p *pushing) head(t *workspace.Tape) (gitstore.Hash, error) {
	if len(p.o.Tapes) > 0 {
		return t.Head()
	}
	kind := layout.BranchPrefix
	if strings.HasPrefix(t.Ref(), layout.ForkPrefix) {
		kind = layout.ForkPrefix
	}
	list, err := p.listed(kind)
	if err != nil {
		return gitstore.ZeroHash, err
	}
	if h := Find(list, t.Ref()); !h.IsZero() {
		return h, nil
	}
	return t.Head()
}

// note remembers what the remote has now. First what was fetched: cut off in between, it
// is looked at again.
func (p *pushing) note(ctx context.Context, sent []transport.PushRef) error {
	const tries = 5
	ctx = context.WithoutCancel(ctx)
	err := p.noteNow(ctx, sent)
	for n := 1; n < tries && errors.Is(err, gitstore.ErrConflict); n++ {
		err = p.noteNow(ctx, sent) // somebody else has pushed or fetched meanwhile
	}
	return err
}

func (p *pushing) noteNow(ctx context.Context, sent []transport.PushRef) error {
	for _, prefix := range []string{layout.FetchedRefs(p.remote), layout.AcceptedRefs(p.remote)} {
		known := p.s.Git().Ref
		if len(sent) > fewNotes {
			known = p.lookUp()
		}
		var updates []gitstore.RefUpdate
		for _, ref := range sent {
			name := prefix + layout.InnerRef(ref.Name)
			old, err := known(name)
			if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
				return err
			}
			if old != ref.New {
				updates = append(updates, gitstore.RefUpdate{Name: name, Old: old, New: ref.New, Message: "tape: push"})
			}
		}
		if err := p.s.Git().UpdateRefs(ctx, updates); err != nil {
			return err
		}
	}
	return nil
}

// fewNotes is the number of refs up to which each is looked up by itself.
const fewNotes = 64

// lookUp looks refs up as they are now, in lists of all that are of their kind: branches,
// tags, archives.
func (p *pushing) lookUp() func(name string) (gitstore.Hash, error) {
	lists := map[string][]gitstore.Ref{}
	return func(name string) (gitstore.Hash, error) {
		kind := name[:strings.LastIndexByte(name, '/')]
		kind = kind[:strings.LastIndexByte(kind, '/')+1]
		list, ok := lists[kind]
		if !ok {
			var err error
			if list, err = p.s.Git().Refs(kind); err != nil {
				return gitstore.ZeroHash, err
			}
			lists[kind] = list
		}
		return Find(list, name), nil
	}
}

// noteEqual remembers the branches that the remote had already as they are here.
func (p *pushing) noteEqual(ctx context.Context) error {
	var equal []transport.PushRef
	for _, x := range p.sends {
		if x.status.Status == layout.RefUpToDate && p.has[x.t.Ref()] == x.head {
			equal = append(equal, transport.PushRef{Name: x.t.Ref(), New: x.head})
		}
	}
	return p.note(ctx, equal)
}
