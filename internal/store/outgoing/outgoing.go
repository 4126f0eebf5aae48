package outgoing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// CheckSecrets searches what git is about to push for secrets. Only what these refs name at the remote
// now counts as already there, because what was fetched earlier may be outdated. The error is a
// *SecretsError if there are any, and another ErrConflict if something cannot be searched.
func CheckSecrets(ctx context.Context, s *workspace.Store, remote string, refs []layout.Incoming) error {
	defer s.Git().KeepObjects()()
	scan := NewSecretScan(s)
	tips := map[string][]gitstore.Hash{}
	var owners []string
	// Findings that a fork shares with its tape are reported for the tape.
	slices.SortStableFunc(refs, func(a, b layout.Incoming) int { return layout.CompareRefs(a.Ref, b.Ref) })
	for _, ref := range refs {
		if ref.New.IsZero() {
			continue
		}
		scan.AddKnown(ref.Old)
		owner := ownerOfRef(s, ref)
		if tips[owner] == nil {
			owners = append(owners, owner)
		}
		tips[owner] = append(tips[owner], ref.New)
	}
	var found []SecretFinding
	for _, name := range owners {
		secrets, err := scan.Search(ctx, name, tips[name])
		if err != nil {
			return layout.Conflict("", "%q could not be searched for secrets: %v", name, err)
		}
		found = append(found, secrets...)
	}
	if len(found) > 0 {
		return fmt.Errorf("push to %s: %w", remote, &SecretsError{Findings: found})
	}
	return nil
}

// ownerOfRef returns the name of the tape or fork that a branch or tag belongs to.
func ownerOfRef(s *workspace.Store, ref layout.Incoming) string {
	if strings.HasPrefix(ref.Ref, layout.TagPrefix) {
		if at, err := s.Git().Peel(ref.New); err == nil {
			if name, err := s.NameAt(at); err == nil && name != "" {
				return name
			}
		}
	}
	return snapshot.RemoteName(s, ref)
}
