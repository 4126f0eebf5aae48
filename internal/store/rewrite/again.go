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

// What a purge makes follows from the old history and from its record. So whoever has both
// makes it again and compares the ids of commits: no other change passes for a purge. No
// record has the texts of the secrets. They are learnt from where the scanner tells them,
// and from where the new history has a mark with their fingerprint in their place.

// Remade is a purge that was made again.
type Remade struct {
	Records
	Old, Next gitstore.Hash // a commit, and what became of it
	Mask      *Masker
	R         *Rewriter // knows what became of each commit before old
	Ids       []int64   // entries that differ
}

// CheckPurged reports whether the history of one commit became that of another by the
// purges which the newer one has a record of, and nothing else was changed. The new one may
// have more behind it. Without a finder, it is the scanner that is usually used.
func CheckPurged(ctx context.Context, s *workspace.Store, find Finder, old, next gitstore.Hash) (made Remade, ok bool, err error) {
	both, err := compareHistories(ctx, s, old, next)
	if err != nil || len(both.is) <= len(both.was) || both.same == len(both.was) {
		return made, false, err
	}
	made, ok, err = both.makeAgain(ctx, s, find, len(both.was))
	unnamed := func(id int64) bool { _, named := made.entries[id]; return !named }
	if err != nil || !ok || slices.ContainsFunc(made.Ids, unnamed) {
		return Remade{}, false, err
	}
	return made, true, nil
}

// WasPurged reports whether a history goes on from commits that a purge has replaced of
// which ours has a record: to merge it would bring back what was taken out.
func WasPurged(ctx context.Context, s *workspace.Store, ours, theirs gitstore.Hash) (bool, error) {
	both, err := compareHistories(ctx, s, theirs, ours)
	if err != nil || both.same == min(len(both.was), len(both.is)) {
		return false, err
	}
	_, ok, err := both.makeAgain(ctx, s, nil, both.same+1)
	return ok, err
}

// histories are two by first parents, the newest commit first.
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

// makeAgain makes the purges again that the new history records behind its n oldest
// commits, and reports whether they turn the old one into it.
func (b histories) makeAgain(ctx context.Context, s *workspace.Store, find Finder, n int) (made Remade, ok bool, err error) {
	if made.Records, ok, err = readRecords(ctx, s, b.is[:len(b.is)-n]); err != nil || !ok {
		return made, false, err
	}
	if find == nil {
		find = secrets.New()
	}
	m := NewMasker(find)
	m.Match = func(f secrets.Finding) bool { return made.Prints[f.Fingerprint] }
	l := NewLesson(s, m, made.Prints)
	l.Whole = made.whole
	made.Old, made.Next, made.Mask = b.was[len(b.was)-n], b.is[len(b.is)-n], m
	if ok, err := l.Histories(ctx, made.Old, made.Next); err != nil || !ok {
		return made, false, err
	}
	m.Know()
	made.R, made.Ids = NewRewriter(s, m, gitstore.HashObject), slices.Sorted(maps.Keys(l.changed))
	if b.same > 0 {
		made.R.Done[b.was[len(b.was)-b.same]] = true
	}
	err = made.R.History(ctx, made.Old, false)
	if errors.Is(err, layout.ErrInvalid) {
		return made, false, nil // what cannot be masked was not
	}
	return made, made.R.To(made.Old) == made.Next, err
}

// A Lesson learns what was masked from an old history and the new one.
type Lesson struct {
	s       *workspace.Store
	mask    *Masker
	prints  map[string]bool // of what was masked
	Own     bool            // the new history was made here: all its marks count
	Whole   bool            // some entries have lost all text
	seen    map[[2]gitstore.Hash]bool
	changed map[int64]bool // entries of the newest commit that differ
}

// NewLesson begins to learn which texts a purge took out; prints are their fingerprints.
func NewLesson(s *workspace.Store, m *Masker, prints map[string]bool) *Lesson {
	return &Lesson{s: s, mask: m, prints: prints, seen: map[[2]gitstore.Hash]bool{}, changed: map[int64]bool{}}
}

// Histories goes through both in step, if commits pair one to one. Along first parents
// entries are only added, so the newest commit has those of all before.
func (l *Lesson) Histories(ctx context.Context, was, is gitstore.Hash) (bool, error) {
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
				l.changed = changed // the ids of what was merged are others
			}
		}
		for i := range a.Parents {
			todo = append(todo, pair{a.Parents[i], b.Parents[i], i > 0})
		}
	}
	return true, nil
}

// entries goes through those of two commits, and returns the ids of those that differ. It
// ends where one is damaged, as the histories do not pair then.
func (l *Lesson) entries(ctx context.Context, was, is gitstore.Hash) (map[int64]bool, error) {
	changed := map[int64]bool{}
	before, err1 := snapshot.AtCommit(l.s, was)
	after, err2 := snapshot.AtCommit(l.s, is)
	if errors.Join(err1, err2) != nil {
		return changed, ctx.Err() // not a tape's, or made by git
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
				l.mask.TakeWhole(x)
			}
		}
	}
	return changed, ctx.Err()
}

// value learns from two forms of a JSON value, and reports whether anything but the commit
// that a summary names differs.
func (l *Lesson) value(was, is []byte) (changed bool) {
	if bytes.Equal(was, is) {
		return false
	}
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		return true
	}
	type masked struct {
		at int
		secrets.Secret
	}
	var list []masked
	for i, s := range after {
		if before[i].raw == s.raw && before[i].before == s.before {
			continue
		}
		changed = changed || s.path != "meta.origin.commit"
		gone, put, _ := TakenOut(before[i].text(), s.text())
		for n, text := range put {
			if mark := marks().FindStringSubmatch(text); secrets.IsFingerprint(mark[2]) && gone[n] != text {
				list = append(list, masked{i, secrets.Secret{Rule: mark[1], Fingerprint: mark[2], Text: gone[n]}})
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
	told := stringsOf(out)
	for _, m := range list {
		// What the scanner tells is masked without looking for its text elsewhere.
		known := len(told) == len(after) && told[m.at].raw == after[m.at].raw
		if !known && l.prints[m.Fingerprint] && m.IsGenuine() {
			l.mask.Texts[m.Secret] = true
		}
	}
	return changed
}
