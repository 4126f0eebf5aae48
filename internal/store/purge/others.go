package purge

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// findOthers finds other tapes and forks that contain what was taken out of this one: in their entries, in the
// artifacts that these refer to, or in their commits. They are not changed; each needs its own purge.
func (p *purge) findOthers(ctx context.Context) error {
	if len(p.mask.Texts) == 0 {
		return nil
	}
	p.o.Step("looking at other tapes")
	all, err := p.s.TapesAndForks(ctx)
	if err != nil {
		return err
	}
	known := secrets.NewKnownFinder(slices.Collect(maps.Keys(p.mask.Texts)))
	p.out.Has = func(line []byte) bool {
		has, _ := p.has(known, line)
		return has
	}
	done := map[string]bool{p.root: true} // tapes, with their forks
	p.commits = map[gitstore.Hash]bool{}
	for _, t := range all {
		if done[snapshot.RootName(t)] {
			continue
		}
		other, err := p.searchOther(ctx, t, known)
		if err != nil {
			return err
		}
		if len(other.Entries)+other.Commits > 0 {
			done[t.Name()] = true
			p.out.Others = append(p.out.Others, other)
		}
	}
	return nil
}

// searchOther searches a tape that is not purged, or a fork's own entries, for secrets.
func (p *purge) searchOther(ctx context.Context, t *workspace.Tape, known *secrets.KnownFinder) (PurgedOther, error) {
	other := PurgedOther{Tape: t.Name()}
	now, err := snapshot.Take(ctx, t)
	if err != nil {
		return other, err
	}
	var base *snapshot.Snapshot // of a fork: what its parent has, too
	if _, m, ok, err := snapshot.Begins(ctx, t); err == nil && ok {
		at, err1 := gitstore.ParseHash(m.Head)
		v, err2 := snapshot.AtCommit(p.s, at)
		if base, err = v, cmp.Or(err1, err2); err != nil {
			return other, err
		}
	}
	detected := map[string]bool{}
	for e, err := range now.After(ctx, base, t.Name()) {
		if ctx.Err() != nil {
			return other, ctx.Err()
		}
		if err != nil {
			p.left("%q is damaged, and was searched only up to the damage: %v", t.Name(), err)
			break
		}
		if has, fps := p.has(known, e.Raw); has {
			other.Entries = append(other.Entries, e.ID)
			for _, fp := range fps {
				detected[fp] = true
			}
		}
		for _, a := range layout.Artifacts(e.Payload) {
			data, err := readArtifact(now, a.SHA256)
			if err != nil {
				continue // it is nowhere, or its file is damaged, which verify reports
			}
			if has, fps := p.has(known, jsonl.AppendString(nil, strings.ToValidUTF8(string(data), "\uFFFD"))); has {
				if !slices.Contains(other.Entries, e.ID) {
					other.Entries = append(other.Entries, e.ID)
				}
				for _, fp := range fps {
					detected[fp] = true
				}
			}
		}
	}
	if err := p.searchCommits(ctx, t, known, detected, &other); err != nil {
		return other, err
	}
	other.Fingerprints = slices.Sorted(maps.Keys(detected))
	return other, nil
}

func readArtifact(now *snapshot.Snapshot, name string) ([]byte, error) {
	phase, full, err := now.FindArtifact(name)
	if err != nil {
		return nil, err
	}
	r, _, err := now.OpenArtifact(phase, full)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// searchCommits counts the commits of another tape that have it in their messages, or in the names of people.
func (p *purge) searchCommits(ctx context.Context, t *workspace.Tape, known *secrets.KnownFinder, detected map[string]bool, other *PurgedOther) error {
	head, err := p.s.Git().Ref(t.Ref())
	if err != nil {
		return nil //nolint:nilerr // it has no commit yet
	}
	for c, err := range lineage.Ancestors(p.s, head) {
		if err != nil {
			p.left("the commits of %q could not be searched: %v", t.Name(), err)
			return ctx.Err()
		}
		if p.commits[c.Hash] {
			continue
		}
		p.commits[c.Hash] = true
		text := strings.Join([]string{c.Author.Name, c.Author.Email, c.Committer.Name, c.Committer.Email, c.Message}, "\n")
		if has, fps := p.has(known, jsonl.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD"))); has {
			other.Commits++
			for _, fp := range fps {
				detected[fp] = true
			}
		}
	}
	return ctx.Err()
}

// has reports whether a line contains known secrets, and which of them the scanner detects there. A
// short one counts only if it is detected; otherwise it may occur there by chance.
func (p *purge) has(known *secrets.KnownFinder, line []byte) (has bool, detected []string) {
	_, found := known.Mask(line)
	if len(found) == 0 {
		return false, nil
	}
	_, also := p.o.Find.Mask(line, func(f secrets.Finding) bool {
		return !slices.ContainsFunc(found, func(k secrets.Finding) bool { return k.Fingerprint == f.Fingerprint })
	})
	for _, f := range also {
		detected = append(detected, f.Fingerprint)
	}
	long := slices.ContainsFunc(found, func(f secrets.Finding) bool {
		return !slices.ContainsFunc(p.mask.Short, func(s secrets.Secret) bool { return s.Fingerprint == f.Fingerprint })
	})
	return len(detected) > 0 || long, detected
}

// reportKept reports where masked texts remain: in names that a purge does not change, and short ones
// where nothing shows that they are secrets.
func (p *purge) reportKept(ctx context.Context) error {
	for _, fp := range slices.Sorted(maps.Keys(p.mask.Missed)) {
		p.left("the secret %s is short, or a word: it is masked only where the context shows that it is a secret, and remains elsewhere", fp)
	}
	if p.r.Kept > 0 {
		p.left("it stays in %d of the commits: in the name of a tape or a fork", p.r.Kept)
	}
	all, err := p.s.TapesAndForks(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		masked := p.mask.Text(t.Name())
		switch {
		case masked == t.Name():
		case t.IsFork():
			p.left("the name of the fork %q has it, and stays in what the fork was merged into: discard it, and begin one with another name", masked)
		default:
			p.left("the name of the tape %q has it, and stays: export the tape, import that into one with another name, and delete this one's branch", masked)
		}
	}
	refs, err := p.s.Git().Refs("refs/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		isTape := snapshot.SlugOf(ref.Name) != ref.Name
		if masked := p.mask.Text(ref.Name); masked != ref.Name && !isTape && !layout.IsTracking(ref.Name) {
			p.left("the name %s has it: rename it with git", masked)
		}
	}
	return nil
}
