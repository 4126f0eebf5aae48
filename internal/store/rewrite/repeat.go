package rewrite

import (
	"bytes"
	"context"
	"errors"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/secrets"
)

// Replaced is an old history and the purged one that took its place.
type Replaced struct {
	Records
	Old, Next gitstore.Hash // the newest old commit, and the commit that replaced it
}

// RecordedPurge finds which history the purges that are recorded in next's history made of old's. The new
// history may have more commits on top. It returns false if next has no record of a purge that old lacks.
func RecordedPurge(ctx context.Context, s *workspace.Store, old, next gitstore.Hash) (p Replaced, ok bool, err error) {
	was, err1 := lineage.FirstParents(ctx, s, old)
	is, err2 := lineage.FirstParents(ctx, s, next)
	if err := errors.Join(err1, err2); err != nil || len(is) <= len(was) || is[len(is)-len(was)] == old {
		return p, false, err
	}
	p.Old, p.Next = old, is[len(is)-len(was)]
	p.Records, ok, err = readRecords(ctx, s, is[:len(is)-len(was)])
	return p, ok, err
}

// Choose sets up a Masker to mask what was purged.
func (p Replaced) Choose(ctx context.Context, s *workspace.Store, m *Masker) error {
	m.Match = func(f secrets.Finding) bool { return p.Prints[f.Fingerprint] }
	if !p.whole {
		return nil
	}
	before, err1 := snapshot.AtCommit(s, p.Old)
	after, err2 := snapshot.AtCommit(s, p.Next)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	taken := map[int64]int{} // by id: how many texts of an entry were taken out
	for e, err := range after.After(ctx, nil, "") {
		if err != nil {
			return err
		}
		if p.entries[e.ID] {
			taken[e.ID] = bytes.Count(e.Raw, []byte(`"`+redacted+`"`))
		}
	}
	for e, err := range before.After(ctx, nil, "") {
		if err != nil {
			return err
		}
		if taken[e.ID] > bytes.Count(e.Raw, []byte(`"`+redacted+`"`)) {
			m.RedactWhole(e)
		}
	}
	return nil
}

// CheckPurged reports whether next's history begins with what the purges recorded in it made of old's, with
// nothing else changed. It repeats the purges: their result follows from the old history, the records and
// the scanner. A nil finder means the usual scanner.
func CheckPurged(ctx context.Context, s *workspace.Store, find Finder, old, next gitstore.Hash) (bool, error) {
	p, ok, err := RecordedPurge(ctx, s, old, next)
	if err != nil || !ok {
		return false, err
	}
	if find == nil {
		find = secrets.New()
	}
	m := NewMasker(find)
	if err := p.Choose(ctx, s, m); err != nil {
		return false, err
	}
	m.Learning = true
	if err := NewRewriter(s, m, gitstore.HashObject).History(ctx, old, false); err != nil {
		return false, err
	}
	m.StopLearning()
	r := NewRewriter(s, m, gitstore.HashObject)
	err = r.History(ctx, old, false)
	if errors.Is(err, layout.ErrInvalid) {
		return false, nil // a text that cannot be masked was not purged
	}
	return r.To(old) == p.Next, err
}

// WasPurged reports whether theirs, without a purge of its own, continues commits that purges in ours have
// replaced, and returns the records of these purges. Merging theirs would bring back what was purged.
func WasPurged(ctx context.Context, s *workspace.Store, ours, theirs gitstore.Hash) (r Records, was bool, err error) {
	is, err1 := lineage.FirstParents(ctx, s, ours)
	them, err2 := lineage.FirstParents(ctx, s, theirs)
	if err := errors.Join(err1, err2); err != nil {
		return r, false, err
	}
	for len(is) > 0 && len(them) > 0 && is[len(is)-1] == them[len(them)-1] {
		is, them = is[:len(is)-1], them[:len(them)-1]
	}
	if len(them) == 0 {
		return r, false, nil
	}
	r, here, err1 := readRecords(ctx, s, is)
	_, there, err2 := readRecords(ctx, s, them)
	return r, here && !there, errors.Join(err1, err2)
}
