package outgoing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// OutgoingRef is a ref that git is about to push: what the remote has it at, and what it
// shall be. The objects are named in hex; zeros stand for none.
type OutgoingRef struct{ Ref, Old, New string }

// CheckSecrets looks for secrets in what git is about to push and the remote does not have
// yet, as it says itself: what was heard of it before may have been another one. The error
// is a *SecretsError if there are any.
func CheckSecrets(ctx context.Context, s *workspace.Store, remote string, refs []OutgoingRef) error {
	defer s.Git().KeepObjects()()
	scan := NewSecretScan(s)
	tips := map[string][]gitstore.Hash{}
	var owners []string
	byName := make(map[string]OutgoingRef, len(refs))
	for _, ref := range refs {
		byName[ref.Ref] = ref
	}
	order := slices.Collect(maps.Keys(byName))
	layout.SortRefs(order) // what a fork shares with its tape is told of the tape
	for _, name := range order {
		ref := byName[name]
		old, err := layout.ParseObject(ref.Old)
		if err != nil {
			return err
		}
		next, err := layout.ParseObject(ref.New)
		if err != nil {
			return err
		}
		if next.IsZero() {
			continue
		}
		scan.Know(old)
		owner := ownerOfRef(s, ref.Ref, next)
		if tips[owner] == nil {
			owners = append(owners, owner)
		}
		tips[owner] = append(tips[owner], next)
	}
	var found []SecretFinding
	for _, name := range owners {
		secrets, err := scan.Look(ctx, name, tips[name], nil)
		if err != nil {
			return layout.Conflict("", "%q could not be looked through for secrets: %v", name, err)
		}
		found = append(found, secrets...)
	}
	if len(found) > 0 {
		return fmt.Errorf("push to %s: %w", remote, &SecretsError{Findings: found})
	}
	return nil
}

// ownerOfRef is the tape or fork that a branch or tag is of.
func ownerOfRef(s *workspace.Store, ref string, h gitstore.Hash) string {
	if strings.HasPrefix(ref, layout.TagPrefix) {
		if at, err := s.Git().Peel(h); err == nil {
			if name, err := s.NameAt(at); err == nil && name != "" {
				return name
			}
		}
	}
	return snapshot.RemoteName(s, layout.Incoming{Ref: ref, New: h})
}
