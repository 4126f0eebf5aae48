// Package storetest is what the tests of the store's rooms share: workspaces with tapes, forks,
// remotes and artifacts, checks of them, disks that fail and processes that write beside a test.
package storetest

import (
	"tape/internal/store/workspace"
	"tape/repo"
)

// Inner is a store as the rooms below repo have it.
func Inner(s *repo.Store) *workspace.Store { return (*workspace.Store)(s) }

// InnerTape is a tape as the rooms below repo have it.
func InnerTape(t *repo.Tape) *workspace.Tape { return (*workspace.Tape)(t) }
