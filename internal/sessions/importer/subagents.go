package importer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/forks"
	"tape/repo"
)

// openFork is a subagent's fork that is not merged yet.
type openFork struct {
	sub  string
	fork *forks.TxFork
	held int
}

// forkName returns the name of a subagent's fork, with a number if a tape, an open fork or another subagent has the
// usual name. Such a tape is from the subagent's own file: what it has is not imported again.
func (in *intake) forkName(ctx context.Context, sub string) string {
	if name, ok := in.names[sub]; ok || in.err != nil {
		return name
	}
	name := record.FreeName(asForkName(sub), func(name string) bool {
		if slices.Contains(slices.Collect(maps.Values(in.names)), name) {
			return true
		}
		tape, err := in.store.Tape(ctx, in.res.Tape+"/"+name)
		if err == nil && !tape.IsFork() {
			err = in.loadKeys(ctx, tape)
		}
		if !errors.Is(err, repo.ErrNotFound) {
			in.fail(err)
		}
		return err == nil
	})
	in.names[sub] = name
	return name
}

// asForkName makes a valid name of a fork from a name that has an id of a transcript in it.
func asForkName(name string) string {
	const limit = 1 << 10 // bytes; the tape's name, which comes before it, counts towards the limit of names
	return strings.ToValidUTF8(strings.ReplaceAll(name[:min(len(name), limit)], "/", "_"), "_")
}

// fork returns the open fork of a subagent, and begins it if needed; nil after an error.
func (in *intake) fork(ctx context.Context, sub string) *openFork {
	for _, f := range in.forks {
		if f.sub == sub {
			return f
		}
	}
	name := in.forkName(ctx, sub)
	if in.err != nil {
		return nil
	}
	fork, err := forks.InTx(ctx, in.tx, name)
	if err != nil {
		in.fail(err)
		return nil
	}
	f := &openFork{sub: sub, fork: fork}
	in.forks = append(in.forks, f)
	return f
}

func (in *intake) merge(ctx context.Context, which func(*openFork) bool) {
	in.forks = slices.DeleteFunc(in.forks, func(f *openFork) bool {
		if in.err != nil || !which(f) {
			return false
		}
		in.fail(f.fork.Merge(ctx))
		in.held -= f.held
		return true
	})
}
