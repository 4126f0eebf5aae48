package repo

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/secrets"
)

// What a purge makes follows from the old history and from its record. So whoever has both
// makes it again and compares the ids of commits: no other change passes for a purge. No
// record has the texts of the secrets. They are learnt from where the scanner tells them,
// and from where the new history has a mark with their fingerprint in their place.

// remade is a purge that was made again.
type remade struct {
	old, next gitstore.Hash // a commit, and what became of it
	prints    map[string]bool
	mask      *masker
	r         *rewriter // knows what became of each commit before old
	ids       []int64   // entries that differ
}

// checkPurged reports whether the history of one commit became that of another by the
// purges which the newer one has a record of, and nothing else was changed. The new one may
// have more behind it. Without a finder, it is the scanner that is usually used.
func (s *Store) checkPurged(ctx context.Context, find finder, old, next gitstore.Hash) (made remade, ok bool, err error) {
	was, err1 := s.firstParents(ctx, old)
	is, err2 := s.firstParents(ctx, next)
	if err := errors.Join(err1, err2); err != nil {
		return made, false, err
	}
	at := len(is) - len(was)
	if at <= 0 || is[at] == old {
		return made, false, nil
	}
	sum, ok, err := s.purgeRecords(ctx, is[:at])
	if err != nil || !ok {
		return made, false, err
	}
	common := gitstore.ZeroHash
	for n := len(was) - 1; was[n] == is[at+n]; n-- {
		common = was[n]
	}
	made, ok, err = s.makeAgain(ctx, find, sum, old, is[at], common)
	if err != nil || !ok {
		return remade{}, false, err
	}
	for _, id := range made.ids {
		if _, named := sum.entries[id]; !named {
			return remade{}, false, nil
		}
	}
	return made, true, nil
}

// wasPurged reports whether a history goes on from commits that a purge has replaced of
// which ours has a record: to merge it would bring back what was taken out.
func (s *Store) wasPurged(ctx context.Context, ours, theirs gitstore.Hash) (bool, error) {
	here, err1 := s.firstParents(ctx, ours)
	there, err2 := s.firstParents(ctx, theirs)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	// The first commits, from the oldest on, in which both differ.
	n := 1
	for n <= min(len(here), len(there)) && here[len(here)-n] == there[len(there)-n] {
		n++
	}
	if n > min(len(here), len(there)) {
		return false, nil
	}
	sum, ok, err := s.purgeRecords(ctx, here[:len(here)-n])
	if err != nil || !ok {
		return false, err
	}
	common := gitstore.ZeroHash
	if n > 1 {
		common = here[len(here)-n+1]
	}
	_, ok, err = s.makeAgain(ctx, nil, sum, there[len(there)-n], here[len(here)-n], common)
	return ok, err
}

// firstParents lists a commit and those before it, the newest first.
func (s *Store) firstParents(ctx context.Context, h gitstore.Hash) ([]gitstore.Hash, error) {
	var out []gitstore.Hash
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.git.Commit(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		out = append(out, h)
		if len(c.Parents) == 0 {
			return out, nil
		}
		h = c.Parents[0]
	}
}

// makeAgain makes purges again, and reports whether they make one commit of another. What
// both have up to a common commit is not looked at.
func (s *Store) makeAgain(ctx context.Context, find finder, sum purgeRecords, old, next, common gitstore.Hash) (made remade, ok bool, err error) {
	if find == nil {
		find = secrets.New()
	}
	m := newMasker(find)
	m.match = func(f secrets.Finding) bool { return sum.prints[f.Fingerprint] }
	l := s.newLesson(m, sum.prints)
	l.whole = sum.whole
	if ok, err := l.histories(ctx, old, next); err != nil || !ok {
		return made, false, err
	}
	m.know()
	made = remade{old: old, next: next, prints: sum.prints, mask: m, r: s.newRewriter(m, gitstore.HashObject), ids: slices.Sorted(maps.Keys(l.changed))}
	made.r.done[common] = true
	err = made.r.history(ctx, old, false)
	if errors.Is(err, ErrInvalid) {
		return made, false, nil // what cannot be masked was not
	}
	return made, made.r.to(old) == next, err
}

// lesson learns what was masked from an old history and the new one.
type lesson struct {
	s       *Store
	mask    *masker
	prints  map[string]bool // of what was masked
	own     bool            // the new history was made here: all its marks count
	whole   bool            // some entries have lost all text
	seen    map[[2]gitstore.Hash]bool
	changed map[int64]bool // entries of the newest commit that differ
}

func (s *Store) newLesson(m *masker, prints map[string]bool) *lesson {
	return &lesson{s: s, mask: m, prints: prints, seen: map[[2]gitstore.Hash]bool{}, changed: map[int64]bool{}}
}

// histories goes through both in step, since commits pair one to one. It is false where
// they do not. Along first parents entries are only added: so the newest commit has those
// of all before it.
func (l *lesson) histories(ctx context.Context, was, is gitstore.Hash) (bool, error) {
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
		a, err1 := l.s.git.Commit(p.was)
		b, err2 := l.s.git.Commit(p.is)
		if err := errors.Join(err1, err2); err != nil {
			return false, corruptObject(p.was, err)
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
func (l *lesson) entries(ctx context.Context, was, is gitstore.Hash) (map[int64]bool, error) {
	changed := map[int64]bool{}
	before, err1 := l.s.commitView(was)
	after, err2 := l.s.commitView(is)
	if errors.Join(err1, err2) != nil {
		return changed, ctx.Err() // not a tape's, or made by git
	}
	for i := range min(len(before.list), len(after.list)) {
		a, b := before.list[i], after.list[i]
		if a.tree == b.tree {
			continue
		}
		old, err1 := readPhase(before, a, "", place{}, nil)
		next, err2 := readPhase(after, b, "", place{}, nil)
		for errors.Join(err1, err2) == nil {
			var x, y Entry
			x, err1 = old.next()
			y, err2 = next.next()
			if x.ID == 0 || x.ID != y.ID {
				break
			}
			if x.ID%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !bytes.Equal(x.Raw, y.Raw) && l.entry(x.Raw, y.Raw) {
				changed[x.ID] = true
			}
		}
	}
	return changed, ctx.Err()
}

// entry learns from two forms of an entry, and reports whether it says something else now.
func (l *lesson) entry(was, is []byte) bool {
	changed := l.value(was, is)
	if lost := bytes.Count(is, []byte(`"`+redacted+`"`)) - bytes.Count(was, []byte(`"`+redacted+`"`)); lost > 0 && l.whole {
		if e, err := jsonl.Parse(was); err == nil {
			l.mask.whole[digestOf(e)] = true
		}
	}
	return changed
}

// value learns from two forms of a JSON value, and reports whether anything but the commit
// that a summary names differs.
func (l *lesson) value(was, is []byte) (changed bool) {
	if bytes.Equal(was, is) {
		return false
	}
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		return true
	}
	type mark struct {
		at int
		secrets.Secret
	}
	var marks []mark
	for i, s := range after {
		if before[i].raw == s.raw && before[i].before == s.before {
			continue
		}
		changed = changed || s.path != "meta.origin.commit"
		gone, put, _ := takenOut(before[i].text(), s.text())
		for n, text := range put {
			if rule, fp, ok := markOf(text); ok && gone[n] != text {
				marks = append(marks, mark{i, secrets.Secret{Rule: rule, Fingerprint: fp, Text: gone[n]}})
				if l.own {
					l.prints[fp] = true
				}
			}
		}
	}
	skip := func(f secrets.Finding) bool { return !l.mask.match(f) }
	for _, secret := range l.mask.find.Secrets(was, skip) {
		l.mask.texts[secret] = true
	}
	masked, _ := l.mask.find.Mask(was, skip)
	told := stringsOf(masked)
	for _, m := range marks {
		// What the scanner tells is masked without looking for its text elsewhere.
		known := len(told) == len(after) && told[m.at].raw == after[m.at].raw
		if !known && l.prints[m.Fingerprint] && m.IsGenuine() {
			l.mask.texts[m.Secret] = true
		}
	}
	return changed
}
