package remotes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Under returns the refs of a sorted list that begin with prefix.
func Under(refs []gitstore.Ref, prefix string) []gitstore.Ref {
	from, _ := slices.BinarySearchFunc(refs, prefix, func(ref gitstore.Ref, name string) int { return strings.Compare(ref.Name, name) })
	n := 0
	for from+n < len(refs) && strings.HasPrefix(refs[from+n].Name, prefix) {
		n++
	}
	return refs[from : from+n]
}

// list reads the refs of the workspace that can be pushed. It reads tags before branches: a tag made meanwhile
// would otherwise be pushed without its commit.
func (p *push) list() error {
	p.local = nil
	for _, prefix := range []string{layout.TagPrefix, layout.ArchivePrefix, layout.BranchPrefix, layout.ForkPrefix} {
		refs, _, err := p.s.Git().ReadableRefs(prefix) // what is damaged stops nothing else
		if err != nil {
			return err
		}
		p.local = append(p.local, slices.DeleteFunc(refs, func(ref gitstore.Ref) bool { return p.s.CopyOf(ref) != "" })...)
	}
	slices.SortFunc(p.local, func(a, b gitstore.Ref) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// listed returns what a ref pointed to when list read it, zero if it did not exist.
func (p *push) listed(name string) gitstore.Hash {
	if refs := Under(p.local, name); len(refs) > 0 && refs[0].Name == name {
		return refs[0].Hash
	}
	return gitstore.ZeroHash
}

// head is the newest commit of a tape.
func (p *push) head(t *workspace.Tape) (gitstore.Hash, error) {
	if h := p.listed(t.Ref()); !h.IsZero() {
		return h, nil
	}
	return t.Head()
}

// note records what was sent in the fetched refs, then in the accepted refs. If it is interrupted in between,
// the next fetch checks the refs again.
func (p *push) note(ctx context.Context, sent []transport.PushRef) (err error) {
	for range 5 { // others may push or fetch meanwhile
		if err = p.noteNow(context.WithoutCancel(ctx), sent); !errors.Is(err, gitstore.ErrConflict) {
			break
		}
	}
	return err
}

func (p *push) noteNow(ctx context.Context, sent []transport.PushRef) error {
	for _, prefix := range []string{layout.FetchedRefs(p.remote), layout.AcceptedRefs(p.remote)} {
		known, err := KnownRefs(p.s, prefix)
		if err != nil {
			return err
		}
		var updates []gitstore.RefUpdate
		for _, ref := range sent {
			if old := known[ref.Name]; old != ref.New {
				updates = append(updates, gitstore.RefUpdate{Name: prefix + layout.InnerRef(ref.Name), Old: old, New: ref.New, Message: "tape: push"})
			}
		}
		if err := p.s.Git().UpdateRefs(ctx, updates); err != nil {
			return err
		}
	}
	return nil
}

// noteEqual records the branches that were already the same at the remote.
func (p *push) noteEqual(ctx context.Context) error {
	var equal []transport.PushRef
	for _, x := range p.sends {
		if x.status.Status == layout.RefUpToDate && p.has[x.t.Ref()] == x.head {
			equal = append(equal, transport.PushRef{Name: x.t.Ref(), New: x.head})
		}
	}
	return p.note(ctx, equal)
}
