package rewrite

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"unicode/utf8"
)

// The result of a purge follows from the old history and the record of the purge. Whoever has both
// can repeat the purge and compare the ids of commits, so no other change passes for a purge. Records
// do not contain the secrets. Their texts are learnt from what the scanner finds, and from where the
// new history has a mark with a recorded fingerprint in their place.

// RepeatedPurge is a purge that was repeated to check it.
type RepeatedPurge struct {
	Records
	Old, Next gitstore.Hash // a commit before and after the purge
	Mask      *Masker
	R         *Rewriter // maps old and each commit before it
	Ids       []int64   // of the entries that differ
}

// CheckPurged reports whether the history of next is that of old after the purges that next has
// records of, with nothing else changed. The new history may have more commits on top. A nil finder
// means the usual scanner.
func CheckPurged(ctx context.Context, s *workspace.Store, find Finder, old, next gitstore.Hash) (made RepeatedPurge, ok bool, err error) {
	both, err := compareHistories(ctx, s, old, next)
	if err != nil || len(both.is) <= len(both.was) || both.same == len(both.was) {
		return made, false, err
	}
	made, ok, err = both.repeat(ctx, s, find, len(both.was))
	unnamed := func(id int64) bool { _, named := made.entries[id]; return !named }
	if err != nil || !ok || slices.ContainsFunc(made.Ids, unnamed) {
		return RepeatedPurge{}, false, err
	}
	return made, true, nil
}

// WasPurged reports whether theirs continues commits that a purge recorded in ours replaced. To merge
// it would bring back what was purged.
func WasPurged(ctx context.Context, s *workspace.Store, ours, theirs gitstore.Hash) (bool, error) {
	both, err := compareHistories(ctx, s, theirs, ours)
	if err != nil || both.same == min(len(both.was), len(both.is)) {
		return false, err
	}
	_, ok, err := both.repeat(ctx, s, nil, both.same+1)
	return ok, err
}

// histories are two histories by first parents, the newest commit first.
type histories struct {
	was, is []gitstore.Hash
	same    int // how many of the oldest commits both have
}

func compareHistories(ctx context.Context, s *workspace.Store, old, next gitstore.Hash) (histories, error) {
	was, err1 := lineage.FirstParents(ctx, s, old)
	is, err2 := lineage.FirstParents(ctx, s, next)
	same := 0
	for same < min(len(was), len(is)) && was[len(was)-same-1] == is[len(is)-same-1] {
		same++
	}
	return histories{was, is, same}, errors.Join(err1, err2)
}

// repeat repeats the purges that the new history records on top of its n oldest commits, and reports
// whether they turn the old history into the new one.
func (b histories) repeat(ctx context.Context, s *workspace.Store, find Finder, n int) (made RepeatedPurge, ok bool, err error) {
	if made.Records, ok, err = readRecords(ctx, s, b.is[:len(b.is)-n]); err != nil || !ok {
		return made, false, err
	}
	if find == nil {
		find = secrets.New()
	}
	m := NewMasker(find)
	m.Match = func(f secrets.Finding) bool { return made.Prints[f.Fingerprint] }
	l := NewLearner(s, m, made.Prints)
	l.Whole = made.whole
	made.Old, made.Next, made.Mask = b.was[len(b.was)-n], b.is[len(b.is)-n], m
	if ok, err := l.Histories(ctx, made.Old, made.Next); err != nil || !ok {
		return made, false, err
	}
	m.StopLearning()
	made.R, made.Ids = NewRewriter(s, m, gitstore.HashObject), slices.Sorted(maps.Keys(l.changed))
	if b.same > 0 {
		made.R.Done[b.was[len(b.was)-b.same]] = true
	}
	err = made.R.History(ctx, made.Old, false)
	if errors.Is(err, layout.ErrInvalid) {
		return made, false, nil // a text that cannot be masked was not purged
	}
	return made, made.R.To(made.Old) == made.Next, err
}

// A Learner finds out what was masked by comparing an old history with the new one.
type Learner struct {
	s       *workspace.Store
	mask    *Masker
	prints  map[string]bool // of what was masked
	Own     bool            // the new history was made here, so all its marks count
	Whole   bool            // all texts of some entries were taken out
	seen    map[[2]gitstore.Hash]bool
	changed map[int64]bool // entries of the newest commit that differ
}

// NewLearner returns a Learner for a purge; prints are the fingerprints that it took out.
func NewLearner(s *workspace.Store, m *Masker, prints map[string]bool) *Learner {
	return &Learner{s: s, mask: m, prints: prints, seen: map[[2]gitstore.Hash]bool{}, changed: map[int64]bool{}}
}

// Histories compares two histories commit by commit, and returns false if their commits do not pair.
// Entries are only compared in the newest commits, which contain those of all earlier ones.
func (l *Learner) Histories(ctx context.Context, was, is gitstore.Hash) (bool, error) {
	type pair struct {
		was, is gitstore.Hash
		newest  bool
	}
	for todo := []pair{{was, is, true}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.was == p.is || l.seen[[2]gitstore.Hash{p.was, p.is}] {
			continue
		}
		l.seen[[2]gitstore.Hash{p.was, p.is}] = true
		if err := ctx.Err(); err != nil {
			return false, err
		}
		a, err1 := l.s.Git().Commit(p.was)
		b, err2 := l.s.Git().Commit(p.is)
		if err := errors.Join(err1, err2); err != nil {
			return false, layout.CorruptObject(p.was, err)
		}
		if len(a.Parents) != len(b.Parents) {
			return false, nil
		}
		if utf8.ValidString(a.Message) && utf8.ValidString(b.Message) {
			l.value(jsonl.AppendString(nil, a.Message), jsonl.AppendString(nil, b.Message))
		}
		if p.newest {
			changed, err := l.entries(ctx, p.was, p.is)
			if err != nil {
				return false, err
			}
			if p.was == was {
				l.changed = changed // ids in merged histories are different
			}
		}
		for i := range a.Parents {
			todo = append(todo, pair{a.Parents[i], b.Parents[i], i > 0})
		}
	}
	return true, nil
}

// entries compares the entries of two commits, and returns the ids of those that differ. It stops at
// damage, because the histories do not pair then.
func (l *Learner) entries(ctx context.Context, was, is gitstore.Hash) (map[int64]bool, error) {
	changed := map[int64]bool{}
	before, err1 := snapshot.AtCommit(l.s, was)
	after, err2 := snapshot.AtCommit(l.s, is)
	if errors.Join(err1, err2) != nil {
		return changed, ctx.Err() // not a commit of a tape, or made by git
	}
	for i := range min(len(before.List), len(after.List)) {
		a, b := before.List[i], after.List[i]
		if a.Tree == b.Tree {
			continue
		}
		old, err1 := snapshot.ReadPhase(before, a, "", snapshot.Place{})
		next, err2 := snapshot.ReadPhase(after, b, "", snapshot.Place{})
		for errors.Join(err1, err2) == nil {
			var x, y layout.Entry
			x, err1 = old.Next()
			y, err2 = next.Next()
			if x.ID == 0 || x.ID != y.ID {
				break
			}
			if x.ID%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if l.value(x.Raw, y.Raw) {
				changed[x.ID] = true
			}
			if whole := []byte(`"` + redacted + `"`); l.Whole && bytes.Count(y.Raw, whole) > bytes.Count(x.Raw, whole) {
				l.mask.RedactWhole(x)
			}
		}
	}
	return changed, ctx.Err()
}

// value learns from two versions of a JSON value. It reports whether they differ in more than the
// commit that a summary names.
func (l *Learner) value(was, is []byte) (changed bool) {
	if bytes.Equal(was, is) {
		return false
	}
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		return true
	}
	type candidate struct {
		at int
		secrets.Secret
	}
	var list []candidate
	for i, s := range after {
		if before[i].raw == s.raw && before[i].before == s.before {
			continue
		}
		changed = changed || s.path != "meta.origin.commit"
		gone, put, _ := MaskedTexts(before[i].text(), s.text())
		for n, text := range put {
			if mark := marks().FindStringSubmatch(text); secrets.IsFingerprint(mark[2]) && gone[n] != text {
				list = append(list, candidate{i, secrets.Secret{Rule: mark[1], Fingerprint: mark[2], Text: gone[n]}})
				if l.Own {
					l.prints[mark[2]] = true
				}
			}
		}
	}
	skip := func(f secrets.Finding) bool { return !l.mask.Match(f) }
	for _, secret := range l.mask.find.Secrets(was, skip) {
		l.mask.Texts[secret] = true
	}
	out, _ := l.mask.find.Mask(was, skip)
	detected := stringsOf(out)
	for _, m := range list {
		// What the scanner detects is masked anyway, without searching for its text elsewhere.
		byScanner := len(detected) == len(after) && detected[m.at].raw == after[m.at].raw
		if !byScanner && l.prints[m.Fingerprint] && m.IsGenuine() {
			l.mask.Texts[m.Secret] = true
		}
	}
	return changed
}
