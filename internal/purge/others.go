package purge

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/secrets"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// findOthers finds which other tapes and forks have what was taken out of this one. They
// stay as they are: each is purged on its own.
func (p *purge) findOthers(ctx context.Context) error {
	if len(p.mask.Texts) == 0 {
		return nil
	}
	p.o.Step("looking at other tapes")
	done := map[string]bool{} // with their forks
	for _, t := range p.members {
		done[t.Name()] = true
	}
	all, err := p.s.TapesAndForks(ctx)
	if err != nil {
		return err
	}
	f := &othersFinder{p: p, known: secrets.NewKnown(slices.Collect(maps.Keys(p.mask.Texts))), phases: map[gitstore.Hash]otherFound{}}
	for _, t := range all {
		if done[t.Name()] || done[snapshot.RootName(t)] {
			continue
		}
		found, err := f.tape(ctx, t)
		if err != nil {
			return err
		}
		if len(found.ids) > 0 {
			done[t.Name()] = true
			slices.Sort(found.ids)
			p.out.Others = append(p.out.Others, PurgedOther{Tape: t.Name(), Entries: slices.Compact(found.ids), Fingerprints: slices.Sorted(maps.Keys(found.told))})
		}
	}
	return nil
}

// othersFinder looks for secrets in tapes that are not purged.
type othersFinder struct {
	p      *purge
	known  *secrets.Known
	phases map[gitstore.Hash]otherFound // by tree: forks share them with their tape
}

// otherFound is what was found in some entries.
type otherFound struct {
	ids  []int64
	told map[string]bool // fingerprints of what the scanner finds there as well
}

func (f *othersFinder) tape(ctx context.Context, t *workspace.Tape) (otherFound, error) {
	out := otherFound{told: map[string]bool{}}
	now, err := snapshot.Take(ctx, t)
	if err != nil {
		return out, err
	}
	v, err := snapshot.AtCommit(f.p.s, now.Commit)
	if err != nil {
		return out, err
	}
	for _, ph := range v.List {
		found, err := f.phase(ctx, ph.Tree)
		if err != nil {
			return out, err
		}
		out.ids = append(out.ids, found.ids...)
		maps.Copy(out.told, found.told)
	}
	for e, err := range now.After(ctx, v, t.Name()) {
		if err != nil {
			return out, err
		}
		f.line(&out, e.Raw)
	}
	return out, nil
}

// phase looks through the files of a folder.
func (f *othersFinder) phase(ctx context.Context, tree gitstore.Hash) (otherFound, error) {
	if found, ok := f.phases[tree]; ok {
		return found, nil
	}
	out := otherFound{told: map[string]bool{}}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	entries, err := f.p.s.Git().Tree(tree)
	if err != nil {
		return out, layout.CorruptObject(tree, err)
	}
	for _, e := range entries {
		if _, _, ok := layout.ParseSegment(e.Name); e.Mode != gitstore.ModeFile || !ok && e.Name != layout.AnchorFile {
			continue
		}
		data, err := f.p.s.Git().Blob(e.Hash)
		if err != nil {
			return out, layout.CorruptObject(e.Hash, err)
		}
		for line := range bytes.Lines(data) {
			f.line(&out, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	f.phases[tree] = out
	return out, nil
}

// line looks at one entry.
func (f *othersFinder) line(out *otherFound, line []byte) {
	id, err := jsonl.ParseID(line)
	if err != nil {
		return
	}
	_, known := f.known.Mask(line)
	if len(known) == 0 {
		return
	}
	_, told := f.p.o.Find.Mask(line, func(found secrets.Finding) bool {
		return !slices.ContainsFunc(known, func(k secrets.Finding) bool { return k.Fingerprint == found.Fingerprint })
	})
	for _, found := range told {
		out.told[found.Fingerprint] = true
	}
	short := func(k secrets.Finding) bool {
		return slices.ContainsFunc(f.p.mask.Short, func(s secrets.Secret) bool { return s.Fingerprint == k.Fingerprint })
	}
	if len(told) > 0 || !slices.ContainsFunc(known, short) {
		out.ids = append(out.ids, id)
	}
}

// reportKept says where what is masked stays: in names that purge does not change, and, where
// it is short, where nothing tells that it is a secret.
func (p *purge) reportKept(ctx context.Context) error {
	for _, fp := range slices.Sorted(maps.Keys(p.mask.Missed)) {
		p.left("the secret %s is short, or a word: it is masked only where something tells that it is one, and stands elsewhere, too", fp)
	}
	if p.r.Kept > 0 {
		p.left("in %d of the commits it stays: in the name of an author, a tape or a fork", p.r.Kept)
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
			p.left("the name of the fork %q has it, and stays in what it was merged into: discard it, and begin one of another name", masked)
		default:
			p.left("the name of the tape %q has it, and stays: export it, import that into a tape of another name, and delete this one's branch", masked)
		}
	}
	refs, err := p.s.Git().Refs("refs/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		isTape := slices.ContainsFunc([]string{layout.BranchPrefix, layout.ForkPrefix, layout.TagPrefix, layout.ArchivePrefix}, func(prefix string) bool { return strings.HasPrefix(ref.Name, prefix) })
		if masked := p.mask.Text(ref.Name); masked != ref.Name && !isTape && !layout.IsTracking(ref.Name) {
			p.left("the name %s has it: give it another one with git", masked)
		}
	}
	return nil
}
