package merge

import (
	"context"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/purge"
	"tape/internal/store/query"
	"tape/internal/store/remotes"
	"tape/internal/store/workspace"

	"tape/repo"
)

// PullOptions say what to pull. Nil means every tape, quietly.
type PullOptions struct {
	repo.FetchOptions
	Archives bool // archives, too
}

// Pull fetches from a remote, and merges what the remote has of each tape and fork; tapes of tape serve only if
// PullOptions.Tapes names them. Published entries keep their place, local ones follow; nobody has to resolve
// anything. It returns the status of each tape and fork of the remote.
//
// An interrupted purge of this workspace is finished first, even without PullOptions.Purges.
//
// If the remote no longer has a fork because somebody merged it, the fork is closed here, too.
func Pull(ctx context.Context, s *repo.Store, remote string, o *PullOptions) ([]repo.RefStatus, error) {
	if o == nil {
		o = &PullOptions{}
	}
	if err := purge.FinishPurge(ctx, (*workspace.Store)(s), o.Derived); err != nil {
		return nil, err
	}
	fetched, err := s.Fetch(ctx, remote, &o.FetchOptions)
	if err != nil {
		return fetched, err
	}
	out := slices.DeleteFunc(slices.Clone(fetched), func(f repo.RefStatus) bool { return f.Status != repo.RefRejected })
	done, todo, err := remotes.Published(ctx, (*workspace.Store)(s), remote, o.Tapes)
	if err != nil {
		return out, err
	}
	out = append(out, done...)
	rejected := map[string]bool{}
	for _, status := range todo {
		if len(o.Tapes) == 0 && ofHost(ctx, s, status.Tape) {
			continue // the server's tapes are joined only if named
		}
		if rejected[remotes.TapeOf((*workspace.Store)(s), status.Tape)] {
			continue // a fork is not merged if its tape was rejected
		}
		status, err := join.Join(ctx, (*workspace.Store)(s), remote, status.Tape)
		if err != nil {
			return out, err
		}
		out = append(out, status)
		if status.Status == repo.RefRejected && remotes.TapeOf((*workspace.Store)(s), status.Tape) == status.Tape {
			rejected[status.Tape] = true
		}
	}
	// Forks of forks first.
	slices.SortStableFunc(fetched, func(a, b repo.RefStatus) int { return strings.Count(b.Tape, "/") - strings.Count(a.Tape, "/") })
	for _, gone := range fetched {
		if gone.Status != repo.RefDeleted {
			continue
		}
		var closed bool
		err := join.WithMergesCompleted(ctx, func() (err error) {
			closed, err = remotes.CloseGone(ctx, (*workspace.Store)(s), remote, gone)
			return err
		})
		if err != nil {
			return out, err
		}
		if closed {
			out = append(out, gone)
		}
	}
	if !o.Archives {
		return out, nil
	}
	archives, err := remotes.JoinArchives(ctx, (*workspace.Store)(s), remote, o.Tapes)
	return append(out, archives...), err
}

// ofHost reports whether a tape here belongs to tape serve.
func ofHost(ctx context.Context, s *repo.Store, name string) bool {
	t, err := (*workspace.Store)(s).Tape(ctx, name)
	if err != nil {
		return false // the tape is not here yet
	}
	own, err := query.IsHostTape(ctx, t)
	return err == nil && own
}
