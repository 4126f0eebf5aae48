package repo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// OutgoingRef is a ref that git is about to push: what the remote has it at, and what it
// shall be. The objects are named in hex; zeros stand for none.
type OutgoingRef struct{ Ref, Old, New string }

// CheckSecrets looks for secrets in what git is about to push and the remote does not have
// yet, as it says itself: what was heard of it before may have been another one. The error
// is a *SecretsError if there are any.
func (s *Store) CheckSecrets(ctx context.Context, remote string, refs []OutgoingRef) error {
	defer s.git.KeepObjects()()
	scan := s.newSecretScan()
	tips := map[string][]gitstore.Hash{}
	var owners []string
	byName := make(map[string]OutgoingRef, len(refs))
	for _, ref := range refs {
		byName[ref.Ref] = ref
	}
	order := slices.Collect(maps.Keys(byName))
	sortRefs(order) // what a fork shares with its tape is told of the tape
	for _, name := range order {
		ref := byName[name]
		old, err := parseObject(ref.Old)
		if err != nil {
			return err
		}
		next, err := parseObject(ref.New)
		if err != nil {
			return err
		}
		if next.IsZero() {
			continue
		}
		scan.know(old)
		owner := s.ownerOfRef(ref.Ref, next)
		if tips[owner] == nil {
			owners = append(owners, owner)
		}
		tips[owner] = append(tips[owner], next)
	}
	var found []SecretFinding
	for _, name := range owners {
		secrets, err := scan.look(ctx, name, tips[name], nil)
		if err != nil {
			return conflict("", "%q could not be looked through for secrets: %v", name, err)
		}
		found = append(found, secrets...)
	}
	if len(found) > 0 {
		return fmt.Errorf("push to %s: %w", remote, &SecretsError{Findings: found})
	}
	return nil
}

// ownerOfRef is the tape or fork that a branch or tag is of.
func (s *Store) ownerOfRef(ref string, h gitstore.Hash) string {
	if strings.HasPrefix(ref, tagPrefix) {
		if at, err := s.git.Peel(h); err == nil {
			if name, err := s.nameAt(at); err == nil && name != "" {
				return name
			}
		}
	}
	return s.remoteName(incoming{Ref: ref, New: h})
}
